"""Lessons and the interview room in a browser: in the app, and as a static site opened from disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright import sync_api
from playwright.sync_api import expect

from minibatch.learning.check import check_lessons, check_room
from minibatch.ui.site import write_site
from tests.ui.app.driving import SECONDS
from tests.ui.app.lesson_driving import (
    CARDS,
    NAMES,
    all_is_told,
    block_of,
    drawn,
    lessons,
    right_votes,
    solution,
    texts,
    walk,
)
from tests.ui.app.room_driving import answer_numbers, draw_whiteboard, hold_interview, take_cards
from tests.ui.axe import violations
from tests.ui.browser import Watched

MOST_BYTES = 15_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert write_site(out, lambda name, size: None) < MOST_BYTES
    return out


@dataclass
class Place:
    """The static site on disk, or the app."""

    page: sync_api.Page
    root: str

    def open(self, name: str) -> None:
        """The page of a lesson, "index" or "interview"."""
        if self.root.startswith("file:"):
            self.page.goto(f"{self.root}/{name}.html")
        else:
            app = {"index": "lessons", "interview": "interview"}
            self.page.goto(f"{self.root}/{app.get(name, f'lessons?lesson={name}')}")
        expect(self.page.locator(".mbl-lesson h1")).to_be_visible(timeout=SECONDS)


@pytest.fixture(params=["site", "app"])
def place(request: pytest.FixtureRequest, chromium: sync_api.Browser) -> Iterator[Place]:
    is_site = request.param == "site"
    root = request.getfixturevalue("site").as_uri() if is_site else request.getfixturevalue("address")
    context = chromium.new_context(offline=is_site, accept_downloads=True, color_scheme="dark")
    watched = Watched(context.new_page(), root)
    yield Place(watched.page, root)
    assert watched.outside == []
    assert [error for error in watched.errors if "404" not in error] == []
    context.close()


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


def test_progress_goes_to_another_browser_as_a_file(place: Place, tmp_path: Path) -> None:
    page, blocks = place.page, lessons()["static"].blocks
    answered = [block for block in blocks if block.get("schedule") or block["kind"] == "predict"]
    place.open("static")
    for block in answered:
        CARDS[block["kind"]](block_of(page, block), block)
    place.open("index")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save progress to a file").click()
    page.evaluate("localStorage.clear()")
    place.open("index")
    row = page.locator(".mbl-list > li", has=page.get_by_role("link", name=lessons()["static"].outline.title)).first
    none = tmp_path / "none.json"
    none.write_text("{}", encoding="utf-8")
    chosen = page.get_by_label("Load progress from a file")
    chosen.set_input_files(none)
    expect(page.locator(".mbl-keeping [role=status]")).to_contain_text("holds no progress")
    assert row.locator(".mbl-done").count() == 0
    chosen.set_input_files(download.value.path())
    expect(row.locator(".mbl-done")).to_have_text(f"{len(answered)} answered")
    place.open("static")
    for block in blocks:
        if block["kind"] in CARDS:
            expect(block_of(page, block)).to_have_attribute("data-state", "right" if block in answered else "open")
        if block.get("schedule"):
            assert drawn(block_of(page, block)) == solution(block["schedule"])


def test_the_interview_room(place: Place) -> None:
    place.open("interview")
    hold_interview(place.page)
    answer_numbers(place.page)
    draw_whiteboard(place.page)
    take_cards(place.page)


def test_the_handout_holds_charts_that_were_never_seen(chromium: sync_api.Browser, site: Path) -> None:
    lesson = lessons()["mistakes"]
    page = chromium.new_page(viewport={"width": 720, "height": 400}, color_scheme="dark")
    page.goto((site / "mistakes.html").as_uri())
    paper = page.pdf()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    for block in lesson.blocks:
        element = block_of(page, block)
        if block["kind"] == "chart":
            expect(element.locator("svg")).to_be_visible()
            ink = element.locator("svg text").first.get_attribute("fill") or ""
            assert int(ink[1:3], 16) < 128, "dark on white, whatever the theme"
        elif block["kind"] == "text":
            expect(element).to_be_visible()
        elif block["kind"] in CARDS:
            expect(element.locator(".mbl-ask")).to_be_visible()
            expect(element.locator(".mbl-reveal")).to_be_hidden()
    page.emulate_media(media="null")
    assert len(page.pdf()) == len(paper), "the first sheet of paper lacks nothing either"
    page.close()


def test_hands_are_counted_for_every_kind_of_card(chromium: sync_api.Browser, site: Path) -> None:
    page = chromium.new_page()
    page.goto((site / "continuous.html").as_uri() + "?present=1")
    following = page.get_by_role("toolbar", name="Present").get_by_role("button", name="Next")
    for block in lessons()["continuous"].blocks:
        if block["kind"] != "notes":
            following.click()
        if block["kind"] not in CARDS:
            continue
        card = block_of(page, block)
        expect(card).to_be_visible()
        options = texts(card, ".mbl-hands .mbl-poll-text")
        assert 2 <= len(options) == len(set(options))
        if votes := right_votes(card, block):
            assert sum(option in votes for option in options) == 1
        card.locator(".mbl-hands input").nth(0).fill("3")
        card.locator(".mbl-hands input").nth(1).fill("1")
        assert texts(card, ".mbl-share")[:2] == ["75 %", "25 %"]
    page.close()
