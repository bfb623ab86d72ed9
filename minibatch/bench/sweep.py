"""How fast modelled runs are: a whole sweep, many requests, and against one iteration at a time."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

from minibatch.analysis.registry.accelerators import find_accelerator
from minibatch.analysis.registry.models import find_shape
from minibatch.bench.report import Measured, Report
from minibatch.engine.summary_recorder import SummaryRecorder
from minibatch.engine.sweep import Point, SweepSpec, engine_of, executor_of, run_point, run_points
from minibatch.scheduling import DEFAULTS
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.demand import Demand, Load, drawn_demand, trace_demand
from minibatch.workload.traces import Scaling

ACCELERATOR, MODEL = "H100", "llama-3.1-8b"
RATES = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 40.0, 48.0)
RATE = 5.4
"""Requests/s of the runs of many requests: about what a busy hour of a chat service brings."""
LENGTHS = ("lognormal:1024:1.0", "lognormal:192:0.8")


ConfigOf = Callable[[SweepSpec], SchedulerConfig]


def bench_sweep(
    config_of: ConfigOf, num_requests: int, rounds: int, growth: Sequence[int], trace: Path | None, report: Report
) -> None:
    """All of it.

    Args:
        config_of: the knobs of a run.
        num_requests: of each point of the sweep.
        rounds: of the comparison with one iteration at a time.
        growth: numbers of requests, of which time and memory are measured.
        trace: a file from which these take their lengths.
    """
    workers = os.cpu_count() or 1
    spec = _study(drawn_demand(num_requests, *LENGTHS, seed=0))
    points = [Point(policy, Load("rate", rate), config_of(spec)) for policy in DEFAULTS for rate in RATES]
    began = time.perf_counter()
    with executor_of("processes", workers) as executor:
        for done, _ in enumerate(run_points(spec, points, executor, workers), 1):
            report.progress(f"sweep: {done} of {len(points)} points")
    of = f"{len(points)} points of {num_requests:,} requests on {workers} cores, starting them included"
    report.add(of, Measured("time", [time.perf_counter() - began], "s"))
    _ratio(spec, config_of(spec), rounds, report)
    for count in growth:
        report.progress(f"{count:,} requests")
        _growth(count, config_of, trace, report)


def _study(demand: Demand) -> SweepSpec:
    return SweepSpec(demand, find_shape(MODEL), find_accelerator(ACCELERATOR).ceilings(), MODEL)


def _ratio(spec: SweepSpec, config: SchedulerConfig, rounds: int, report: Report) -> None:
    """Both ways of one chunked run, in turn, in this process."""
    point, ratios = Point("chunked", Load("rate", RATE), config), list[float]()
    try:
        for number in range(1, rounds + 1):
            report.progress(f"one iteration at a time: round {number} of {rounds}")
            slow, fast = (_seconds(spec, point, fast_forward) for fast_forward in (False, True))
            ratios.append(slow / fast)
    finally:
        if ratios:
            of = f"one iteration at a time / repeated ones at once, {len(spec.demand.prompt_tokens):,} requests"
            report.add(f"{of} at {RATE:g}/s under chunked", Measured("time", ratios, "x"))


def _seconds(spec: SweepSpec, point: Point, fast_forward: bool) -> float:
    engine = engine_of(spec, point, SummaryRecorder(point.config.num_kv_blocks, spec.ceilings.ridge), fast_forward)
    began = time.perf_counter()
    engine.run()
    return time.perf_counter() - began


def _growth(count: int, config_of: ConfigOf, trace: Path | None, report: Report) -> None:
    """Time and memory of so many requests, without records of iterations; memory is traced in a run of its own."""
    spec = _study(_many(count, trace))
    point = Point("chunked", Load("rate", RATE), config_of(spec))
    began = time.perf_counter()
    outcome = run_point(spec, point)
    seconds, peak = time.perf_counter() - began, _peak(spec, point)
    report.add(
        f"{count:,} requests, {outcome.num_iterations:,} iterations, chunked at {RATE:g}/s, one core",
        Measured("time", [seconds], "s"),
        Measured("speed", [count / seconds], "requests/s"),
        Measured("memory", [peak / 1e6], "MB"),
        Measured("memory a request", [peak / count], "B"),
    )


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
