"""Lessons and the interview room in a browser: in the app, and as a static site opened from disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright import sync_api
from playwright.sync_api import expect

from minibatch.learning.check import check_lessons, check_room
from minibatch.ui.site import write_site
from tests.ui.app.driving import SECONDS
from tests.ui.app.lesson_driving import NAMES, all_is_told, lessons, walk
from tests.ui.axe import violations
from tests.ui.browser import Watched

MOST_BYTES = 15_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert write_site(out, lambda name, size: None) < MOST_BYTES
    return out


def test_the_lessons_and_the_room_are_sound() -> None:
    """Here and not beside the other tests of the check: the site below takes the same runs."""
    for path, problems in (*check_lessons(), *check_room()):
        assert problems == [], path


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_of_the_site_from_first_to_last_block_offline(
    chromium: sync_api.Browser, site: Path, name: str
) -> None:
    lesson = site / f"{name}.html"
    context = chromium.new_context(offline=True, viewport={"width": 390, "height": 900}, color_scheme="dark")
    watched = Watched(context.new_page(), lesson.as_uri())
    watched.page.goto(lesson.as_uri())
    walk(watched.page, lessons()[name])
    assert watched.errors == []
    watched.page.reload()
    all_is_told(watched.page, lessons()[name])  # answers are kept in the browser
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


def test_the_lessons_of_the_app_one_after_the_other(context: sync_api.BrowserContext, address: str) -> None:
    watched = Watched(context.new_page(), address)
    page = watched.page
    page.goto(f"{address}/lessons")
    first = page.get_by_role("link", name=lessons()[NAMES[0]].outline.title).first
    first.evaluate("() => { window.isLoadedOnce = true; }", timeout=SECONDS)
    first.click(timeout=SECONDS)
    for name, following in zip(NAMES, [*NAMES[1:], None], strict=True):
        lesson = lessons()[name]
        expect(page.get_by_role("heading", level=1, name=lesson.outline.title)).to_be_visible(timeout=SECONDS)
        walk(page, lesson)
        if following:
            page.locator(".mbl-way-next").click()
    assert page.evaluate("window.isLoadedOnce"), "a link to a lesson does not load the page anew"
    assert watched.outside == []
    # Streamlit asks for two of its own addresses below the page's, in vain.
    assert [error for error in watched.errors if "404" not in error] == []
