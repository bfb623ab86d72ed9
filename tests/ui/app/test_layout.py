"""The page at its three widths, light and dark, presented, and alone on its machine."""

from __future__ import annotations

import pytest
from playwright import sync_api
from playwright.sync_api import expect

from tests.ui.app.driving import open_player, wait_until


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark"), (1920, "light")])
def test_draws_lanes_and_charts_alone_and_within_the_window(
    chromium: sync_api.Browser, address: str, width: int, scheme: str
) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    watched = open_player(context, f"{address}/?recording=chat")
    page, player = watched.page, watched.player
    lanes = player.locator(".mb-lane:visible")
    assert lanes.count() == (1 if width == 390 else 4)
    expect(lanes.first.locator(".mb-done")).to_contain_text("done")
    boxes = [box for canvas in player.locator(".mb-slots:visible").all() if (box := canvas.bounding_box())]
    assert len({(box["x"], box["width"]) for box in boxes}) == 1
    overflow = page.evaluate(
        "[document.documentElement, document.querySelector('[data-testid=stMain]')]"
        ".map(element => element.scrollWidth - element.clientWidth)"
    )
    assert overflow == [0, 0]
    dark = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor") == "rgb(20, 23, 27)"
    assert dark == (scheme == "dark")
    assert watched.state("p.theme.isDark") == dark
    colours = player.locator(".mb-slots:visible").first.evaluate(
        "(canvas) => { const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
        " return new Set(Array.from({length: data.length / 4}, (_, k) => data.slice(4 * k, 4 * k + 3).join())).size; }"
    )
    assert colours > 20
    assert watched.outside == []
    assert watched.errors == []
    context.close()


def test_a_narrow_page_shows_one_lane_at_a_time(chromium: sync_api.Browser, address: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 900})
    watched = open_player(context, f"{address}/?recording=small")
    watched.player.get_by_role("group", name="Lane").get_by_role("button", name="static").click()
    expect(watched.player.locator(".mb-lane:visible .mb-policy")).to_have_text("static")
    context.close()


def test_present_mode_hides_all_else(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=chat")
    watched.page.set_viewport_size({"width": 1920, "height": 1080})
    watched.player.press("p")
    wait_until(watched, "p.theme.scale > 1")
    box = watched.player.bounding_box()
    assert box == {"x": 0, "y": 0, "width": 1920, "height": 1080}
    last = watched.player.locator(".mb-lane").last.bounding_box()
    assert last
    assert last["y"] + last["height"] <= 1080
    watched.player.press("Escape")
    wait_until(watched, "p.theme.scale === 1")
