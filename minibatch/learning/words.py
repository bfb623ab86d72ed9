"""Strings of the interface of lessons and the interview room, and numbers as each language writes them.

English stands in assets/lessons/strings.json, a translation beside it in strings.LANGUAGE.json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from minibatch.analysis.shown_metrics import ROWS
from minibatch.paths import ASSETS
from minibatch.reading.files import read_file
from minibatch.reading.values import parse_json

FOLDER = ASSETS / "lessons"
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+")


@cache
def interface_words(language: str = "en") -> Mapping[str, str]:
    """Every string of the interface, and metrics' names as `metric_KEY`; what a translation lacks is English."""
    metrics = {f"metric_{row.key}": row.brief or row.words for row in ROWS}
    translation = FOLDER / f"strings.{language}.json"
    return MappingProxyType(
        metrics | read_strings(FOLDER / "strings.json") | (read_strings(translation) if translation.exists() else {})
    )


def read_strings(path: Path) -> dict[str, str]:
    strings: dict[str, str] = parse_json(read_file(path, 1 << 20))
    return strings


def localised(figure: str, words: Mapping[str, str]) -> str:
    """A figure written in English with the marks and units of `words`: 1,234.5 bytes are 1.234,5 Bytes in German."""
    marks = str.maketrans({",": words["group_mark"], ".": words["decimal_mark"]})
    return _NUMBER.sub(lambda number: number[0].translate(marks), figure).replace(" bytes", f" {words['bytes']}")


def in_unit(figure: str, unit: str) -> str:
    """A figure with the unit that is asked for, if it has not got it; the unit x is that of a factor."""
    if not unit or unit in figure:
        return figure
    return f"{figure}×" if unit == "x" else f"{figure} {unit}"
