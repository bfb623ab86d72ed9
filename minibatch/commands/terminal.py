"""What the commands print: tables, progress and errors."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from minibatch.analysis.load_advice import too_little_load
from minibatch.analysis.metrics import Metrics, compute_metrics
from minibatch.analysis.provenance import machine_in_words
from minibatch.analysis.shown_metrics import ROWS, best_of_row, headlines, requests_in_words
from minibatch.recording.schema import Recording

if TYPE_CHECKING:  # the engine imports torch, which takes seconds
    from minibatch.engine.session import JobProgress, OnProgress


PIPE_WIDTH = 160
"""Columns of a wide table that goes into a file or a pipe, where no terminal says how many fit."""


def wide_console() -> Console:
    """For tables with sentences in them: as wide as the terminal, or PIPE_WIDTH."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def fail(error: Exception) -> int:
    """Say in one sentence on stderr what is wrong; returns the exit status."""
    if isinstance(error, OSError) and error.strerror:
        where = f": {os.fsdecode(error.filename)}" if error.filename else ""
        message = f"{error.strerror}{where}"
    else:
        message = str(error) or "out of memory"
    print(f"minibatch: error: {' '.join(message.split())}", file=sys.stderr)
    return 2


def describe(recording: Recording, runs: Sequence[Metrics]) -> str:
    """One line: what ran on what, measured or modelled, and how many requests; `runs` are all that are compared."""
    header = recording.header
    return (
        f"{machine_in_words(header)} · model {header.model} · {header.dtype} · "
        f"{header.scenario}, seed {header.seed} · {requests_in_words(len(recording.requests), runs)}"
    )


def metrics_table(recordings: Sequence[Recording], everything: bool = False) -> Table:
    """A row a metric, a column a policy, the best value of each row marked."""
    runs = [compute_metrics(recording) for recording in recordings]
    table = Table(box=box.SIMPLE_HEAD, title=Text(describe(recordings[0], runs)), title_justify="left")
    table.add_column("")
    for recording in recordings:
        header = recording.header
        table.add_column(Text(header.policy if header.complete else f"{header.policy} (cut short)"), justify="right")
    table.add_column("")
    group, shown_keys, idle = "", headlines(runs), too_little_load(recordings)
    for row in ROWS:
        if not everything and row.key not in shown_keys:
            continue
        if everything and row.group != group:
            table.add_section()
            table.add_row(Text(row.group, style="bold"))
        group = row.group
        shown = [row.show(run[row.key]) for run in runs]
        cells = [
            Text(f"{text} {'*' if best and not idle else ' '}", style="bold" if best and not idle else "")
            for text, best in zip(shown, best_of_row(row, runs, shown), strict=True)
        ]
        table.add_row(Text(row.words if everything else row.brief or row.words), *cells, Text(row.unit))
    table.caption = Text(idle or "* best of the row")
    table.caption_justify = "left"
    return table


@contextmanager
def job_progress(show: bool = True) -> Iterator[OnProgress]:
    """A progress bar on stderr for a job: the policy that runs and how many requests are done."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not (show and console.is_terminal)) as bars:
        task = bars.add_task("loading", total=None, done="")

        def report(progress: JobProgress) -> None:
            done = progress.policy_index * progress.num_requests + progress.num_finished
            bars.update(
                task,
                description=progress.policy,
                total=progress.num_policies * progress.num_requests,
                completed=done,
                done=f"{progress.num_finished} of {progress.num_requests} requests",
            )

        yield report


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """A function that turns true at the first Ctrl-C; the second one interrupts as usual."""
    stopped = False

    def handle(signum: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        signal.signal(signal.SIGINT, previous)

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: stopped
    finally:
        signal.signal(signal.SIGINT, previous)
