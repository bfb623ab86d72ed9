"""What the check of lessons says of sound ones and of broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from minibatch.learning.check import check_lessons
from minibatch.learning.lesson import compile_lesson
from tests.learning.lessons import FRONT, write_lesson

FIRST = FRONT.count("\n") + 1
"""The first line after the front matter."""


def problems(root: Path) -> list[tuple[int, str]]:
    return [(problem.line, problem.expected) for _, found in check_lessons(root) for problem in found]


def block(kind: str, *lines: str) -> str:
    return "\n".join([f"```{kind}", *lines, "```", ""])


QUIZ = ("type: choice", "ask: Who?", "explain: Slots.", "options: [{text: a, right: true}, b]")


def test_an_answer_that_a_run_contradicts_is_rejected(tmp_path: Path) -> None:
    """Two slots: static starts the third request when the long one ends, continuous when the first short one does."""
    write_lesson(tmp_path, block("quiz", *QUIZ, "check: [two.static.duration < two.continuous.duration]"))
    ((line, expected),) = problems(tmp_path)
    assert line == FIRST
    assert "the run contradicts the answer: `two.static.duration < two.continuous.duration`" in expected
    (tmp_path / "tiny" / "lesson.md").unlink()
    (tmp_path / "tiny").rmdir()
    write_lesson(tmp_path, block("quiz", *QUIZ, "check: [two.continuous.duration < two.static.duration]"))
    assert problems(tmp_path) == []


def test_an_order_that_a_run_contradicts_is_rejected(tmp_path: Path) -> None:
    by = "by: [two.static.duration, two.continuous.duration]"
    write_lesson(
        tmp_path, block("quiz", "type: order", "ask: Order.", "explain: E.", "items: [static, continuous]", by)
    )
    ((_, expected),) = problems(tmp_path)
    assert expected.startswith("the run contradicts the order: 'static' has ")


@pytest.mark.parametrize(
    ("body", "line", "expected"),
    [
        ("```quizz\n```\n", 0, "'quizz' is no block: expected one of player, chart,"),
        ("text\n\n```player\nrun: two\n", 2, "expected a line of ``` that closes this block"),
        (block("player", "run: three"), 0, "there is no run 'three': the front matter has two"),
        (block("player", "runn: two"), 0, "player needs run"),
        (block("player", "run: two", "speed: 2"), 0, "player has no 'speed'"),
        (block("claim", "id: h100-flop"), 0, "h100-flop"),
        (block("source", "policy: magic"), 0, "policy of source is 'magic': expected one of static,"),
        ("See {{ two.static.speed }}.\n", 0, "there is no metric 'speed'"),
        ("See {{ two.chunked.duration }}.\n", 0, "run 'two' has no policy 'chunked': it has static, continuous"),
        ("See {{ __import__('os') }}.\n", 0, "is no figure"),
        ("See {{ __import__('os').system('id') }}.\n", 0, "is no figure"),
        ("See {{ two().static.duration }}.\n", 0, "is no figure"),
        ("A [link](lesson:nowhere).\n", 0, "a link leads to lesson 'nowhere': expected one of tiny"),
        (block("quiz", *QUIZ[:3], "options: [a, b]"), 0, "expected at least one option with `right: true`"),
        (block("quiz", "ask: [unclosed"), 1, "the block quiz must be YAML"),
        (block("quiz", "ask: This: that?"), 1, "must be YAML: put quotes around a text that has a colon in it"),
        (
            block("explore", "run: two", "policy: static", "knobs: {max_num_seqs: [1, 2]}", "show: [duration]",
                  "ask: A.", "find: duration < 0"),
            0, "no setting of explore meets `duration < 0`",
        ),
        (
            block("explore", "run: two", "policy: static", "knobs: {max_num_seqs: [1, 2]}", "show: [duration]",
                  "ask: A.", "find: slot_padding > 0", "labels: {3: three}"),
            0, "labels of explore name 3: expected some of 1, 2",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, body: str, line: int, expected: str) -> None:
    path = write_lesson(tmp_path, body)
    ((_, found),) = check_lessons(tmp_path)
    assert len(found) == 1
    assert found[0].line == FIRST + line
    assert expected in found[0].expected
    assert str(found[0]).startswith(f"{path}, line {FIRST + line}: ")


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("no front matter", "expected front matter: a line of --- first"),
        ("---\nid: x\n", "expected a second line of ---"),
        ("---\nid: A b\ntitle: T\nminutes: 3\ngoals: [g]\n---\n", "id is 'A b': expected a-z, 0-9 and hyphens"),
        ("---\nid: x\nminutes: 3\ngoals: [g]\n---\n", "the front matter needs title"),
        ("---\nid: x\ntitle: T\nminutes: 0\ngoals: [g]\n---\n", "minutes is 0"),
        (
            "---\nid: x\ntitle: T\nminutes: 3\ngoals: [g]\nruns: {a: {recording: chat, knobs: {}}}\n---\n",
            "run a: a run of this kind has no 'knobs'",
        ),
        (
            "---\nid: x\ntitle: T\nminutes: 3\ngoals: [g]\nruns: {a: {requests: [[0, 1]]}}\n---\n",
            "run a: requests must be a list of [arrival in s, prompt tokens, output tokens]",
        ),
        ("---\nid: x\ntitle: T\nminutes: 3\ngoals: [g]\ncolour: red\n---\n", "the front matter has no 'colour'"),
    ],
)
def test_front_matter_that_is_wrong_is_said(tmp_path: Path, front: str, expected: str) -> None:
    write_lesson(tmp_path, "", front=front)
    assert [expected in found for _, found in problems(tmp_path)] == [True]


CLAIM = block("claim", "id: h100-flops")
ORDER = block("quiz", "type: order", "ask: Q.", "explain: E.", "items: [a, b, c]")
CHOICE = "quiz (choice) of 2 options of which right: 1"
NUMBER = block("quiz", "type: number", "ask: Q.", "explain: E.", "answer: 2")


@pytest.mark.parametrize(
    ("german", "line", "expected"),
    [
        (CLAIM + block("quiz", *QUIZ), None, ""),
        (block("quiz", *QUIZ) + CLAIM, 2, f"this is {CHOICE}: expected claim, as in lesson.md, line {FIRST + 2}"),
        (CLAIM + NUMBER, 5, f"this is quiz (number): expected {CHOICE}, as in lesson.md, line {FIRST + 5}"),
        (CLAIM + block("quiz", *QUIZ[:3], "options: [b, {text: a, right: true}]"), 5,
         f"this is {CHOICE.replace('1', '2')}: expected {CHOICE}, as in lesson.md, line {FIRST + 5}"),
        (CLAIM + ORDER, 5, f"this is quiz (order) of 3 items: expected {CHOICE}, as in lesson.md, line {FIRST + 5}"),
        (CLAIM, 2, f"expected another block after this one: {CHOICE}, as in lesson.md, line {FIRST + 5}"),
        (CLAIM + block("quiz", *QUIZ) + "Mehr.\n", 11, "expected no more blocks: lesson.md has 3"),
    ],
    ids=["the same", "another order", "another type", "other options", "an order", "one too few", "one too many"],
)  # fmt: skip
def test_a_translation_has_the_blocks_of_the_english(
    tmp_path: Path, german: str, line: int | None, expected: str
) -> None:
    path = write_lesson(tmp_path, "Text.\n\n" + CLAIM + block("quiz", *QUIZ))
    path.with_name("lesson.de.md").write_text(FRONT + "Worte.\n\n" + german, encoding="utf-8")
    assert problems(tmp_path) == ([] if line is None else [(FIRST + line, expected)])


def test_a_translation_has_the_id_of_the_english(tmp_path: Path) -> None:
    path = write_lesson(tmp_path, "Text.\n")
    path.with_name("lesson.de.md").write_text(FRONT.replace("id: tiny", "id: winzig") + "Worte.\n", encoding="utf-8")
    assert problems(tmp_path) == [(1, "id is 'winzig': expected 'tiny', as in English")]


def test_html_and_script_in_a_lesson_are_text(tmp_path: Path) -> None:
    body = "<script>alert(1)</script> **bold** [x](javascript:alert(1)) {{ two.static.duration }}\n"
    path = write_lesson(tmp_path, body)
    lesson, found = compile_lesson(path.parent, "en", str)
    assert found == []
    assert lesson
    html = lesson.blocks[0]["html"]
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert 'href="javascript:' not in html
    assert "<strong>bold</strong>" in html
    assert 'title="modelled"' in html


def test_exploring_gives_every_setting_its_own_run(tmp_path: Path) -> None:
    path = write_lesson(
        tmp_path,
        block("explore", "run: two", "policy: static", "knobs: {max_num_seqs: [1, 2, 3]}",
              "show: [duration, output_throughput]", "ask: All at once.", "find: slot_padding > 0.2"),
    )  # fmt: skip
    lesson, found = compile_lesson(path.parent, "en", str)
    assert found == []
    assert lesson
    durations = [setting["metrics"]["duration"] for setting in lesson.blocks[0]["settings"]]
    assert durations[0] > durations[1] > durations[2]
