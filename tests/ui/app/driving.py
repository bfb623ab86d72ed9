"""Opening the player in a page and driving it."""

from __future__ import annotations

import re

from playwright import sync_api
from playwright.sync_api import expect

from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of
from tests.ui.browser import Watched

SECONDS = 60_000
"""Milliseconds that a busy machine may take."""

POLICIES = ("static", "dynamic", "continuous", "chunked")
LONG_PROMPT = [(6, 40), (5, 40), (7, 40), (90, 8, 12.0), (6, 12, 20.0)]
"""(prompt, output[, arrival in ms]): three write when a long prompt arrives."""


def small(policy: str) -> Recording:
    config = SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=16, max_model_len=128, num_kv_blocks=64)
    return record(requests_of(LONG_PROMPT), policy, config)


def load_small() -> dict[str, Recording]:
    return {policy: small(policy) for policy in POLICIES}


def open_player(context: sync_api.BrowserContext, url: str) -> Watched:
    """The page at `url` when its player has drawn, standing still at the start unless the link says otherwise."""
    watched = Watched(context.new_page(), url.partition("?")[0].rstrip("/"))
    watched.page.goto(url)
    expect(watched.player.locator(".mb-lane").first).to_be_attached(timeout=SECONDS)
    expect(watched.player.locator(".mb-right canvas").first).to_be_attached(timeout=SECONDS)
    if "t=" not in url:
        watched.state("(p.store.set({isPlaying: false}), p.store.set({position: 0}))")
    return watched


def ticks(watched: Watched) -> int:
    """The step that the transport names, once the frame is drawn."""
    next_frame(watched)
    words = watched.player.locator(".mb-step").inner_text()
    found = re.search(r"step (\d+)$", words)
    return int(found[1]) if found else -1


def wait_until(watched: Watched, expression: str, timeout: float = 30_000) -> None:
    """Wait for a condition on the player, asked at every frame."""
    handle = watched.player.evaluate_handle("(element) => element.player")
    watched.page.wait_for_function(f"(p) => {expression}", arg=handle, timeout=timeout)


def next_frame(watched: Watched) -> None:
    """Wait until what has changed is drawn."""
    watched.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")


def pixels(watched: Watched, selector: str) -> str:
    return str(watched.player.locator(selector).first.evaluate("(canvas) => canvas.toDataURL()"))


def fields(watched: Watched, *names: str) -> list[object]:
    """Fields of the player's store."""
    return [watched.state(f"p.store.{name}") for name in names]
