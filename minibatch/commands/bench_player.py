"""`bench-player`: how smooth the player is in a headless Chromium, whether it grows, how soon lessons can be used."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from playwright import sync_api

    from minibatch.bench.player import Bench

WIDTH, HEIGHT = 1440, 1000
ROUNDS = 3
"""Looks at what a page holds, after the first: the browser's own caches fill in the first rounds, leaks in all."""
VIEWS = (("whole", "whole run", False), ("close", "close-up", False), ("whole", "charts", True))
"""The player's view, what it is called, and whether the charts are in the window instead of the lanes."""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("bench-player", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="of each sample of frames (default: 10)")
    parser.add_argument("--profile", type=Path, metavar="FOLDER", help="write a CPU profile of each sample there")
    parser.add_argument("--only", choices=("frames", "growth", "pages", "app"), help="one part alone")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from minibatch.ui.shared.headless import chromium

    if not options.seconds > 0:
        raise ValueError(f"--seconds is {options.seconds}: use a positive number")
    console = Console()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        if options.only in (None, "frames", "growth"):
            page = _made_page(Path(folder), console)
            if options.only in (None, "frames"):
                _frames(browser, page, options, console)
            if options.only in (None, "growth"):
                _page_growth(browser, page, console)
        if options.only in (None, "pages"):
            _pages(browser, Path(folder) / "site", console)
        if options.only in (None, "app"):
            _app(browser, console)
    return 0


def _made_page(folder: Path, console: Console) -> Path:
    """The page of the made-up comparison, and a word about its size."""
    from minibatch.bench import player as bench
    from minibatch.ui.player.bundle import page_script, styles
    from minibatch.ui.player.page import page_html
    from minibatch.ui.player.payload import pack
    from minibatch.ui.player.runtime import vega_runtime

    with console.status("serving the comparison"):
        runs, labels = bench.comparison()
        text = page_html(runs, {"autoplay": False}, labels)
        recordings = len(pack(runs, labels=labels))
    page = folder / "player.html"
    page.write_text(text, encoding="utf-8")
    vega = len(vega_runtime().encode())
    own = len(page_script().encode()) + len(styles().encode()) - vega
    console.print(
        f"{len(runs)} lanes of {bench.SLOTS} slots, {', '.join(f'{run.num_iterations:,}' for run in runs)} iterations, "
        f"{len(runs[0].requests)} requests; window of {WIDTH} by {HEIGHT}; {os.cpu_count()} cores"
    )
    console.print(
        f"recordings {recordings / 1000:.0f} kB, player {own / 1000:.0f} kB, Vega {vega / 1000:.0f} kB, "
        f"page {page.stat().st_size / 1000:.0f} kB"
    )
    return page


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


@contextmanager
def _opened(browser: sync_api.Browser, own: str, ratio: int = 1, offline: bool = False) -> Iterator[Bench]:
    from minibatch.bench.player import Bench

    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=ratio, offline=offline, color_scheme="light"
    )
    yield Bench(context.new_page(), own)
    context.close()


def _frames(browser: sync_api.Browser, page: Path, options: argparse.Namespace, console: Console) -> None:
    from minibatch.bench.player import SMOOTH_MS

    title = "Playing; script and main thread: ms a frame, the latter of processor time"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("view", "DPR", "frames/s", "95 % of gaps", f"≤ {SMOOTH_MS} ms", "script", "thread", "load"):
        table.add_column(name, justify="left" if name == "view" else "right")
    starts, left = [], []
    for ratio in (1, 2):
        with _opened(browser, page.as_uri(), ratio, offline=True) as bench:
            starts.append(bench.open(page.as_uri()))
            for view, words, charts in VIEWS:
                profile = None
                if options.profile:
                    options.profile.mkdir(parents=True, exist_ok=True)
                    profile = options.profile / f"{words.replace(' ', '-')}-{ratio}.cpuprofile"
                frames = bench.play(view, options.seconds, profile, charts)
                table.add_row(
                    words, str(ratio), f"{frames.rate:.0f}", f"{frames.gap_95:.1f} ms", f"{frames.smooth:.1%}",
                    f"{frames.script_ms:.1f}", f"{frames.thread_ms:.1f}", _load(),
                )  # fmt: skip
            left += bench.left
    console.print(table)
    console.print(
        f"start {' and '.join(f'{ms:.0f}' for ms in starts)} ms; requests that left the machine: {left or 'none'}"
    )


def _page_growth(browser: sync_api.Browser, page: Path, console: Console) -> None:
    with _opened(browser, page.as_uri(), offline=True) as bench:
        bench.open(page.as_uri())
        bench.replace(4)
        _growth("The page, given new recordings and another colour scheme", bench, bench.replace, console)


def _growth(title: str, bench: Bench, again: Callable[[int], None], console: Console) -> None:
    """What the page holds after `ROUNDS` times `TIMES` of what `again` does so many times."""
    from minibatch.bench.player import TIMES

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("times", "heap", "DOM nodes", "listeners", "animation loops"):
        table.add_column(name, justify="right")
    for count in range(ROUNDS + 1):
        if count:
            again(TIMES)
        held = bench.standing()
        heap, loops = f"{held.heap:.1f} MB", f"{held.loops:.2f}"
        table.add_row(str(count * TIMES), heap, str(held.nodes), str(held.listeners), loops)
    console.print(table)


def _pages(browser: sync_api.Browser, site: Path, console: Console) -> None:
    from minibatch.bench.pages import SLOW, openings
    from minibatch.ui.lessons.site import write_site

    with console.status("writing the site"):
        write_site(site, lambda name, size: None)
    title = f"Pages of the site, from navigation: ms; in brackets on a processor {SLOW} times slower"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("page", "kB", "first control answers", "last long task ends", "longest task", "load"):
        table.add_column(name, justify="left" if name == "page" else "right")
    for (name, here), (_, there) in zip(openings(browser, site), openings(browser, site, SLOW), strict=True):
        size = f"{(site / f'{name}.html').stat().st_size / 1000:.0f}"
        pairs = ((here.usable, there.usable), (here.quiet, there.quiet), (here.longest, there.longest))
        table.add_row(name, size, *(f"{ms:.0f} ({slow:.0f})" for ms, slow in pairs), _load())
    console.print(table)


def _app(browser: sync_api.Browser, console: Console) -> None:
    from minibatch.ui.shared.headless import app_server

    with app_server() as url:
        starts, lanes, received, left = [], [], [], []
        for _ in range(4):
            with _opened(browser, url) as bench:
                starts.append(bench.open(url))
                lanes.append(bench.lanes_ms)
                received.append(bench.received)
                left += bench.left
        console.print(
            f"The app, from navigation to the first frame of the lanes: {_visits(lanes)}; to the charts as well: "
            f"{_visits(starts)}; {statistics.median(received) / 1e6:.2f} MB received; load {_load()}; "
            f"requests that left the machine: {left or 'none'}"
        )
        with _opened(browser, url) as bench:
            bench.open(url)
            bench.rerun(12)
            _growth("The app, rerun with other type, recordings and colour schemes", bench, bench.rerun, console)


def _visits(times_ms: Sequence[float]) -> str:
    """The median of all visits but the first, and their range."""
    first, *rest = times_ms
    return f"{statistics.median(rest):.0f} ms ({min(rest):.0f}–{max(rest):.0f}; {first:.0f} for the first visitor)"
