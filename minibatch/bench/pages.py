"""How soon each page of the static site can be used, in a headless Chromium. Printed, never tested."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # of the tests' requirements
    from playwright import sync_api

VISITS = 3
SLOW = 4
"""How many times slower than this machine a modest phone is taken to be."""
CONTROLS = ".mbl-card :is(input, button:enabled), .mbl-list a, .mbr-primary, .mb-player button:enabled, .mbl-claims"
"""What is used first: a card, the first lesson, the start of an interview, the buttons of a player, a table."""

# Clicks the first control as soon as there is one, and notes when that click is heard; and long tasks.
_WATCH = f"""
window.opening = {{ usable: 0, quiet: 0, longest: 0 }};
const note = (entries) => {{
  for (const {{ startTime, duration }} of entries) {{
    opening.longest = Math.max(opening.longest, duration);
    opening.quiet = Math.max(opening.quiet, startTime + duration);
  }}
}};
const observer = new PerformanceObserver((list) => note(list.getEntries()));
observer.observe({{ type: "longtask", buffered: true }});
window.noteWhatWaits = () => note(observer.takeRecords());
const look = () => {{
  const control = document.querySelector("{CONTROLS}");
  if (!control) return requestAnimationFrame(look);
  control.addEventListener("click", (event) => {{
    event.preventDefault();
    event.stopImmediatePropagation();
    opening.usable = performance.now();
  }}, {{ once: true, capture: true }});
  setTimeout(() => control.click());
}};
requestAnimationFrame(look);
"""
# What was noted, once nothing was busy for half a second, or after ten seconds. Waits by itself, because the page's
# policy forbids what Playwright would do.
_SETTLED = """
new Promise((done) => {
  const ask = () => {
    noteWhatWaits(); // a busy machine is late to call the observer
    const isOver = opening.usable && performance.now() > Math.max(opening.quiet, opening.usable) + 500;
    if (isOver || performance.now() > 10_000) done({ ...opening, usable: opening.usable || performance.now() });
    else setTimeout(ask, 100);
  };
  ask();
})
"""


@dataclass(frozen=True, slots=True)
class Opening:
    """What it was like to open a page, in ms; medians of some visits.

    Attributes:
        usable: from navigation until the first control answered.
        quiet: from navigation until the last long task was over; 0 where there was none.
        longest: the longest task, during which the page answers nothing.
    """

    usable: float
    quiet: float
    longest: float


def openings(browser: sync_api.Browser, site: Path, slower: int = 1) -> Iterator[tuple[str, Opening]]:
    """Every page of a site, opened on a processor so many times slower than this one."""
    for page in sorted(site.glob("*.html")):
        visits = [_visit(browser, page.as_uri(), slower) for _ in range(VISITS)]
        yield page.stem, Opening(*(statistics.median(each) for each in zip(*visits, strict=True)))


def _visit(browser: sync_api.Browser, url: str, slower: int) -> tuple[float, float, float]:
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.add_init_script(_WATCH)
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(url)
    found = page.evaluate(_SETTLED)
    context.close()
    return found["usable"], found["quiet"], found["longest"]
