"""The metrics of a comparison: a row a metric in plain words, a column a policy, the best one marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import pandas as pd

from minibatch.analysis.metrics import Metrics, compute_metrics
from minibatch.recording.schema import Recording
from minibatch.ui.formats import NOTHING, percent, three_figures

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class Row:
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


def _latency(group: str, name: str) -> tuple[Row, ...]:
    short = group.partition(":")[0]
    statistics = (("mean", "mean"), ("median", "p50, the median"), ("p95", "p95"), ("p99", "p99"))
    return tuple(
        Row(group, words, "ms", f"{stat}_{name}_ms", "lower", brief=f"{short}, {stat}")
        for stat, words in statistics
    )


def _share(group: str, words: str, key: str, better: Better) -> Row:
    return Row(group, words, "%", key, better, percent)


ROWS: tuple[Row, ...] = (
    Row("Throughput", "tokens written", "tok/s", "output_throughput", "higher"),
    Row("Throughput", "requests finished", "req/s", "request_throughput", "higher"),
    Row("Throughput", "time until all are done", "s", "duration", "lower"),
    *_latency("TTFT: arrival to first token", "ttft"),
    *_latency("TPOT: time per further token", "tpot"),
    *_latency("ITL: gap between two tokens", "itl"),
    *_latency("E2E: arrival to last token", "e2el"),
    *_latency("Queue time: arrival to first scheduled", "queue_time"),
    _share("Slots", "busy: prefill or decode", "slot_utilization", "higher"),
    _share("Slots", "padding: held by the finished", "slot_padding", "lower"),
    _share("Slots", "stalled by others' prefill", "slot_stalled", "lower"),
    Row("Slots", "stalled by others' prefill, all slots", "s", "stalled_s", "lower"),
    _share("Slots", "idle while requests wait", "slot_idle_waiting", "lower"),
    _share("Slots", "idle, nobody waits", "slot_idle_empty", "neither"),
    _share("KV cache", "used, mean", "mean_kv_cache_usage", "neither"),
    _share("KV cache", "used, most", "max_kv_cache_usage", "neither"),
    _share("KV cache", "fragmentation: held but empty", "kv_fragmentation", "lower"),
    Row("KV cache", "preemptions", "", "num_preemptions", "lower"),
)

KEY_METRICS = (
    "output_throughput",
    "duration",
    "median_ttft_ms",
    "p99_ttft_ms",
    "median_tpot_ms",
    "p99_itl_ms",
    "slot_utilization",
    "slot_padding",
    "stalled_s",
)
"""The few lines that fit on a projector."""


def metrics_frame(recordings: Sequence[Recording]) -> pd.DataFrame:
    """The whole table as data, indexed by metric key, in the order of ROWS.

    Columns `group`, `words`, `brief`, `unit`; then for each policy its number as shown, and under
    "best <policy>" whether it is the best of the row, ties included.
    """
    metrics = [compute_metrics(recording) for recording in recordings]
    policies = [recording.header.policy for recording in recordings]
    lines = []
    for row in ROWS:
        shown = [row.show(values[row.key]) for values in metrics]
        line: dict[str, str | bool] = {
            "key": row.key,
            "group": row.group,
            "words": row.words,
            "brief": row.brief or row.words,
            "unit": row.unit,
        }
        line |= dict(zip(policies, shown, strict=True))
        best = _best(row, metrics, shown)
        line |= {f"best {policy}": mark for policy, mark in zip(policies, best, strict=True)}
        lines.append(line)
    return pd.DataFrame(lines).set_index("key")


def metrics_html(frame: pd.DataFrame, policies: Sequence[str], caption: str, grouped: bool) -> str:
    """The table, or some rows of it, as HTML; `grouped` under the headings of their groups.

    The best of a row is bold and carries a dot. `caption` says measured or modelled.
    """
    head = "".join(f"<th scope='col'>{escape(policy)}</th>" for policy in policies)
    body, group = [], None
    for key, line in frame.iterrows():
        if grouped and line["group"] != group:
            group = line["group"]
            body.append(f"<tr class='mb-group'><th colspan='{len(policies) + 1}'>{escape(group)}</th></tr>")
        unit = f"<span class='mb-unit'>{escape(line['unit'])}</span>" if line["unit"] else ""
        cells = "".join(_cell(line[policy], bool(line[f"best {policy}"])) for policy in policies)
        name = f"{escape(line['words' if grouped else 'brief'])} {unit}<code>{escape(str(key))}</code>"
        body.append(f"<tr><th scope='row'>{name}</th>{cells}</tr>")
    return (
        f"<div class='mb-scroll'><table class='mb-metrics'><caption>{escape(caption)}</caption>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(text: str, best: bool) -> str:
    if not best:
        return f"<td>{escape(text)}</td>"
    return f"<td class='mb-best'><span title='best of the row'>●</span>{escape(text)}</td>"


def _best(row: Row, metrics: Sequence[Metrics], shown: Sequence[str]) -> list[bool]:
    """Which numbers are the best of a row. Numbers that read the same are the same."""
    values = [value for values in metrics if (value := values[row.key]) is not None]
    if row.better == "neither" or len(values) < 2:
        return [False] * len(shown)
    best = row.show(max(values) if row.better == "higher" else min(values))
    return [text == best != NOTHING for text in shown]
