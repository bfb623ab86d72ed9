"""The text of a lesson, cut into front matter, Markdown and fenced blocks, each with the line where it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from minibatch.learning.errors import LessonError, Problem
from minibatch.reading.files import read_file
from minibatch.reading.yaml_values import parse_yaml

KINDS = ("player", "chart", "explore", "predict", "quiz", "source", "claim", "notes")
_FENCE, _RULE = "```", "---"
_LARGEST = 64 << 10
"""Bytes of a file: three times as long as the longest lesson here."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Markdown, or a block.

    Attributes:
        kind: one of `KINDS`, or "text".
        line: of the first line of its content, from 1.
        text: the Markdown of "text" and "notes"; of the others the YAML as written.
        fields: of blocks in YAML.
    """

    kind: str
    line: int
    text: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it is written."""

    path: Path
    front: Mapping[str, Any]
    pieces: tuple[Piece, ...]


def read_source(path: Path) -> Source:
    """Read a lesson.

    Raises:
        LessonError: it can't be read, or is not front matter, Markdown and blocks.
    """
    try:
        text = read_file(path, _LARGEST).decode("utf-8-sig")  # some editors of Windows begin a file with a mark
    except OSError as error:
        raise LessonError(Problem(path, 0, f"the file can't be read: {error.strerror or error}")) from None
    except UnicodeDecodeError:
        raise LessonError(Problem(path, 0, "the file must be text in UTF-8")) from None
    lines = text.splitlines()
    if not lines or lines[0].strip() != _RULE:
        raise LessonError(Problem(path, 1, "expected front matter: a line of --- first"))
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == _RULE), None)
    if end is None:
        raise LessonError(Problem(path, 1, "expected a second line of --- after the front matter"))
    front = _mapping(path, "\n".join(lines[1:end]), 2, "front matter")
    return Source(path, front, tuple(_pieces(path, lines, end + 1)))


def _pieces(path: Path, lines: list[str], begin: int) -> list[Piece]:
    pieces: list[Piece] = []
    text: list[str] = []
    first, number = begin, begin
    while number < len(lines):
        word = lines[number].strip()[len(_FENCE) :] if lines[number].startswith(_FENCE) else ""
        close = _closing(path, lines, number) if lines[number].startswith(_FENCE) else number
        if word in KINDS:
            _add_text(pieces, text, first)
            text, first = [], close + 1
            body = "\n".join(lines[number + 1 : close])
            fields = {} if word == "notes" else _mapping(path, body, number + 2, f"the block {word}")
            pieces.append(Piece(word, number + 1, body, fields))
        elif word and word not in ("python", "text", "console", "yaml"):
            raise LessonError(Problem(path, number + 1, f"{word!r} is no block: expected one of {', '.join(KINDS)}"))
        else:
            text += lines[number : close + 1]
        number = close + 1
    _add_text(pieces, text, first)
    return pieces


def _closing(path: Path, lines: list[str], number: int) -> int:
    for later in range(number + 1, len(lines)):
        if lines[later].strip() == _FENCE:
            return later
    raise LessonError(Problem(path, number + 1, "expected a line of ``` that closes this block"))


def _add_text(pieces: list[Piece], text: list[str], first: int) -> None:
    if any(line.strip() for line in text):
        pieces.append(Piece("text", first + 1, "\n".join(text), {}))


def _mapping(path: Path, text: str, line: int, name: str) -> Mapping[str, Any]:
    try:
        fields = parse_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "it can't be parsed"
        if what.startswith("mapping values"):
            what = "put quotes around a text that has a colon in it"
        raise LessonError(Problem(path, line + (mark.line if mark else 0), f"{name} must be YAML: {what}")) from None
    if not isinstance(fields, dict) or not all(isinstance(key, str) for key in fields):
        raise LessonError(Problem(path, line, f"{name} must be lines of `name: value`"))
    return fields
