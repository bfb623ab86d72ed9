"""Figures that others published: what each is of, who published it, when that was checked, and how sure it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from minibatch.analysis.formats import three_figures
from minibatch.analysis.registry.entries import FLAG, NUMBER, PAST_DAY, TEXT, one_of, read_entries
from minibatch.paths import REGISTRY

Confidence = Literal["primary", "secondary"]

FILE = REGISTRY / "claims.toml"
CONFIDENCE = one_of("primary", "secondary")

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SCALED = {"FLOP/s": "FLOP/s", "bytes/s": "B/s", "bytes": "B"}
_UNITS = (*_SCALED, "x", "%", "requests/s", "s", "tokens")
_REQUIRED = {
    "value": NUMBER, "unit": one_of(*_UNITS), "of": TEXT, "source": TEXT, "checked": PAST_DAY, "confidence": CONFIDENCE,
}  # fmt: skip
_OPTIONAL = {"assumption": FLAG, "reason": TEXT}
STANDINGS = {
    "secondary": "read in another account of the source",
    "assumption": "no source is known that states it for this very device",
}
"""What the words mean that stand beside figures."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One figure.

    Attributes:
        value: in `unit`: FLOP/s, bytes/s, bytes, x (a factor), %, requests/s, s or tokens.
        of: what the figure is of.
        source: who published it.
        checked: the day on which it was last compared with the source.
        confidence: "primary" was read in the source itself, "secondary" in another account of it.
        assumption: no source is known that states it for this very device.
        reason: why it is registered although no accelerator refers to it; empty where one does.
    """

    id: str
    value: float
    unit: str
    of: str
    source: str
    checked: date
    confidence: Confidence
    assumption: bool = False
    reason: str = ""

    @property
    def standing(self) -> str:
        """The word that must stand beside the figure: "assumption", "secondary", or none."""
        if self.assumption:
            return "assumption"
        return "" if self.confidence == "primary" else self.confidence

    @property
    def source_in_words(self) -> str:
        """The source, and the word that must stand beside the figure."""
        return f"{self.source} ({self.standing})" if self.standing else self.source

    @property
    def words(self) -> str:
        """The figure as published, with its unit: 1.234 TB/s, 23 x."""
        if self.unit not in _SCALED:
            return f"{self.value:g} {self.unit}"
        factor, prefix = _prefix(self.value)
        return f"{self.value / factor:,.8g} {prefix}{_SCALED[self.unit]}"


def standings_explained(text: str) -> str:
    """A sentence for each word of `STANDINGS` that a text has; "" where it has none."""
    words = re.findall(r"\w+", text)
    return " ".join(f"{word.capitalize()}: {meaning}." for word, meaning in STANDINGS.items() if word in words)


def scaled(value: float, unit: str) -> str:
    """`value` to three significant figures with a decimal prefix: 1.23 TB/s, 131 kB, 320 B."""
    factor, prefix = _prefix(value)
    return f"{three_figures(value / factor)} {prefix}{unit}"


def _prefix(value: float) -> tuple[float, str]:
    return next(((factor, prefix) for factor, prefix in _PREFIXES if value >= factor), (1.0, ""))


@cache
def load_claims(path: Path = FILE) -> Mapping[str, Claim]:
    """Every claim of a registry file, by id.

    Raises:
        ValueError: as `read_entries`.
    """
    entries = read_entries(path, _REQUIRED, _OPTIONAL)
    return MappingProxyType({name: Claim(name, **entry) for name, entry in entries.items()})


def find_claim(claim_id: str) -> Claim:
    """The claim of that id; ValueError if there is none."""
    claims = load_claims()
    if claim_id not in claims:
        raise ValueError(
            f"there is no claim {claim_id!r}: add it to {FILE.name} with its source, or use one that is there"
        )
    return claims[claim_id]
