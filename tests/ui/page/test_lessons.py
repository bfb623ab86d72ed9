"""The page Lessons where a lesson is broken: it is said which, where, and the others are served."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from minibatch.ui.lessons import page as lessons
from tests.learning.lessons import FRONT, write_lesson
from tests.ui.page.driving import notices, rerun


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Three lessons: one that can be read, one whose block is wrong, one without front matter."""
    write_lesson(tmp_path, "All is well.\n")
    write_lesson(tmp_path, "```player\nrun: nowhere\n```\n", "wrong", FRONT.replace("id: tiny", "id: wrong"))
    write_lesson(tmp_path, "", "torn", "no front matter\n")
    monkeypatch.setattr(lessons, "LESSONS", tmp_path)
    lessons._lesson.clear()
    yield tmp_path
    lessons._lesson.clear()


def opened(**parameters: str) -> tuple[AppTest, dict[str, Any]]:
    """The page at an address, and the document that the browser got."""

    def script() -> None:
        from minibatch.ui.lessons import page as lessons

        lessons.page()

    app = AppTest.from_function(script, default_timeout=60)
    app.query_params.update(parameters)
    (shown,) = rerun(app).get("bidi_component")
    return app, json.loads(zlib.decompress(shown.proto.bytes))


def test_the_list_names_the_lesson_that_cannot_be_read(root: Path) -> None:
    _, document = opened()
    assert [lesson["id"] for lesson in document["lessons"]] == ["tiny", "wrong"]
    (problem,) = document["problems"]
    assert problem.startswith(f"{root / 'torn' / 'lesson.md'}, line 1: expected front matter")


def test_a_broken_lesson_says_what_is_wrong_and_the_list_stays(root: Path) -> None:
    app, document = opened(lesson="wrong")
    (said,) = notices(app)
    line = FRONT.count("\n") + 1
    assert unescape(said).startswith(f"{root / 'wrong' / 'lesson.md'}, line {line}: there is no run 'nowhere'")
    assert document["kind"] == "index"


def test_the_others_are_served() -> None:
    app, document = opened(lesson="tiny", language="xx")
    assert notices(app) == []
    assert (document["kind"], document["id"], document["language"]) == ("lesson", "tiny", "en")


def test_a_lesson_that_is_not_there_is_said() -> None:
    app, document = opened(lesson="<b>x</b>")
    assert notices(app) == [escape("There is no lesson '<b>x</b>'.")]
    assert document["kind"] == "index"
