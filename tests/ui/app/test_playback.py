"""Playing, stepping, scrubbing, jumping and looping, by mouse, keys and clicker."""

from __future__ import annotations

import pytest
from playwright import sync_api
from playwright.sync_api import expect

from tests.ui.app.driving import SECONDS, load_small, open_player, ticks, wait_until
from tests.ui.browser import Watched


def test_plays_pauses_steps_scrubs_and_jumps_by_mouse_and_keys(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small")
    player = watched.player
    runs = load_small()
    chunked = runs["chunked"]
    start, n = chunked.iterations["start_ns"].tolist(), chunked.num_iterations

    player.get_by_role("button", name="Play (Space)").click()
    expect(player.get_by_role("button", name="Pause (Space)")).to_be_visible()
    wait_until(watched, "p.store.position > 0")
    player.get_by_role("button", name="Pause (Space)").click()
    assert watched.state("p.store.isPlaying") is False

    player.press("Home")
    for expected in (1, 2, 3):
        player.press("ArrowRight")
        assert watched.state("p.store.position") == start[expected]
        assert ticks(watched) == expected
    player.press("ArrowLeft")
    assert ticks(watched) == 2
    player.get_by_role("button", name="One step forward (→)").click()
    assert ticks(watched) == 3

    player.press("Home")
    player.get_by_label("Event to jump to").select_option("finish")
    # A finish is noted before the step that follows its own.
    finishes = sorted({i - 1 for i, reason in chunked.each_reason() if reason.code.startswith("finished_")})
    for expected in finishes[:2]:
        player.press("Shift+ArrowRight")
        assert watched.state("p.store.position") == start[expected]
    player.press("PageUp")  # a clicker's key
    assert watched.state("p.store.position") == start[finishes[0]]

    slider = player.get_by_label("Playhead")
    slider.fill("0.5")
    assert watched.state("p.store.position / p.store.end") == pytest.approx(0.5)
    player.press("End")
    assert ticks(watched) == -1
    assert "after the last step" in player.locator(".mb-step").inner_text()

    player.press("1")
    assert watched.state("p.store.runs[p.store.focus].policy") == "static"
    player.press("+")
    assert watched.state("p.store.speed") == 2
    player.press("x")
    assert watched.state("[p.store.axis, p.store.end]") == [
        "iterations",
        max(run.num_iterations for run in runs.values()),
    ]
    player.press("z")
    assert watched.state("p.store.view") == "close"
    player.press("?")
    expect(player.get_by_role("dialog", name="Keys")).to_be_visible()
    player.press("Escape")
    assert n < 200


def test_keys_are_left_alone_while_someone_types(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small")
    player = watched.player
    player.press("ArrowRight")
    player.get_by_role("button", name="Link").click()
    field = player.get_by_role("textbox", name="Link")
    before = watched.state("p.store.position")
    for key in ("ArrowRight", "1", "x", " "):
        field.press(key)
    assert watched.state("[p.store.position, p.store.axis, p.store.focus, p.store.isPlaying]") == [
        before,
        "time",
        3,
        False,
    ]


def test_a_loop_plays_its_range_again(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small")
    watched.state("p.store.set({loop: [0, p.store.end / 20], speed: 16})")
    watched.state("window.positions = []")
    watched.state("p.store.subscribe(() => window.positions.push(p.store.position))")
    watched.state("p.store.set({isPlaying: true})")
    watched.page.wait_for_function("window.positions.filter((at, k) => at < window.positions[k - 1]).length >= 2")
    assert watched.state("Math.max(...window.positions) <= p.store.loop[1]") is True


def test_reduced_motion_starts_still_and_steps(chromium: sync_api.Browser, address: str) -> None:
    context = chromium.new_context(reduced_motion="reduce", viewport={"width": 1440, "height": 1000})
    watched = Watched(context.new_page(), address)
    watched.page.goto(f"{address}/?recording=small")
    expect(watched.player.locator(".mb-lane").first).to_be_attached(timeout=SECONDS)
    assert watched.state("[p.store.isPlaying, p.store.position]") == [False, 0]
    watched.state("(window.seen = new Set(), p.store.subscribe(() => window.seen.add(p.store.position)), 0)")
    watched.state("p.store.set({isPlaying: true, speed: 4})")
    watched.page.wait_for_function("window.seen.size > 3")
    starts = set(watched.state("[...p.store.runs[p.store.focus].start]"))  # type: ignore[call-overload]
    assert set(watched.page.evaluate("[...window.seen]")) <= starts | {0}
    context.close()
