"""How soon a freshly started app shows something: a new server process, an empty cache folder, a first visitor."""

from __future__ import annotations

import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minibatch.ui.shared.headless import app_server

if TYPE_CHECKING:  # of the tests' requirements
    from playwright import sync_api

FIRST_TITLE, FIRST_LANE = ".mb-brand", ".mb-player"
_LANES_DRAWN = "performance.getEntriesByName('minibatch lanes drawn').length > 0"
_LIMIT_MS = 120_000


@dataclass(frozen=True, slots=True)
class ColdStart:
    """One start of the app, in s.

    Attributes:
        up: from the start of the process until it answers.
        title: from then until Compare's title is there, seen by a browser that was waiting.
        lane: from then until the first frame of its lanes is drawn.
        interview: from a second visitor's navigation until the interview room can be used.
        processor: processor time of the server in all that.
    """

    up: float
    title: float
    lane: float
    interview: float
    processor: float


def cold_start(browser: sync_api.Browser) -> ColdStart:
    """Start the app and visit it; nothing of an earlier start is used but Python's own compiled files."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as cache:
        began = time.perf_counter()
        with app_server(cache=Path(cache)) as url:
            up = time.perf_counter()
            page.goto(url)
            page.locator(FIRST_TITLE).first.wait_for(timeout=_LIMIT_MS)
            title = time.perf_counter()
            page.wait_for_function(_LANES_DRAWN, timeout=_LIMIT_MS)
            lane = time.perf_counter()
            page.goto(f"{url}/interview")
            page.locator(".mbr-primary").first.wait_for(timeout=_LIMIT_MS)
            interview = time.perf_counter()
            context.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ColdStart(up - began, title - up, lane - up, interview - lane, processor)
