"""Lessons and the interview room in the app."""

from __future__ import annotations

from pathlib import Path

from playwright import sync_api
from playwright.sync_api import expect

from tests.ui.app.driving import SECONDS
from tests.ui.app.lesson_driving import NAMES, QUIZZES, lessons, walk
from tests.ui.app.places import carry_progress, opened, visit_the_room
from tests.ui.browser import Watched


def test_the_lessons_of_the_app_one_after_the_other(chromium: sync_api.Browser, address: str) -> None:
    context = chromium.new_context(viewport={"width": 800, "height": 900}, reduced_motion="reduce")
    watched = Watched(context.new_page(), address)
    page = watched.page
    page.goto(f"{address}/lessons")
    first = page.get_by_role("link", name=lessons()[NAMES[0]].outline.title).first
    first.evaluate("() => { window.isLoadedOnce = true; }", timeout=SECONDS)
    first.click(timeout=SECONDS)
    answered: set[str] = set()
    for name, following in zip(NAMES, [*NAMES[1:], None], strict=True):
        lesson = lessons()[name]
        expect(page.get_by_role("heading", level=1, name=lesson.outline.title)).to_be_visible(timeout=SECONDS)
        walk(page, lesson, answered)
        if following:
            page.locator(".mbl-way-next").click()
    assert answered == {"predict", "explore", *QUIZZES}
    assert page.evaluate("window.isLoadedOnce"), "a link to a lesson does not load the page anew"
    assert watched.outside == []
    # Streamlit asks for two of its own addresses below the page's, in vain.
    assert [error for error in watched.errors if "404" not in error] == []
    context.close()


def test_progress_goes_to_another_browser_as_a_file(chromium: sync_api.Browser, address: str, tmp_path: Path) -> None:
    with opened(chromium, address) as place:
        carry_progress(place, tmp_path)


def test_the_interview_room(chromium: sync_api.Browser, address: str) -> None:
    with opened(chromium, address) as place:
        visit_the_room(place)
