"""`bench-sweep`: how fast modelled runs are: a whole sweep, many requests, and against one iteration at a time."""

from __future__ import annotations

import argparse
import os
import statistics
import time
import tracemalloc
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from minibatch.analysis.registry.accelerators import find_accelerator
from minibatch.analysis.registry.models import find_shape
from minibatch.commands.sweep import default_config
from minibatch.engine.summary_recorder import SummaryRecorder
from minibatch.engine.sweep import Point, SweepSpec, engine_of, executor_of, run_point, run_points
from minibatch.scheduling import POLICIES
from minibatch.workload.demand import Demand, Load, drawn_demand, trace_demand
from minibatch.workload.traces import Scaling

ACCELERATOR, MODEL = "H100", "llama-3.1-8b"
RATES = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 40.0, 48.0)
RATE = 5.4
"""Requests/s of the runs of many requests: about what a busy hour of a chat service brings."""
LENGTHS = ("lognormal:1024:1.0", "lognormal:192:0.8")
GROWTH = (1_000, 3_000, 10_000)


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("bench-sweep", help=__doc__.split(": ", 1)[1], description=__doc__)
    parser.add_argument("--trace", type=Path, metavar="FILE", help="take the lengths of many requests from there")
    parser.add_argument("--million", action="store_true", help="go on to 100,000 and 1,000,000 requests: minutes")
    parser.add_argument("--rounds", type=int, default=5, help="of the comparison with one iteration at a time")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    if options.rounds < 1:
        raise ValueError(f"--rounds is {options.rounds}: use 1 or more")
    console, workers = Console(), os.cpu_count() or 1
    spec = _study(drawn_demand(1_000, *LENGTHS, seed=0))
    config = default_config(spec, {})
    points = [Point(policy, Load("rate", rate), config) for policy in POLICIES for rate in RATES]
    began = time.perf_counter()
    with executor_of("processes", workers) as executor:
        count = sum(1 for _ in run_points(spec, points, executor, workers))
    console.print(
        f"{count} points of 1,000 requests ({len(POLICIES)} policies, {len(RATES)} loads): "
        f"{time.perf_counter() - began:.1f} s on {workers} cores, starting them included; load {os.getloadavg()[0]:.1f}"
    )
    _ratio(spec, options.rounds, console)
    _growth((*GROWTH, 100_000, 1_000_000) if options.million else GROWTH, options.trace, console)
    return 0


def _study(demand: Demand) -> SweepSpec:
    return SweepSpec(demand, find_shape(MODEL), find_accelerator(ACCELERATOR).ceilings(), MODEL)


def _ratio(spec: SweepSpec, rounds: int, console: Console) -> None:
    """Both ways of one chunked run, in turn, in this process."""
    point = Point("chunked", Load("rate", RATE), default_config(spec, {}))
    ratios = []
    for _ in range(rounds):
        slow, fast = (_seconds(spec, point, fast_forward) for fast_forward in (False, True))
        ratios.append(slow / fast)
    console.print(
        f"Without fast-forward, 1,000 requests at {RATE:g}/s under chunked take {statistics.median(ratios):.1f} "
        f"({min(ratios):.1f}–{max(ratios):.1f}) times as long as with it"
    )


def _seconds(spec: SweepSpec, point: Point, fast_forward: bool) -> float:
    engine = engine_of(spec, point, SummaryRecorder(point.config.num_kv_blocks, spec.ceilings.ridge), fast_forward)
    began = time.perf_counter()
    engine.run()
    return time.perf_counter() - began


def _growth(counts: tuple[int, ...], trace: Path | None, console: Console) -> None:
    """Time and memory of ever more requests, without records of iterations."""
    title = f"chunked at {RATE:g}/s, {MODEL} on {ACCELERATOR}, one core; memory traced in a run of its own"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("requests", "iterations", "time", "requests/s", "memory", "a request"):
        table.add_column(name, justify="right")
    for count in counts:
        spec = _study(_many(count, trace))
        point = Point("chunked", Load("rate", RATE), default_config(spec, {}))
        began = time.perf_counter()
        outcome = run_point(spec, point)
        seconds, peak = time.perf_counter() - began, _peak(spec, point)
        table.add_row(
            f"{count:,}", f"{outcome.num_iterations:,}", f"{seconds:.1f} s", f"{count / seconds:,.0f}",
            f"{peak / 1e6:,.1f} MB", f"{peak / count:,.0f} B",
        )  # fmt: skip
    console.print(table)


def _peak(spec: SweepSpec, point: Point) -> int:
    """Most bytes that Python held at a time."""
    tracemalloc.start()
    run_point(spec, point)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def _many(count: int, trace: Path | None) -> Demand:
    """So many requests; those of a trace again and again."""
    if trace is None:
        return drawn_demand(count, *LENGTHS, seed=0)
    once = trace_demand(trace, scaling=Scaling(num_requests=count))
    times = -(-count // len(once.prompt_tokens))
    return Demand(
        (once.prompt_tokens * times)[:count], (once.output_tokens * times)[:count], f"{once.words}, {times} times"
    )
