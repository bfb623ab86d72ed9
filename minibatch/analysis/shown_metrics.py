"""Which metrics a reader is shown, in plain words, with units and which direction is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from minibatch.analysis.formats import NOTHING, count, percent, plural, three_figures
from minibatch.analysis.metrics import Metrics

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One line of the table.

    Attributes:
        key: the metric's name, as in METRICS.md.
        brief: what it is called where no group's heading stands above it.
    """

    group: str
    words: str
    unit: str
    key: str
    better: Better
    show: Callable[[float | None], str] = three_figures
    brief: str = ""


def _latency(group: str, name: str) -> tuple[MetricRow, ...]:
    short = group.partition(":")[0]
    statistics = (("mean", "mean"), ("median", "p50, the median"), ("p95", "p95"), ("p99", "p99"))
    return tuple(
        MetricRow(group, words, "ms", f"{stat}_{name}_ms", "lower", brief=f"{short}, {stat}")
        for stat, words in statistics
    )


def _share(group: str, words: str, key: str, better: Better) -> MetricRow:
    return MetricRow(group, words, "%", key, better, percent)


ROWS: tuple[MetricRow, ...] = (
    MetricRow("Requests", "requests completed", "", "completed", "higher", count),
    MetricRow("Requests", "requests rejected", "", "num_rejected", "lower", count),
    MetricRow("Throughput", "output tokens", "tok/s", "output_throughput", "higher"),
    MetricRow("Throughput", "requests finished", "req/s", "request_throughput", "higher"),
    MetricRow("Throughput", "time until all are done", "s", "duration", "lower"),
    *_latency("TTFT: arrival to first token", "ttft"),
    *_latency("TPOT: time per further token", "tpot"),
    *_latency("ITL: gap between two tokens", "itl"),
    *_latency("E2E: arrival to last token", "e2el"),
    *_latency("Queue time: arrival to first scheduled", "queue_time"),
    _share("Slots", "busy: prefill or decode", "slot_utilization", "higher"),
    _share("Slots", "padding: held or computed without use", "slot_padding", "lower"),
    _share("Slots", "stalled by others' prefill", "slot_stalled", "lower"),
    MetricRow("Slots", "stalled by others' prefill, all slots", "s", "stalled_s", "lower"),
    _share("Slots", "idle while requests wait", "slot_idle_waiting", "lower"),
    _share("Slots", "idle, queue empty", "slot_idle_empty", "neither"),
    _share("KV cache", "used, mean", "mean_kv_cache_usage", "neither"),
    _share("KV cache", "used, most", "max_kv_cache_usage", "neither"),
    _share("KV cache", "fragmentation: held but empty", "kv_fragmentation", "lower"),
    MetricRow("KV cache", "preemptions", "", "num_preemptions", "lower", count),
)

HEADLINES = (
    "output_throughput",
    "duration",
    "mean_ttft_ms",
    "p99_ttft_ms",
    "mean_tpot_ms",
    "p99_itl_ms",
    "slot_utilization",
    "slot_padding",
    "stalled_s",
)
"""The few lines that fit on a projector."""

COUNTS = ("completed", "num_rejected")
"""How many requests a run's means are of, and how many they are not of."""


def headlines(metrics: Sequence[Metrics]) -> tuple[str, ...]:
    """`HEADLINES` of some runs; where one rejected requests, first of all how many its means are of."""
    return (*COUNTS, *HEADLINES) if any(values["num_rejected"] for values in metrics) else HEADLINES


def requests_in_words(num_requests: int, metrics: Sequence[Metrics]) -> str:
    """32 requests; where all runs rejected as many: 3 requests, 2 served, 1 rejected."""
    words = plural(num_requests, "request")
    counts = {tuple(values[key] for key in COUNTS) for values in metrics}
    if not any(rejected for _, rejected in counts):
        return words
    if len(counts) > 1:
        return f"{words}, of which some were rejected"
    ((served, rejected),) = counts
    return f"{words}, {count(served)} served, {count(rejected)} rejected"


def best_of_row(row: MetricRow, metrics: Sequence[Metrics], shown: Sequence[str]) -> list[bool]:
    """Which numbers are the best of a row; none where all read the same. What reads the same is the same."""
    values = [value for values in metrics if (value := values[row.key]) is not None]
    if row.better == "neither" or len(values) < 2 or len(set(shown)) < 2:
        return [False] * len(shown)
    best = row.show(max(values) if row.better == "higher" else min(values))
    return [text == best != NOTHING for text in shown]
