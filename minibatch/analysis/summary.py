"""Which metrics a reader is shown, in plain words, with units and which direction is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from minibatch.analysis.metrics import Metrics

Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a metrics table.

    Attributes:
        key: the metric's name in `compute_metrics`.
        scale: factor from the metric to what is shown, in `unit`.
        better: the direction in which a value is good; None where neither is.
        headline: belongs into a short table.
    """

    group: str
    label: str
    key: str
    unit: str
    better: Better | None = None
    scale: float = 1.0
    headline: bool = False


def _latency(label: str, name: str, *headlines: str) -> tuple[Row, ...]:
    stats = {"mean": "mean", "median": "p50", "p95": "p95", "p99": "p99"}
    return tuple(
        Row(label, f"{label} {word}", f"{stat}_{name}_ms", "ms", "lower", headline=stat in headlines)
        for stat, word in stats.items()
    )


ROWS: tuple[Row, ...] = (
    Row("Throughput", "output tokens", "output_throughput", "tok/s", "higher", headline=True),
    Row("Throughput", "requests", "request_throughput", "req/s", "higher", headline=True),
    Row("Throughput", "all done after", "duration", "s", "lower", headline=True),
    *_latency("TTFT", "ttft", "mean", "p99"),
    *_latency("TPOT", "tpot", "mean"),
    *_latency("ITL", "itl", "p99"),
    *_latency("E2E", "e2el", "mean"),
    *_latency("queue time", "queue_time", "mean"),
    Row("Slots", "slots busy", "slot_utilization", "%", "higher", 100, headline=True),
    Row("Slots", "slots padded", "slot_padding", "%", "lower", 100, headline=True),
    Row("Slots", "slots stalled", "slot_stalled", "%", "lower", 100),
    Row("Slots", "slots idle, work waiting", "slot_idle_waiting", "%", "lower", 100),
    Row("Slots", "slots idle, nobody waiting", "slot_idle_empty", "%", None, 100),
    Row("Slots", "stalled", "stalled_s", "s", "lower", headline=True),
    Row("Slots", "positions thrown away", "padding_share", "%", "lower", 100),
    Row("KV cache", "KV used, mean", "mean_kv_cache_usage", "%", None, 100, headline=True),
    Row("KV cache", "KV used, most", "max_kv_cache_usage", "%", None, 100),
    Row("KV cache", "held KV without a token", "kv_fragmentation", "%", "lower", 100),
    Row("KV cache", "preemptions", "num_preemptions", "", "lower", headline=True),
    Row("Machine", "iterations", "num_iterations", "", None),
    Row("Machine", "intensity", "intensity", "FLOP/byte", None),
    Row("Machine", "scheduler and recorder", "scheduler_share", "% of time", None, 100),
)


def shown(row: Row, metrics: Metrics) -> str:
    """The value as a reader sees it, at most three significant figures; "–" where there is none."""
    value = metrics[row.key]
    return "–" if value is None else three_figures(value * row.scale)


def three_figures(value: float) -> str:
    """`value` with three significant figures and no exponent; whole numbers from 100 on."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 100 or rounded == int(rounded):
        return f"{rounded:,.0f}"
    decimals = 2 if abs(rounded) < 10 else 1
    return f"{rounded:.{decimals}f}" if abs(rounded) >= 0.01 else f"{rounded:.2g}"


def best(row: Row, runs: Sequence[Metrics]) -> list[bool]:
    """Which of `runs` show the best value of `row`; none where all are the same or none is better."""
    texts = [shown(row, run) for run in runs]
    values = [run[row.key] for run in runs]
    numbers = [value for value in values if value is not None]
    if row.better is None or len(set(texts)) < 2 or not numbers:
        return [False] * len(runs)
    target = max(numbers) if row.better == "higher" else min(numbers)
    winner = texts[values.index(target)]
    return [text == winner for text in texts]
