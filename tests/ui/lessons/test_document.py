"""Documents of lessons: what the app has and a page without Python does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from minibatch.ui.compare.links import widget_values
from minibatch.ui.lessons import page as lessons
from minibatch.ui.lessons import site
from minibatch.ui.lessons.document import Link, lesson_document
from minibatch.ui.shared.choices import RUN
from tests.learning.lessons import FRONT, write_lesson

RECORDED = FRONT.replace("runs:\n", "runs:\n  chat: {recording: chat}\n")


def player(path: Path, link: Link) -> dict[str, Any]:
    document, problems = lesson_document(path.parent, "en", link, path.parents[1])
    assert problems == []
    assert document
    found: dict[str, Any] = document["blocks"][0]
    return found


def test_a_recorded_run_can_be_run_again_in_the_app_alone(tmp_path: Path) -> None:
    path = write_lesson(tmp_path, "```player\nrun: chat\npolicies: [static]\nrun_here: true\n```\n", front=RECORDED)
    link = player(path, lessons._link)["run_here"]
    values = widget_values(dict(parse_qsl(urlsplit(link).query)), [])
    assert values == {"source": RUN, "scenario": "chat", "model": "bundled"}
    assert not player(path, site._link)["run_here"]


def test_a_run_that_is_no_scenario_cannot_be_run_again(tmp_path: Path) -> None:
    path = write_lesson(tmp_path, "```player\nrun: two\nrun_here: true\n```\n")
    document, (problem,) = lesson_document(path.parent, "en", str, tmp_path)
    assert document is None
    assert "run 'two' is no recording of a scenario" in problem.expected
