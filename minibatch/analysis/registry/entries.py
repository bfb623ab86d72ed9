"""Registry files: TOML tables by id, each checked against the fields that it must have."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from minibatch.reading.files import read_file

_LARGEST = 1 << 20
"""Bytes of a file."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a field may hold: the words that ask for it, and a test."""

    words: str
    fits: Callable[[Any], bool]


def one_of(*choices: str) -> Kind:
    return Kind("one of " + ", ".join(choices), lambda value: value in choices)


TEXT = Kind("text that is not empty", lambda value: type(value) is str and bool(value.strip()))
TEXTS = Kind("a list of texts", lambda value: type(value) is list and bool(value) and all(map(TEXT.fits, value)))
NUMBER = Kind(
    "a finite number of at least 0", lambda value: type(value) in (int, float) and math.isfinite(value) and value >= 0
)
FLAG = Kind("true or false", lambda value: type(value) is bool)
TABLE = Kind("a table", lambda value: type(value) is dict and bool(value))
PAST_DAY = Kind(
    "a day, such as 2026-01-31, that is not in the future",
    lambda value: type(value) is date and value <= datetime.now(UTC).date(),
)


def read_entries(path: Path, required: Mapping[str, Kind], optional: Mapping[str, Kind]) -> dict[str, dict[str, Any]]:
    """The tables of a registry file, by id.

    Raises:
        ValueError: the file can't be read, or an entry has other fields than it should or a field
            that holds something else; one sentence names the file, the entry and what is expected.
    """
    try:
        entries = tomllib.loads(read_file(path, _LARGEST).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} can't be read ({error}): restore it from the repository") from error
    for name, entry in entries.items():
        where = f"{path.name}: [{name}]"
        if not isinstance(entry, dict):
            raise ValueError(f"{where} is {entry!r}: use a table of {', '.join(required)}")
        if missing := [field for field in required if field not in entry]:
            raise ValueError(f"{where} has no {missing[0]}: use {required[missing[0]].words}")
        for field, value in entry.items():
            kind = required.get(field) or optional.get(field)
            if kind is None:
                raise ValueError(f"{where} has a field {field!r}: use only {', '.join([*required, *optional])}")
            if not kind.fits(value):
                raise ValueError(f"{where} {field} is {value!r}: use {kind.words}")
    return entries
