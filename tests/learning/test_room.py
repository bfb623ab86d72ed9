"""The interview room's files: what is wrong is said with file and line, and what ships is sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from minibatch.learning.room import (
    Question,
    RoomError,
    read_exercises,
    read_questions,
)
from minibatch.learning.schedule import exercise_dict
from minibatch.learning.text import to_html

WORDS = " ".join(["word"] * 90)
GOOD = f"""\
- id: one
  topic: Roofline
  ask: Why?
  seconds: 60
  rubric: [a, b, c, d]
  answer: {WORDS}
"""
BUNDLED = read_questions()


def rejected(tmp_path: Path, text: str) -> tuple[int, str]:
    """The line and the sentence with which a file of questions is rejected."""
    path = tmp_path / "questions.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RoomError) as error:
        read_questions(path)
    problem = error.value.problem
    assert problem.path == path
    assert str(error.value).startswith(f"{path}, line {problem.line}: ")
    return problem.line, problem.expected


def test_a_good_file(tmp_path: Path) -> None:
    path = tmp_path / "questions.yaml"
    path.write_text(GOOD, encoding="utf-8")
    (question,) = read_questions(path)
    assert (question.id, question.seconds, question.rubric, question.line) == ("one", 60, ("a", "b", "c", "d"), 1)
    assert question.experiment is None


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("seconds: 60", "seconds: 5", 4, "expected a whole number from 20 to 600"),
        ("seconds: 60", "seconds: 60.5", 4, "expected a whole number from 20 to 600"),
        ("seconds: 60", "seconds: soon", 4, "must be a number"),
        ("[a, b, c, d]", "[a, b, c]", 5, "expected 4 to 6"),
        ("[a, b, c, d]", "[a, b, c, {d: 1}]", 5, "expected text"),
        ("id: one", "id: One two", 1, "expected a-z, 0-9 and hyphens"),
        ("word word word", "", 6, "expected 80 to 150"),
        ("  ask: Why?\n", "", 1, "a question needs ask"),
        ("ask: Why?", "ask: ''", 3, "ask is empty"),
        ("ask: Why?", "ask: Why?\n  hint: none", 4, "has no 'hint'"),
        ("ask: Why?", "ask: Why?\n  ask: Why not?", 4, "twice"),
        ("ask: Why?", "ask: 'Why?", 3, "expected YAML"),
        ("ask: Why?", "ask: Why?\n  experiment: {title: t, caption: c, run: {recordings: chat}}", 4, "exactly one of"),
        (
            "ask: Why?",
            "ask: Why?\n  experiment: {title: t, caption: c, run: {traffic: {num_requests: 40}}}",
            4,
            "expected fewer than 40",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, old: str, new: str, line: int, expected: str) -> None:
    text = GOOD.replace(" ".join(["word"] * 90), "word word") if old.startswith("word") else GOOD.replace(old, new)
    found, sentence = rejected(tmp_path, text)
    assert expected in sentence
    assert found in (line, line + 1) if "YAML" in expected else found == line


def test_an_id_is_used_once(tmp_path: Path) -> None:
    assert rejected(tmp_path, GOOD + GOOD) == (7, "id 'one' is that of line 1 too: expected a unique one")


@pytest.mark.parametrize("text", ["", "questions: none\n", "[]"])
def test_a_file_is_a_list(tmp_path: Path, text: str) -> None:
    assert rejected(tmp_path, text) == (1, "expected a list, each part of it a question")


def test_an_entry_is_a_mapping(tmp_path: Path) -> None:
    assert rejected(tmp_path, GOOD + "- two\n")[0] == 7


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RoomError, match="can't be read"):
        read_questions(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("requests", "expected"),
    [("[[0]]", "expected \\[arrival step, output tokens\\]"), ("[[3, 1], [0, 1]]", "in order of arrival")],
)
def test_an_exercise_that_is_none(tmp_path: Path, requests: str, expected: str) -> None:
    path = tmp_path / "exercises.yaml"
    path.write_text(f"- title: t\n  policy: static\n  slots: 2\n  requests: {requests}\n", encoding="utf-8")
    with pytest.raises(RoomError, match=expected) as error:
        read_exercises(path)
    assert error.value.problem.line in (1, 4)


def test_enough_questions_and_experiments() -> None:
    assert len(BUNDLED) >= 42
    assert sum(question.experiment is not None for question in BUNDLED) >= 20
    assert len({question.topic for question in BUNDLED}) >= 5


@pytest.mark.parametrize("question", BUNDLED, ids=lambda question: question.id)
def test_every_bundled_question_is_sound(question: Question) -> None:
    figures = question.figures

    def href(lesson: str) -> str:
        raise AssertionError(f"the room links to lesson {lesson}")

    for text in (question.ask, question.answer, *question.rubric):
        assert "{{" not in to_html(text, figures, href)
    if question.experiment:
        to_html(question.experiment.caption, figures, href)
        assert question.experiment.check
        for condition in question.experiment.check:
            assert figures.holds(condition), condition


def test_eight_exercises_of_five_requests() -> None:
    exercises = read_exercises()
    assert len(exercises) == 8
    assert {each.exercise.policy for each in exercises} == {"static", "continuous"}
    for each in exercises:
        assert len(each.exercise.requests) == 5
        shown = exercise_dict(each.exercise, each.title)
        assert shown["title"] == each.title
        assert [len(row) for row in shown["solution"]] == [shown["slots"]] * len(shown["reasons"])
