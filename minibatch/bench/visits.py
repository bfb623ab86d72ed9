"""The parts of `bench-player`, each reported as soon as it is measured."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from minibatch.bench.cold_start import ColdStart, cold_start
from minibatch.bench.pages import SLOW, openings
from minibatch.bench.player import SLOTS, SMOOTH_MS, TIMES, Bench, comparison
from minibatch.bench.report import Measured, Report
from minibatch.ui.lessons.site import write_site
from minibatch.ui.player.page import page_html
from minibatch.ui.shared.headless import app_server, chromium

if TYPE_CHECKING:  # of the tests' requirements
    from playwright import sync_api

WIDTH, HEIGHT = 1440, 1000
ROUNDS = 3
"""Looks at what a page holds, after the first: the browser's own caches fill in the first rounds, leaks in all."""
VIEWS = (("whole", "whole run", False), ("close", "close-up", False), ("whole", "charts", True))
"""The player's view, what it is called, and whether the charts are in the window instead of the lanes."""


def bench_player(parts: Sequence[str], seconds: float, profile: Path | None, quick: bool, report: Report) -> None:
    """Some parts of "frames", "growth", "pages", "app" and "cold"; `seconds` are of each sample of frames."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        if "cold" in parts:
            _cold(browser, 1 if quick else 3, report)
        if {"frames", "growth"} & set(parts):
            page = _made_page(Path(folder), report)
            if "frames" in parts:
                _frames(browser, page, seconds, profile, (1,) if quick else (1, 2), report)
            if "growth" in parts:
                _page_growth(browser, page, report)
        if "pages" in parts:
            _pages(browser, Path(folder) / "site", report)
        if "app" in parts:
            _app(browser, report)


def _cold(browser: sync_api.Browser, times: int, report: Report) -> None:
    """Starts of the app one after the other; those that were whole are reported where it is stopped."""
    starts: list[ColdStart] = []
    try:
        for number in range(1, times + 1):
            report.progress(f"cold start {number} of {times}")
            starts.append(cold_start(browser))
    finally:
        if starts:
            names = [field.name for field in fields(ColdStart)]
            measured = [Measured(name, [getattr(each, name) for each in starts], "s") for name in names]
            report.add(f"cold start of the app, load {_load()}", *measured)


def _made_page(folder: Path, report: Report) -> Path:
    """The page of the made-up comparison."""
    report.progress("serving the comparison")
    runs, labels = comparison()
    page = folder / "player.html"
    page.write_text(page_html(runs, {"autoplay": False}, labels), encoding="utf-8")
    iterations = ", ".join(f"{run.num_iterations:,}" for run in runs)
    report.note(
        f"{len(runs)} lanes of {SLOTS} slots, {iterations} iterations, {len(runs[0].requests)} requests; page of "
        f"{page.stat().st_size / 1000:.0f} kB in a window of {WIDTH} by {HEIGHT}"
    )
    return page


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


@contextmanager
def _opened(browser: sync_api.Browser, own: str, ratio: int = 1, offline: bool = False) -> Iterator[Bench]:
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=ratio, offline=offline, color_scheme="light"
    )
    yield Bench(context.new_page(), own)
    context.close()


def _frames(
    browser: sync_api.Browser, page: Path, seconds: float, folder: Path | None, ratios: Sequence[int], report: Report
) -> None:
    """Playing; times of script and main thread are a frame's, the latter of processor time."""
    for ratio in ratios:
        with _opened(browser, page.as_uri(), ratio, offline=True) as bench:
            report.add(f"player, DPR {ratio}", Measured("start", [bench.open(page.as_uri())], "ms"))
            for view, words, charts in VIEWS:
                report.progress(f"playing: {words}, DPR {ratio}")
                profile = None
                if folder:
                    folder.mkdir(parents=True, exist_ok=True)
                    profile = folder / f"{words.replace(' ', '-')}-{ratio}.cpuprofile"
                frames = bench.play(view, seconds, profile, charts)
                report.add(
                    f"player, {words}, DPR {ratio}, load {_load()}",
                    Measured("rate", [frames.rate], "frames/s"),
                    Measured("95 % of gaps", [frames.gap_95], "ms"),
                    Measured(f"gaps within {SMOOTH_MS} ms", [100 * frames.smooth], "%"),
                    Measured("script", [frames.script_ms], "ms"),
                    Measured("thread", [frames.thread_ms], "ms"),
                )
            report.note(f"requests that left the machine: {bench.left or 'none'}")


def _page_growth(browser: sync_api.Browser, page: Path, report: Report) -> None:
    with _opened(browser, page.as_uri(), offline=True) as bench:
        bench.open(page.as_uri())
        bench.replace(4)
        _growth("the page, given new recordings and another colour scheme", bench, bench.replace, report)


def _growth(what: str, bench: Bench, again: Callable[[int], None], report: Report) -> None:
    """What the page holds after `ROUNDS` times `TIMES` of what `again` does so many times."""
    for count in range(ROUNDS + 1):
        report.progress(f"{what}: {count * TIMES} of {ROUNDS * TIMES} times")
        if count:
            again(TIMES)
        held = bench.standing()
        report.add(
            f"{what}, {count * TIMES} times",
            Measured("heap", [held.heap], "MB"),
            Measured("DOM nodes", [held.nodes]),
            Measured("listeners", [held.listeners]),
            Measured("animation loops", [held.loops]),
        )


def _pages(browser: sync_api.Browser, site: Path, report: Report) -> None:
    report.progress("writing the site")
    write_site(site, lambda name, size: None)
    for slower in (1, SLOW):
        processor = "" if slower == 1 else f", processor {slower} times slower"
        for name, opening in openings(browser, site, slower):
            report.add(
                f"{name}.html{processor}, load {_load()}",
                Measured("first control answers", [opening.usable], "ms"),
                Measured("last long task ends", [opening.quiet], "ms"),
                Measured("longest task", [opening.longest], "ms"),
            )


def _app(browser: sync_api.Browser, report: Report) -> None:
    with app_server() as url:
        starts, lanes, received, left = [], [], [], []
        for visit in range(4):
            report.progress(f"visit {visit + 1} of 4 to the app")
            with _opened(browser, url) as bench:
                starts.append(bench.open(url))
                lanes.append(bench.lanes_ms)
                received.append(bench.received / 1e6)
                left += bench.left
        for visitor, part in (("the first visitor", slice(1)), ("the next three", slice(1, None))):
            report.add(
                f"the app, from navigation, {visitor}, load {_load()}",
                Measured("first frame of the lanes", lanes[part], "ms"),
                Measured("charts as well", starts[part], "ms"),
                Measured("received", received[part], "MB"),
            )
        report.note(f"requests that left the machine: {left or 'none'}")
        with _opened(browser, url) as bench:
            bench.open(url)
            bench.rerun(12)
            _growth("the app, rerun with other type, recordings and colour schemes", bench, bench.rerun, report)
