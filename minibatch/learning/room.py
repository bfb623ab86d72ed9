"""The interview room: its questions and exercises, read strictly from YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from minibatch.learning.errors import LessonError, Problem
from minibatch.learning.expressions import Figures
from minibatch.learning.fields import Fields
from minibatch.learning.run_spec import check_spec
from minibatch.learning.schedule import POLICIES, Exercise, solve
from minibatch.learning.text import FIGURE
from minibatch.paths import LESSONS
from minibatch.reading.files import read_file
from minibatch.reading.yaml_values import compose_yaml, value_of

QUESTIONS = LESSONS / "interview" / "questions.yaml"
EXERCISES = LESSONS / "interview" / "exercises.yaml"
RUN = "run"
"""The name of an experiment's run in the figures of its question: {{ run.continuous.duration }}."""

_ID = re.compile(r"[a-z0-9][a-z0-9-]*")
_SECONDS, _IDEAS, _WORDS = range(20, 601), range(4, 7), range(80, 151)
_MOST_REQUESTS = 40
_LARGEST = 256 << 10
"""Bytes of a file."""
Entry = TypeVar("Entry")


class RoomError(LessonError):
    """A file of the room that can't be used; `problem` has file, line and what was expected."""


@dataclass(frozen=True, slots=True)
class RoomExperiment:
    """A run that shows what an answer says.

    Attributes:
        run: a run spec, which the figures of the question call `RUN`.
        caption: Markdown: what to look at.
        check: conditions over the run that must hold for the answer to be true.
    """

    title: str
    run: Mapping[str, Any]
    caption: str
    check: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a mock interview. Texts are Markdown with {{ figures }}.

    Attributes:
        seconds: a good answer takes.
        rubric: ideas that a strong answer holds, to tick.
        answer: a model answer.
        line: of the file, from 1.
    """

    id: str
    topic: str
    ask: str
    seconds: int
    rubric: tuple[str, ...]
    answer: str
    experiment: RoomExperiment | None
    line: int

    @property
    def figures(self) -> Figures:
        """Values of the figures in its texts."""
        return Figures({RUN: self.experiment.run} if self.experiment else {})


@dataclass(frozen=True, slots=True)
class TitledExercise:
    """A whiteboard exercise; `line` is of the file, from 1."""

    title: str
    exercise: Exercise
    line: int


def read_questions(path: Path = QUESTIONS) -> list[Question]:
    """Every question of a file. Figures are not computed yet.

    Raises:
        RoomError: it can't be read, or a question is not as it should be; file, line and what was expected.
    """
    questions = _read(path, "a question", _question)
    lines: dict[str, int] = {}
    for question in questions:
        if question.id in lines:
            expected = f"id {question.id!r} is that of line {lines[question.id]} too: expected a unique one"
            raise RoomError(Problem(path, question.line, expected))
        lines[question.id] = question.line
    return questions


def read_exercises(path: Path = EXERCISES) -> list[TitledExercise]:
    """Every exercise of a file, solved by the engine.

    Raises:
        RoomError: as `read_questions`.
    """
    return _read(path, "an exercise", _exercise)


def _question(fields: Fields, line: int) -> Question:
    name, seconds = fields.text("id"), fields.number("seconds")
    if not _ID.fullmatch(name):
        raise ValueError(f"id is {name!r}: expected a-z, 0-9 and hyphens")
    if seconds not in _SECONDS:
        raise ValueError(f"seconds is {seconds}: expected a whole number from {_SECONDS[0]} to {_SECONDS[-1]}")
    rubric, answer = tuple(_texts(fields, "rubric")), _filled(fields, "answer")
    if len(rubric) not in _IDEAS:
        raise ValueError(f"rubric has {len(rubric)} ideas: expected {_IDEAS[0]} to {_IDEAS[-1]}")
    words = len(FIGURE.sub("figure", answer).split())
    if words not in _WORDS:
        raise ValueError(f"answer has {words} words: expected {_WORDS[0]} to {_WORDS[-1]}")
    experiment = _experiment(fields.mapping("experiment")) if fields.has("experiment") else None
    topic, ask = _filled(fields, "topic"), _filled(fields, "ask")
    return Question(name, topic, ask, int(seconds), rubric, answer, experiment, line)


def _experiment(given: Mapping[str, Any]) -> RoomExperiment:
    fields = Fields("experiment", given)
    run, check = fields.mapping("run"), tuple(_texts(fields, "check", 0))
    try:
        check_spec(run)
    except ValueError as error:
        raise ValueError(f"run of experiment: {error}") from None
    count = len(run.get("requests", ())) or run.get("traffic", {}).get("num_requests", 0)
    if count >= _MOST_REQUESTS:
        raise ValueError(f"run of experiment has {count} requests: expected fewer than {_MOST_REQUESTS}")
    experiment = RoomExperiment(_filled(fields, "title"), run, _filled(fields, "caption"), check)
    fields.end()
    return experiment


def _exercise(fields: Fields, line: int) -> TitledExercise:
    requests = []
    for row in fields.items("requests"):
        if not isinstance(row, list) or len(row) != 2 or not all(type(part) is int for part in row):
            raise ValueError(f"{row!r} is no request: expected [arrival step, output tokens]")
        requests.append((row[0], row[1]))
    slots = fields.number("slots")
    if not isinstance(slots, int):
        raise ValueError(f"slots is {slots}: expected a whole number")
    policy = fields.one_of("policy", POLICIES)
    return TitledExercise(_filled(fields, "title"), solve(requests, policy, slots), line)


def _filled(fields: Fields, name: str) -> str:
    text = fields.text(name).strip()
    if not text:
        raise ValueError(f"{name} is empty: expected text")
    return text


def _texts(fields: Fields, name: str, least: int = 1) -> list[str]:
    texts = fields.items(name, least, () if least == 0 else None)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{name} holds {text!r}: expected text")
    return texts


def _read(path: Path, kind: str, make: Callable[[Fields, int], Entry]) -> list[Entry]:
    """The entries of a file; an error names the line of the field that is wrong, or that of its entry."""
    entries = []
    for node in _nodes(path, kind):
        line, given, lines = _mapping(path, kind, node)
        fields = Fields(kind, given)
        try:
            entry = make(fields, line)
            fields.end()
        except ValueError as error:
            raise RoomError(Problem(path, _line_of(str(error), lines, line), str(error))) from None
        entries.append(entry)
    return entries


def _nodes(path: Path, kind: str) -> list[yaml.Node]:
    try:
        root = compose_yaml(read_file(path, _LARGEST).decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise RoomError(Problem(path, 0, f"it can't be read ({error}): restore it from the repository")) from None
    except yaml.YAMLError as error:
        what = getattr(error, "problem", None) or "it can't be parsed"
        # What is never closed is found at the end of the file, and began where the context says.
        is_open = str(getattr(error, "context", "")).startswith("while scanning")
        mark = getattr(error, "context_mark" if is_open else "problem_mark", None)
        raise RoomError(Problem(path, mark.line + 1 if mark else 0, f"expected YAML: {what}")) from None
    if not isinstance(root, yaml.SequenceNode) or not root.value:
        raise RoomError(Problem(path, 1, f"expected a list, each part of it {kind}"))
    return list(root.value)


def _mapping(path: Path, kind: str, node: yaml.Node) -> tuple[int, dict[str, Any], dict[str, int]]:
    """The line on which an entry begins, its fields, and the line of each."""
    line = node.start_mark.line + 1
    if not isinstance(node, yaml.MappingNode):
        raise RoomError(Problem(path, line, f"expected {kind}: lines of `name: value`"))
    given: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, value in node.value:
        where = key.start_mark.line + 1
        if key.value in given:
            raise RoomError(Problem(path, where, f"{kind} has {key.value!r} twice: expected it once"))
        try:
            given[str(key.value)] = value_of(value)
        except yaml.YAMLError as error:
            what = getattr(error, "problem", None) or error
            raise RoomError(Problem(path, where, f"{key.value} can't be read: {what}")) from None
        lines[str(key.value)] = where
    return line, given, lines


def _line_of(sentence: str, lines: Mapping[str, int], otherwise: int) -> int:
    """The line of the field that a sentence is about: the first one whose name it says."""
    said = [(match.start(), where) for name, where in lines.items() if (match := re.search(rf"\b{name}\b", sentence))]
    return min(said)[1] if said else otherwise
