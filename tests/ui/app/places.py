"""The two places where lessons stand, the app and the static site, and what is done alike in both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright import sync_api
from playwright.sync_api import expect

from tests.ui.app.driving import SECONDS
from tests.ui.app.lesson_driving import CARDS, block_of, drawn, lessons, solution
from tests.ui.app.room_driving import answer_numbers, draw_whiteboard, hold_interview, take_cards
from tests.ui.browser import Watched


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


@contextmanager
def opened(chromium: sync_api.Browser, root: str) -> Iterator[Place]:
    """A dark page there; the site's has no network. Nothing may be asked of another machine."""
    context = chromium.new_context(offline=root.startswith("file:"), accept_downloads=True, color_scheme="dark")
    watched = Watched(context.new_page(), root)
    yield Place(watched.page, root)
    assert watched.outside == []
    # Streamlit asks for two of its own addresses below the page's, in vain.
    assert [error for error in watched.errors if "404" not in error] == []
    context.close()


def carry_progress(place: Place, tmp_path: Path) -> None:
    """Answer, save to a file, forget, refuse another file, and load what was saved."""
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


def visit_the_room(place: Place) -> None:
    """All that the interview room has."""
    place.open("interview")
    hold_interview(place.page)
    answer_numbers(place.page)
    draw_whiteboard(place.page)
    take_cards(place.page)
