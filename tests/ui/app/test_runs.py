"""Runs on the real engine, watched while they go on."""

from __future__ import annotations

from playwright import sync_api
from playwright.sync_api import expect

from tests.ui.app.driving import SECONDS, wait_until
from tests.ui.browser import Watched
from tests.ui.recordings import HTML


def test_a_run_in_progress_plays_and_can_be_cancelled(context: sync_api.BrowserContext, address: str) -> None:
    page = context.new_page()
    watched = Watched(page, address)
    page.goto(address)
    page.get_by_text("New run").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(watched.player).to_be_attached(timeout=180_000)
    wait_until(watched, "p.store.comparison.options.live && p.store.isFollowing", 180_000)
    node = watched.player.evaluate_handle("(element) => element")
    seen = watched.state("p.store.runs.at(-1).n")
    wait_until(watched, f"p.store.runs.length > 1 || p.store.runs[0].n > {seen}", SECONDS)
    wait_until(watched, "p.store.position > 0", SECONDS)
    watched.player.press("ArrowLeft")
    assert watched.state("[p.store.isFollowing, p.store.isPlaying]") == [False, False]
    watched.player.press("f")
    assert watched.state("[p.store.isFollowing, p.store.isPlaying]") == [True, True]
    page.get_by_role("button", name="Cancel").click()
    wait_until(watched, "!p.store.comparison.options.live", SECONDS)
    assert watched.player.evaluate("(element, before) => element === before", node) is True
    expect(watched.player.locator(".mb-badges")).to_contain_text("cancelled before the end")
    expect(page.locator(".mb-metrics").first).to_be_attached(timeout=SECONDS)
    assert watched.errors == []


def test_typed_prompts_run_on_the_real_engine(context: sync_api.BrowserContext, address: str) -> None:
    page = context.new_page()
    watched = Watched(page, address)
    page.goto(address)
    page.get_by_text("New run").click()
    page.get_by_role("combobox", name="Workload").click()
    page.get_by_role("option", name="Your own prompts").click()
    page.get_by_label("Prompts, one a line").fill(f"{HTML} upon a time\nThe fox said")
    page.get_by_label("max_tokens", exact=True).fill("8")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(".mb-metrics", timeout=180_000)
    expect(watched.player.locator(".mb-lane")).to_have_count(4)
    expect(watched.player.locator(".mb-badge").first).to_contain_text("measured")
    watched.state("p.store.set({pinned: 0, position: p.store.end})")
    expect(watched.player.locator(".mbw-story")).to_contain_text(f"{HTML} upon a time")
    assert watched.player.locator("img").count() == 0
    # Who looks at another page and comes back finds the form and the run as they were.
    page.get_by_role("link", name="Load").click()
    expect(page.get_by_role("textbox", name="Loads")).to_be_visible(timeout=SECONDS)
    page.get_by_role("link", name="Compare").click()
    expect(page.get_by_label("Prompts, one a line")).to_have_value(f"{HTML} upon a time\nThe fox said", timeout=SECONDS)
    expect(watched.player.locator(".mb-lane")).to_have_count(4, timeout=SECONDS)


def test_a_trace_is_served_on_a_machine_that_is_not_here(context: sync_api.BrowserContext, address: str) -> None:
    page = context.new_page()
    watched = Watched(page, address)
    page.goto(f"{address}/?scenario=chat&clock=modelled&accelerator=H200&model=llama-3.1-8b&policies=chunked")
    page.wait_for_selector(".mb-metrics", timeout=SECONDS)
    expect(page.locator(".mb-figures")).to_contain_text("secondary")
    page.get_by_role("combobox", name="Workload").click()
    page.get_by_role("option", name="A trace").click()
    rows = "arrival_s,prompt_tokens,output_tokens\n0,300,8\n2,400,8\n"
    page.locator("input[type=file]").set_input_files({"name": "t.csv", "mimeType": "", "buffer": rows.encode()})
    expect(page.get_by_text("Trace: 2 requests in 2.00 s")).to_be_visible(timeout=SECONDS)
    page.get_by_role("spinbutton", name="speed").fill("4")
    page.get_by_role("spinbutton", name="speed").press("Enter")
    expect(page.get_by_text("Trace: 2 requests in 0.500 s")).to_be_visible(timeout=SECONDS)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(watched.player).to_contain_text("Trace t.csv", timeout=SECONDS)
    expect(watched.player).to_contain_text("2 requests over 0.5 s, 4x faster.")
    expect(watched.player.locator(".mb-badge").first).to_contain_text("modelled")
    assert watched.errors == []
