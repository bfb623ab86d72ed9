"""Lessons and the interview room as a static site, opened from disk without a network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright import sync_api
from playwright.sync_api import expect

from minibatch.learning.check import check_lessons, check_room
from minibatch.learning.errors import LessonError
from minibatch.ui.lessons.site import write_site
from tests.learning.lessons import write_lesson
from tests.ui.app.lesson_driving import CARDS, NAMES, all_is_told, block_of, lessons, right_votes, texts, walk
from tests.ui.app.places import carry_progress, opened, visit_the_room
from tests.ui.axe import violations
from tests.ui.browser import Watched

MOST_BYTES = 15_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert write_site(out, lambda name, size: None) < MOST_BYTES
    return out


@pytest.mark.slow
def test_the_lessons_and_the_room_are_sound() -> None:
    """Here and not beside the other tests of the check: the site below takes the same runs."""
    for path, problems in (*check_lessons(), *check_room()):
        assert problems == [], path


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_of_the_site_from_first_to_last_block_offline(
    chromium: sync_api.Browser, site: Path, name: str
) -> None:
    lesson = site / f"{name}.html"
    context = chromium.new_context(
        offline=True, viewport={"width": 390, "height": 900}, color_scheme="dark", reduced_motion="reduce"
    )
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


def test_every_page_is_reached_from_the_list_of_lessons(chromium: sync_api.Browser, site: Path) -> None:
    page = chromium.new_page()
    found, left = set(), {"index.html"}
    while left:
        name = left.pop()
        found.add(name)
        if name.startswith("compare"):  # a large page whose links no script draws
            links = re.findall(r'<a href="([^"]*)"', (site / name).read_text(encoding="utf-8"))
        else:
            page.goto((site / name).as_uri())
            expect(page.locator("main").locator("h1, h2").first).to_be_visible()
            links = page.locator("a[href]").evaluate_all("(all) => all.map((a) => a.getAttribute('href'))")
        left |= {link.partition("#")[0] for link in links if link.endswith(".html")} - found
    assert found == {path.name for path in site.glob("*.html")}
    page.close()


def test_a_broken_lesson_leaves_no_half_of_a_site(tmp_path: Path) -> None:
    write_lesson(tmp_path / "lessons", "```player\nrun: nowhere\n```\n")
    with pytest.raises(LessonError, match="there is no run 'nowhere'"):
        write_site(tmp_path / "out", lambda name, size: None, tmp_path / "lessons")
    assert not (tmp_path / "out").exists()


def test_the_site_has_no_barrier(chromium: sync_api.Browser, site: Path) -> None:
    for name in ("index", "interview", "claims", "compare"):
        context = chromium.new_context(offline=True)
        watched = Watched(context.new_page(), (site / f"{name}.html").as_uri())
        watched.page.goto((site / f"{name}.html").as_uri())
        expect(watched.page.locator("h1, h2").first).to_be_visible()
        assert watched.errors == []
        assert violations(watched.page) == [], name  # last: axe asks for the style sheet, which the policy refuses
        context.close()


def test_progress_goes_to_another_browser_as_a_file(chromium: sync_api.Browser, site: Path, tmp_path: Path) -> None:
    with opened(chromium, site.as_uri()) as place:
        carry_progress(place, tmp_path)


def test_the_interview_room(chromium: sync_api.Browser, site: Path) -> None:
    with opened(chromium, site.as_uri()) as place:
        visit_the_room(place)


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
        assert card.locator(".mbl-hands li[data-right]").count() == 1
    page.close()


def test_a_clicker_shows_all_of_a_slide_and_tells_before_it_goes_on(chromium: sync_api.Browser, site: Path) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 620})
    blocks = lessons()["chunked"].blocks
    player, question = (next(block for block in blocks if block["kind"] == kind) for kind in ("player", "predict"))
    page.goto((site / "chunked.html").as_uri() + f"?present=1&block={player['key']}")
    page.locator(".mbl-current .mb-player").click()
    count = page.locator(".mbl-count")
    before = count.text_content()
    for _ in range(8):  # a tall slide takes some: the focus is in the player, and the keys are the lesson's
        if count.text_content() == before:
            page.keyboard.press("PageDown")
    expect(count).not_to_have_text(before or "")
    page.goto((site / "chunked.html").as_uri() + f"?present=1&block={question['key']}")
    card = block_of(page, question)
    expect(card).to_be_visible()
    before = count.text_content()
    for _ in range(8):
        if card.get_attribute("data-state") == "open":
            page.keyboard.press("PageDown")
    expect(card).to_have_attribute("data-state", "told")
    expect(card.locator(".mbl-reveal")).to_be_in_viewport()
    assert count.text_content() == before
    page.close()
