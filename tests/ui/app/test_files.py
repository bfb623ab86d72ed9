"""What files bring in, and what can be taken away."""

from __future__ import annotations

from pathlib import Path

from playwright import sync_api
from playwright.sync_api import expect

from minibatch.recording.storage import load
from minibatch.ui.player.page import page_html
from tests.ui.app.driving import SECONDS, fields, open_player
from tests.ui.browser import ROOT, Watched, served
from tests.ui.recordings import HTML, IMAGE


def test_what_a_file_says_of_itself_is_text_and_asks_no_other_machine(
    context: sync_api.BrowserContext, address: str
) -> None:
    watched = open_player(context, f"{address}/?recording=odd")
    expect(watched.player.locator(".mb-policy")).to_have_text(IMAGE)
    hostile = open_player(context, f"{address}/?recording=hostile")
    expect(hostile.player.locator("h2").first).to_have_text(HTML)
    hostile.state("p.store.set({pinned: 1, position: p.store.end})")
    expect(hostile.player.locator(".mbw-story")).to_contain_text(HTML)
    for page in (watched, hostile):
        assert page.page.locator("img[src=x], img[src*='127.0.0.2']").count() == 0
        assert page.outside == []
    twice = context.new_page()
    twice.goto(f"{address}/?recording=twice")
    expect(twice.get_by_role("alert")).to_contain_text(IMAGE, timeout=SECONDS)


def test_an_exported_page_plays_offline_with_everything_in_it(
    chromium: sync_api.Browser, context: sync_api.BrowserContext, address: str, tmp_path: Path
) -> None:
    watched = open_player(context, f"{address}/?recording=hostile")
    with watched.page.expect_download(timeout=SECONDS) as download:
        watched.page.get_by_text("Export", exact=True).click()
        watched.page.get_by_role("button", name="Page that plays offline (.html)").click()
    path = tmp_path / "page.html"
    download.value.save_as(path)
    assert HTML not in path.read_text(encoding="utf-8")
    offline = chromium.new_context(offline=True, accept_downloads=True)
    page = Watched(offline.new_page(), path.as_uri())
    page.page.goto(f"{path.as_uri()}?t=20000000&focus=static&pin=1&speed=4&view=close&loop=0-30000000")
    expect(page.player.locator(".mb-lane")).to_have_count(2)
    expect(page.player.locator(".mb-right canvas").first).to_be_attached(timeout=SECONDS)
    moment = fields(page, "position", "focus", "pinned", "speed", "view", "loop")
    assert moment == [20000000, 0, 1, 4, "close", [0, 30000000]]
    expect(page.player.locator(".mbw-story")).to_contain_text(HTML)
    expect(page.player.locator(".mbw-card").first).to_contain_text("static · step 2")
    page.player.get_by_role("button", name="Predict the next step")
    assert page.player.get_by_role("button", name="What if…").count() == 0
    with page.page.expect_download() as picture:
        page.player.get_by_role("button", name="Picture (PNG)").click()
    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    with page.page.expect_download(timeout=SECONDS) as film:
        page.state("(p.store.set({loop: [0, 2000000]}), 0)")
        page.player.get_by_role("button", name="Film (WebM)").click()
    assert film.value.path().read_bytes()[:4] == b"\x1a\x45\xdf\xa3"
    with page.page.expect_download() as table:
        page.player.get_by_role("button", name="Metrics (CSV)").click()
    assert (
        table.value.path().read_text(encoding="utf-8").startswith("metric,unit,static (measured),continuous (measured)")
    )
    assert page.outside == []
    assert page.errors == []
    offline.close()


def test_an_exported_page_can_stand_in_a_frame_of_another_page(chromium: sync_api.Browser, tmp_path: Path) -> None:
    recordings = load(ROOT / "assets" / "recordings" / "identical.mbr")
    (tmp_path / "lesson.html").write_text(page_html(recordings), encoding="utf-8")
    frame = '<iframe src="lesson.html?controls=none&speed=real&loop=0-40000000" width="900" height="600"></iframe>'
    (tmp_path / "index.html").write_text(f"<!doctype html><title>A blog</title>{frame}", encoding="utf-8")
    with served(tmp_path) as url:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{url}/index.html")
        player = page.frame_locator("iframe").locator(".mb-player")
        expect(player.locator(".mb-slots").first).to_be_visible(timeout=SECONDS)
        expect(player.locator(".mb-transport")).to_be_hidden()
        seen = player.evaluate("(e) => [e.player.store.speed, e.player.store.loop, e.player.store.isPlaying]")
        assert seen == ["real", [0, 40000000], True]
        context.close()
