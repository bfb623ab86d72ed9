"""Links that bring back what was shown."""

from __future__ import annotations

from playwright import sync_api
from playwright.sync_api import expect

from tests.ui.app.driving import SECONDS, fields, open_player, wait_until


def test_a_link_brings_back_recording_moment_focus_and_request(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small")
    watched.state("(p.store.set({focus: 1, pinned: 3, view: 'close', speed: 4}), p.store.set({position: 23456789}))")
    watched.player.get_by_role("button", name="Link").click()
    link = watched.player.get_by_role("textbox", name="Link").input_value()
    again = open_player(context, link)
    assert again.state("p.store.runs[p.store.focus].policy") == "dynamic"
    assert fields(again, "pinned", "view", "speed", "position", "isPlaying") == [3, "close", 4, 23456789, False]
    assert again.state("p.store.comparison.options.id") == watched.state("p.store.comparison.options.id")


def test_a_link_brings_back_a_run_with_its_knobs(context: sync_api.BrowserContext, address: str) -> None:
    run = "scenario=kv-squeeze&clock=modelled&seed=3&num_kv_blocks=80&policies=continuous,chunked"
    watched = open_player(context, f"{address}/?{run}&t=1000000&pin=2")
    wait_until(watched, "!p.store.comparison.options.live", SECONDS)
    runs = watched.state("p.store.runs.map((run) => [run.policy, run.clock, run.seed, run.config.num_kv_blocks])")
    assert runs == [["continuous", "modelled", 3, 80], ["chunked", "modelled", 3, 80]]
    assert watched.state("[p.store.position, p.store.pinned]") == [1000000, 2]
    shared = str(watched.state("p.share.link()"))
    for part in ("scenario=kv-squeeze", "seed=3", "num_kv_blocks=80", "policies=continuous%2Cchunked", "pin=2"):
        assert part in shared


def test_a_link_that_makes_no_sense_is_one_sentence(context: sync_api.BrowserContext, address: str) -> None:
    page = context.new_page()
    page.goto(f"{address}/?recording=<b>nowhere</b>")
    expect(page.get_by_role("alert")).to_contain_text(
        "the recording '<b>nowhere</b>', which is not here", timeout=SECONDS
    )
