"""Accelerators as their data sheets have them: what a modelled run can be computed for without one here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from minibatch.analysis.registry.claims import Claim, find_claim
from minibatch.analysis.registry.entries import TEXT, TEXTS, read_entries
from minibatch.paths import REGISTRY
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape

FILE = REGISTRY / "accelerators.toml"

_CLAIMS = {"flops": "FLOP/s", "bandwidth": "bytes/s", "memory": "bytes", "link": "bytes/s"}
"""The fields that are ids of claims, and the unit that each must have."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One device as its data sheet has it.

    Attributes:
        name: what `--accelerator` takes.
        title: the name with form and memory.
        dtypes: of the matrix products that `flops` is of; the first is used where none is asked for.
        flops, bandwidth, memory: claims in FLOP/s (dense), bytes/s and bytes.
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

    def source(self, num_devices: int = 1) -> str:
        """Where its ceilings are from, and the words that must stand beside them."""
        sheets = dict.fromkeys(claim.source_in_words for claim in self._sheet)
        text = f"data sheet: {'; '.join(sheets)}"
        return f"{text}; link: {self.link.of}, {self.link.source_in_words}" if num_devices > 1 else text

    def device(self, num_devices: int = 1) -> str:
        """What a run on it says it ran on: 4 × its title (data sheet, secondary, link assumption)."""
        standings = dict.fromkeys(claim.standing for claim in self._sheet if claim.standing)
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
        if dtype == "auto":
            dtype = self.dtypes[0]
        if dtype not in self.dtypes:
            raise ValueError(
                f"the figure of {self.title} is of matrix products in {' and '.join(self.dtypes)}, not in {dtype}: "
                f"use --dtype {self.dtypes[0]}"
            )
        if num_devices < 1:
            raise ValueError(f"the number of tensor-parallel devices is {num_devices}: use at least 1")
        return Ceilings(
            flops_per_s=num_devices * self.flops_per_s,
            bytes_per_s=num_devices * self.bytes_per_s,
            device=self.device(num_devices),
            dtype=dtype,
            source=self.source(num_devices),
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

    @property
    def _sheet(self) -> tuple[Claim, ...]:
        return self.flops, self.bandwidth, self.memory


@cache
def load_accelerators(path: Path = FILE) -> Mapping[str, Accelerator]:
    """Every accelerator of a registry file, by name.

    Raises:
        ValueError: as `read_entries`; or a claim is not there or has another unit than it should.
    """
    required = {"title": TEXT, "dtypes": TEXTS} | dict.fromkeys(_CLAIMS, TEXT)
    found = {}
    for name, entry in read_entries(path, required, {"note": TEXT}).items():
        claims = {field: find_claim(entry[field]) for field in _CLAIMS}
        for field, unit in _CLAIMS.items():
            if claims[field].unit != unit:
                where = f"{path.name}: [{name}] {field}"
                raise ValueError(f"{where} is claim {entry[field]!r} in {claims[field].unit}: use one in {unit}")
        found[name] = Accelerator(name=name, **{**entry, **claims, "dtypes": tuple(entry["dtypes"])})
    return MappingProxyType(found)


def find_accelerator(name: str) -> Accelerator:
    """The accelerator called `name`, in capitals or not; ValueError names those there are."""
    known = load_accelerators()
    for accelerator in known.values():
        if accelerator.name.casefold() == name.casefold():
            return accelerator
    raise ValueError(f"unknown accelerator {name!r}: choose from {', '.join(known)}")
