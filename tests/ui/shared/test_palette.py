"""The palette as the style sheet of lessons takes it."""

from __future__ import annotations

import re

import pytest

from minibatch.ui.player.bundle import LESSONS, lesson_styles
from minibatch.ui.shared.palette import REQUEST_COLOURS, theme

NAMES = ("ink", "muted", "faint", "surface", "lane", "accent", "good", "bad")
COLOURS = {getattr(theme(kind), name) for kind in ("light", "dark") for name in NAMES} | set(REQUEST_COLOURS)


@pytest.mark.parametrize(
    ("selector", "kind"),
    [
        (".mbl-lesson, .mbl-site", "light"),
        ('.mbl-lesson[data-theme="dark"]', "dark"),
        ("@media (prefers-color-scheme: dark) { .mbl-site", "dark"),
        ("@media print { .mbl-lesson.mbl-lesson", "light"),
    ],
)
def test_lessons_have_every_colour_of_their_theme(selector: str, kind: str) -> None:
    body = re.search(rf"^{re.escape(selector)} \{{ (.*?) \}}", lesson_styles(), re.MULTILINE)
    assert body
    variables = dict(re.findall(r"--(\w+): ([^;]+);", body[1]))
    assert {name: variables[name] for name in NAMES} == {name: getattr(theme(kind), name) for name in NAMES}


def test_lessons_repeat_no_colour_of_the_palette() -> None:
    for path in LESSONS.glob("*.css"):
        found = {colour.upper() for colour in re.findall(r"#[0-9A-Fa-f]{6}\b", path.read_text(encoding="utf-8"))}
        assert found & COLOURS == set(), path.name


def test_the_whiteboard_has_a_colour_for_every_request() -> None:
    assert [f"--request-{k}: {colour};" in lesson_styles() for k, colour in enumerate(REQUEST_COLOURS)] == [True] * 8
