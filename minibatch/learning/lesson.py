"""A lesson: what its front matter says, and its blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from minibatch.learning.blocks import Block, Blocks
from minibatch.learning.errors import LessonError, Problem
from minibatch.learning.fields import Fields
from minibatch.learning.markup import Source, read_source
from minibatch.learning.run_spec import Spec, check_spec
from minibatch.learning.text import Href
from minibatch.paths import LESSONS

_ID = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known of a lesson before anything is run.

    Attributes:
        language: of its title and goals.
        languages: "en", and those for which a `lesson.LANGUAGE.md` stands beside it.
    """

    folder: Path
    id: str
    title: str
    minutes: int
    prerequisites: tuple[str, ...]
    goals: tuple[str, ...]
    runs: Mapping[str, Spec]
    language: str
    languages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson in one language, everything in it computed.

    Attributes:
        blocks: as the page takes them; players still name their run.
        runs: every run by name.
    """

    outline: Outline
    language: str
    blocks: tuple[Block, ...]
    runs: Mapping[str, Spec]


def folders(root: Path = LESSONS) -> list[Path]:
    """The folders that hold a lesson, in the order of their names."""
    return sorted(path.parent for path in root.glob("*/lesson.md"))


def file_of(folder: Path, language: str) -> Path:
    return folder / ("lesson.md" if language == "en" else f"lesson.{language}.md")


def language_of(path: Path) -> str:
    """The language of a lesson's file, by its name."""
    parts = path.name.split(".")
    return parts[1] if len(parts) == 3 else "en"


def read_outline(folder: Path, language: str = "en") -> Outline:
    """Raises LessonError: the file is no lesson, or its front matter is wrong."""
    path = file_of(folder, language)
    changed = tuple(each.stat().st_mtime_ns if each.exists() else 0 for each in (path, folder))
    return _outline_at(folder, language, changed)


@lru_cache(maxsize=256)
def _outline_at(folder: Path, language: str, changed: tuple[int, ...]) -> Outline:
    """Every page lists the others: a file is read again when it has changed, or a translation has come beside it."""
    return outline_of(folder, read_source(file_of(folder, language)))


def read_outlines(root: Path = LESSONS, language: str = "en") -> tuple[list[Outline], list[Problem]]:
    """The lessons that can be read, in order, in `language` or else in English; and what is wrong with files."""
    outlines: list[Outline] = []
    problems = []
    for folder in folders(root):
        for each in dict.fromkeys((language, "en")):
            if not file_of(folder, each).exists():
                continue
            try:
                outlines.append(read_outline(folder, each))
                break
            except LessonError as error:
                problems.append(error.problem)
    return outlines, problems


def outline_of(folder: Path, source: Source) -> Outline:
    try:
        return _outline(folder, source.front, language_of(source.path))
    except ValueError as error:
        raise LessonError(Problem(source.path, 1, str(error))) from None


def _outline(folder: Path, front: Mapping[str, Any], language: str) -> Outline:
    fields = Fields("the front matter", front)
    name, minutes = fields.text("id"), fields.number("minutes")
    if not _ID.fullmatch(name):
        raise ValueError(f"id is {name!r}: expected a-z, 0-9 and hyphens")
    if not isinstance(minutes, int) or not 1 <= minutes <= 240:
        raise ValueError(f"minutes is {minutes!r}: expected a whole number from 1 to 240")
    runs = fields.mapping("runs") if fields.has("runs") else {}
    for run, spec in runs.items():
        if not isinstance(run, str) or not run.isidentifier():
            raise ValueError(f"{run!r} is no name of a run: expected letters, digits and _")
        try:
            check_spec(spec)
        except ValueError as error:
            raise ValueError(f"run {run}: {error}") from None
    languages = sorted(language_of(path) for path in folder.glob("lesson.*.md"))
    outline = Outline(
        folder, name, fields.text("title"), minutes,
        tuple(str(each) for each in fields.items("prerequisites", 0, ())),
        tuple(str(each) for each in fields.items("goals")), runs, language, ("en", *languages),
    )  # fmt: skip
    fields.end()
    return outline


def compile_lesson(folder: Path, language: str, href: Href) -> tuple[Lesson | None, list[Problem]]:
    """The lesson with all its values; None, and what is wrong with it, where anything is."""
    path = file_of(folder, language)
    try:
        source = read_source(path)
        outline = outline_of(folder, source)
    except LessonError as error:
        return None, [error.problem]
    runs = dict(outline.runs)
    blocks, made, problems = Blocks(runs, href, language), [], []
    for index, piece in enumerate(source.pieces):
        try:
            made.append({**blocks.block(piece), "key": str(index), "line": piece.line})
        except (ValueError, OSError) as error:
            problems.append(Problem(path, piece.line, str(error)))
    if problems:
        return None, problems
    return Lesson(outline, language, tuple(made), runs), []
