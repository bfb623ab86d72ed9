"""Lessons and the interview room in a browser: in the app, and as a static site opened from disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright import sync_api
from playwright.sync_api import expect

from minibatch.learning.check import check_lessons, check_room
from minibatch.learning.lesson import folders, read_outline
from minibatch.ui.site import write_site
from tests.ui.app.driving import SECONDS
from tests.ui.axe import violations
from tests.ui.browser import Watched

MOST_BYTES = 15_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert write_site(out, lambda name, size: None) < MOST_BYTES
    return out


def answer_everything(page: sync_api.Page) -> None:
    """Commit an answer to every number and choice, the first option or 1, and see each explained."""
    cards = page.locator(".mbl-card.mbl-predict, .mbl-card.mbl-quiz")
    assert cards.count() > 2
    for index in range(cards.count()):
        card = cards.nth(index)
        if card.locator("input[type=radio], input[type=checkbox]").count():
            card.locator("input[type=radio], input[type=checkbox]").first.press(" ")
        elif card.locator(".mbl-number input").count():
            card.locator(".mbl-number input").first.fill("1")
        elif not card.locator(".mbl-order").count():
            continue  # a schedule, which the whiteboard's own tests draw
        assert card.locator(".mbl-reveal:visible").count() == 0, "nothing is explained before an answer"
        card.locator("button.mbl-primary").first.click()
        expect(card.locator(".mbl-verdict")).not_to_be_empty()


def test_the_lessons_and_the_room_are_sound() -> None:
    """Here and not beside the other tests of the check: the site below takes the same runs."""
    for path, problems in (*check_lessons(), *check_room()):
        assert problems == [], path


@pytest.mark.parametrize("name", [read_outline(folder).id for folder in folders()])
def test_a_lesson_of_the_site_can_be_answered_offline(chromium: sync_api.Browser, site: Path, name: str) -> None:
    lesson = site / f"{name}.html"
    context = chromium.new_context(offline=True, viewport={"width": 390, "height": 900}, color_scheme="dark")
    watched = Watched(context.new_page(), lesson.as_uri())
    watched.page.goto(lesson.as_uri())
    answer_everything(watched.page)
    answered = watched.page.locator(".mbl-verdict:not(:empty)").count()
    watched.page.reload()
    assert watched.page.locator(".mbl-verdict:not(:empty)").count() == answered, "answers are kept in the browser"
    assert watched.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert violations(watched.page) == []
    assert [url for url in watched.outside if not url.startswith(site.as_uri())] == []
    context.close()


def test_the_site_has_no_barrier(chromium: sync_api.Browser, site: Path) -> None:
    for name in ("index", "interview", "claims"):
        context = chromium.new_context(offline=True)
        watched = Watched(context.new_page(), (site / f"{name}.html").as_uri())
        watched.page.goto((site / f"{name}.html").as_uri())
        expect(watched.page.locator("h1").first).to_be_visible()
        assert watched.errors == []
        assert violations(watched.page) == [], name  # last: axe asks for the style sheet, which the policy refuses
        context.close()


def test_a_lesson_in_the_app_can_be_answered(context: sync_api.BrowserContext, address: str) -> None:
    watched = Watched(context.new_page(), address)
    watched.page.goto(f"{address}/lessons")
    link = watched.page.get_by_role("link", name="Chunked prefill").first
    link.evaluate("() => { window.isLoadedOnce = true; }", timeout=SECONDS)
    link.click(timeout=SECONDS)
    expect(watched.page.locator(".mbl-card").first).to_be_visible(timeout=SECONDS)
    assert watched.page.evaluate("window.isLoadedOnce"), "a link to a lesson does not load the page anew"
    answer_everything(watched.page)
    assert watched.outside == []
    # Streamlit asks for two of its own addresses below the page's, in vain.
    assert [error for error in watched.errors if "404" not in error] == []
