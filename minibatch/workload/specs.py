"""How arrivals and lengths are written in one word, as in "poisson:20" or "uniform:32:512"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")

Known = Mapping[str, tuple[Callable[..., T], tuple[str, ...]]]
"""By the word that a spec begins with: what it makes, and the names of the numbers that follow."""


def parse_spec(spec: str, known: Known[T], what: str) -> T:
    """What `spec` makes, of those `known`; ValueError says how it is written.

    Args:
        what: what it is a spec of, for the sentence.
    """
    word, *numbers = spec.strip().split(":")
    if word not in known:
        raise ValueError(f"unknown {what} {spec!r}: write one of {', '.join(map(_form, known.items()))}")
    make, names = known[word]
    if len(numbers) != len(names):
        raise ValueError(f"{what} {spec!r} has {len(numbers)} numbers: write {_form((word, known[word]))}")
    return make(*(_number(text, name, spec) for text, name in zip(numbers, names, strict=True)))


def _form(entry: tuple[str, tuple[object, tuple[str, ...]]]) -> str:
    word, (_, names) = entry
    return ":".join([word, *map(str.upper, names)])


def _number(text: str, name: str, spec: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"{name} in {spec!r} is {text!r}: use a number") from error


def require(holds: bool, name: str, value: float, use: str) -> None:
    """ValueError unless `holds`: what `name` is, and what to use instead."""
    if not holds:
        raise ValueError(f"{name} is {value:.15g}: use {use}")
