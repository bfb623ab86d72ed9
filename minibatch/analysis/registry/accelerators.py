"""Accelerators as their data sheets have them: what a modelled run can be computed for without one here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from minibatch.analysis.registry.claims import Claim, find_claim
from minibatch.analysis.registry.dtypes import canonical
from minibatch.analysis.registry.entries import TEXT, TEXTS, read_entries
from minibatch.paths import REGISTRY
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape

FILE = REGISTRY / "accelerators.toml"

_CLAIMS = {"flops": "FLOP/s", "bandwidth": "bytes/s", "memory": "bytes", "link": "bytes/s"}
_OPTIONAL_CLAIMS = {"fp8": "FLOP/s", "fp4": "FLOP/s"}
"""The fields that are ids of claims, and the unit that each must have."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One device as its data sheet has it.

    Attributes:
        name: what `--accelerator` takes.
        title: the name with form and memory.
        dtypes: of the matrix products that `flops` is of; the first is used where none is asked for.
        flops, bandwidth, memory: claims in FLOP/s (dense), bytes/s and bytes.
        fp8, fp4: claims in FLOP/s (dense) of matrix products in 8 and 4 bits; None where it has none.
        aliases: other names of it.
        link: claim in bytes/s of what joins it to others of its machine, both directions together.
        note: what else to know about the figures; may be empty.
    """

    name: str
    title: str
    dtypes: tuple[str, ...]
    flops: Claim
    bandwidth: Claim
    memory: Claim
    link: Claim
    note: str = ""
    fp8: Claim | None = None
    fp4: Claim | None = None
    aliases: tuple[str, ...] = ()

    @property
    def peaks(self) -> dict[str, Claim]:
        """The claim of matrix products in each dtype that it has them in."""
        peaks = dict.fromkeys(self.dtypes, self.flops)
        return peaks | {name: claim for name, claim in (("float8", self.fp8), ("float4", self.fp4)) if claim}

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All that its entry refers to."""
        return *dict.fromkeys(self.peaks.values()), self.bandwidth, self.memory, self.link

    @property
    def flops_per_s(self) -> float:
        return self.flops.value

    @property
    def bytes_per_s(self) -> float:
        return self.bandwidth.value

    @property
    def memory_bytes(self) -> float:
        return self.memory.value

    @property
    def link_bytes_per_s(self) -> float:
        """One direction of the link, in bytes/s."""
        return self.link.value / 2

    @property
    def ridge(self) -> float:
        """The intensity at which both ceilings bind, in FLOP/byte."""
        return self.flops_per_s / self.bytes_per_s

    def source(self, num_devices: int = 1, dtype: str | None = None) -> str:
        """Where its ceilings are from, and the words that must stand beside them; `dtype` None is that of `flops`."""
        sheets = dict.fromkeys(claim.source_in_words for claim in self._sheet(dtype))
        text = f"data sheet: {'; '.join(sheets)}"
        return f"{text}; link: {self.link.of}, {self.link.source_in_words}" if num_devices > 1 else text

    def device(self, num_devices: int = 1, dtype: str | None = None) -> str:
        """What a run on it says it ran on: 4 × its title (data sheet, secondary, link assumption)."""
        standings = dict.fromkeys(claim.standing for claim in self._sheet(dtype) if claim.standing)
        words = ["data sheet", *standings]
        if num_devices == 1:
            return f"{self.title} ({', '.join(words)})"
        if self.link.standing:
            words.append(f"link {self.link.standing}")
        return f"{num_devices} × {self.title} ({', '.join(words)})"

    def ceilings(self, dtype: str = "auto", num_devices: int = 1) -> Ceilings:
        """What a modelled run needs to know of `num_devices` of it, in tensor parallel (`RooflineExecutor`).

        Raises:
            ValueError: the data sheet's figure is of another dtype, or there is no device.
        """
        dtype = self.dtypes[0] if dtype == "auto" else canonical(dtype)
        peaks = self.peaks
        if dtype not in peaks:
            raise ValueError(
                f"{self.title} has figures of matrix products in {', '.join(peaks)}, not in {dtype}: "
                f"use --dtype {self.dtypes[0]}"
            )
        if num_devices < 1:
            raise ValueError(f"the number of tensor-parallel devices is {num_devices}: use at least 1")
        return Ceilings(
            flops_per_s=num_devices * peaks[dtype].value,
            bytes_per_s=num_devices * self.bytes_per_s,
            device=self.device(num_devices, dtype),
            dtype=dtype,
            source=self.source(num_devices, dtype),
            memory_bytes=num_devices * self.memory_bytes,
            num_devices=num_devices,
            link_bytes_per_s=self.link_bytes_per_s if num_devices > 1 else None,
        )

    def sequences_that_fit(self, shape: ModelShape, num_tokens: int) -> int:
        """Most sequences of `num_tokens` tokens whose KV fits beside the weights of one whole model.

        (memory - weights) / (tokens * KV bytes a token), rounded down; 0 where the weights don't fit.
        Activations, and what a runtime keeps for itself, are left out: in practice fewer fit.
        """
        return max(0, int((self.memory_bytes - shape.weight_bytes) // (num_tokens * shape.kv_bytes_per_token)))

    def _sheet(self, dtype: str | None) -> tuple[Claim, ...]:
        return self.flops if dtype is None else self.peaks[dtype], self.bandwidth, self.memory


@cache
def load_accelerators(path: Path = FILE) -> Mapping[str, Accelerator]:
    """Every accelerator of a registry file, by name.

    Raises:
        ValueError: as `read_entries`; or a claim is not there or has another unit than it should.
    """
    required = {"title": TEXT, "dtypes": TEXTS} | dict.fromkeys(_CLAIMS, TEXT)
    optional = {"note": TEXT, "aliases": TEXTS} | dict.fromkeys(_OPTIONAL_CLAIMS, TEXT)
    found = {}
    for name, entry in read_entries(path, required, optional).items():
        claims = {field: find_claim(entry[field]) for field in (*_CLAIMS, *_OPTIONAL_CLAIMS) if field in entry}
        for field, claim in claims.items():
            unit = (_CLAIMS | _OPTIONAL_CLAIMS)[field]
            if claim.unit != unit:
                where = f"{path.name}: [{name}] {field}"
                raise ValueError(f"{where} is claim {entry[field]!r} in {claim.unit}: use one in {unit}")
        texts = {field: tuple(entry.get(field, ())) for field in ("dtypes", "aliases")}
        found[name] = Accelerator(name=name, **{**entry, **claims, **texts})
    return MappingProxyType(found)


def find_accelerator(name: str) -> Accelerator:
    """The accelerator of that name, title or alias; capitals, spaces, - and _ make no difference.

    Raises:
        ValueError: there is none, which names those there are; or the name is of several.
    """
    known, wanted = load_accelerators(), _folded(name)
    for accelerator in known.values():
        if wanted in map(_folded, (accelerator.name, accelerator.title, *accelerator.aliases)):
            return accelerator
    several = [other for other in known if _folded(other.partition("-")[0]) == wanted]
    if several:
        raise ValueError(f"{name!r} may be any of several accelerators: choose {' or '.join(several)}")
    raise ValueError(f"unknown accelerator {name!r}: choose from {', '.join(known)}")


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]", "", name.casefold()).removeprefix("nvidia").removeprefix("amd")
