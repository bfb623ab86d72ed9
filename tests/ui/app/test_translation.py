"""Two languages of a lesson in a browser: numbers as each writes them, and one learner's answers in both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright import sync_api
from playwright.sync_api import expect

from minibatch.learning.words import FOLDER, interface_words
from minibatch.ui.lessons.site import site_files
from tests.learning.lessons import FRONT, write_lesson
from tests.ui.browser import Watched

BODY = """```predict
ask: {}
answer: 1250
unit: ms
```

```chart
title: T
y: s
series: [{{points: [[a, 1234.5], [b, 2000]]}}]
```
"""
READ = re.sub(r"^export ", "", (FOLDER / "numbers.js").read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.fixture
def page(chromium: sync_api.Browser) -> Iterator[sync_api.Page]:
    context = chromium.new_context(offline=True)
    yield context.new_page()
    context.close()


def test_what_is_typed_is_read_as_the_language_writes_numbers(page: sync_api.Page) -> None:
    typed = {
        "en": {"1,234": 1234, "1.234": 1.234, "0,125": 0.125, "-1,234,567.8": -1234567.8},
        "de": {"1,234": 1.234, "1.234": 1234, "0.125": 0.125, "-1.234.567,8": -1234567.8},
    }
    both = {
        "7": 7, "1,5": 1.5, "1.5": 1.5, "1,234.5": 1234.5, "1.234,5": 1234.5, " 131 072 ": 131072, "−2e3": -2000,
        "": None, "-": None, "ten": None, "1,23,4": None, "1 5": None,
    }  # fmt: skip
    for language, cases in typed.items():
        script = f"([texts, strings]) => {{ {READ}; return texts.map((text) => readNumber(text, marksOf(strings))); }}"
        expected = cases | both
        argument = [list(expected), dict(interface_words(language))]
        assert page.evaluate(script, argument) == list(expected.values()), language


def test_the_switch_of_languages_keeps_the_answer_and_its_number(page: sync_api.Page, tmp_path: Path) -> None:
    lesson = write_lesson(tmp_path / "lessons", BODY.format("How long?"))
    lesson.with_name("lesson.de.md").write_text(FRONT + BODY.format("Wie lange?"), encoding="utf-8")
    for name, make in site_files(lesson.parents[1]):
        if name.startswith(("site.", "tiny.", "index.")):
            (tmp_path / name).write_bytes(make())
    watched = Watched(page, tmp_path.as_uri())
    page.goto((tmp_path / "index.de.html").as_uri())
    page.get_by_role("link", name="A tiny lesson").click()
    assert page.locator("html").get_attribute("lang") == page.locator("article").get_attribute("lang") == "de"
    page.get_by_label("Deine Zahl").fill("1.234,5")
    page.get_by_label("Deine Zahl").press("Enter")
    expect(page.locator(".mbl-verdict")).to_have_text("Richtig: 1.230 ms liegt höchstens ein Viertel daneben.")
    expect(page.locator(".mbl-answer")).to_have_text("Richtig ist 1.250 ms")
    expect(page.locator(".mbl-chart-plot svg")).to_contain_text("1.200")
    page.get_by_role("link", name="English").click()
    expect(page.locator(".mbl-verdict")).to_have_text("Right: you said 1,230 ms, within a quarter.")
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_label("Your number").input_value() == "1234.5"
    expect(page.locator(".mbl-chart-plot svg")).to_contain_text("1,200")
    assert json.loads(page.evaluate("localStorage['minibatch progress']"))["lessons"]["tiny"].keys() == {"0"}
    assert watched.errors == []
