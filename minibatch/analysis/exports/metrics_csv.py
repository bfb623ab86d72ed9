"""Numbers as CSV, for spreadsheets and notebooks: full precision, and empty where a run has none."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import Any

import numpy as np

from minibatch.analysis.ledger import REQUEST_COLUMNS, request_ledger
from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.run_names import clock_of, policy_of, run_name
from minibatch.analysis.timeline import Timeline
from minibatch.decisions.reasons import PREEMPTIONS
from minibatch.recording.schema import Recording
from minibatch.workload.request import NANOSECONDS

UNITS = {
    "duration": "s",
    "completed": "requests",
    "num_rejected": "requests",
    "num_aborted": "requests",
    "total_input_tokens": "tokens",
    "total_output_tokens": "tokens",
    "request_throughput": "requests/s",
    "output_throughput": "tokens/s",
    "total_token_throughput": "tokens/s",
    "num_iterations": "iterations",
    "num_preemptions": "preemptions",
    "slot_utilization": "share",
    "slot_padding": "share",
    "slot_stalled": "share",
    "slot_idle_waiting": "share",
    "slot_idle_empty": "share",
    "stalled_s": "s",
    "padding_tokens": "tokens",
    "padding_share": "share",
    "mean_kv_cache_usage": "share",
    "max_kv_cache_usage": "share",
    "kv_fragmentation": "share",
    "flops": "FLOP",
    "bytes_moved": "bytes",
    "intensity": "FLOP/byte",
    "scheduler_share": "share",
}
"""Of every metric whose name does not end in its unit, `_ms`. A share is a part of 1."""

REQUEST_HEADER = (
    "policy", "clock", "request", "arrival_s", "prompt_tokens", "output_tokens", "finish_reason",
    *(f"{name}_s" for name in REQUEST_COLUMNS), "e2el_s", "ttft_s", "tpot_s", "num_preemptions",
)  # fmt: skip


def metrics_csv(recordings: Sequence[Recording]) -> str:
    """A row a metric of METRICS.md, in the order of that page, and a column a recording."""
    runs = [compute_metrics(recording) for recording in recordings]
    header = ["metric", "unit", *(_inert(run_name(recording)) for recording in recordings)]
    names = runs[0] if runs else ()
    return _csv([header, *([name, _unit(name), *(run[name] for run in runs)] for name in names)])


def requests_csv(recordings: Sequence[Recording]) -> str:
    """A row a request and recording, in seconds; `request` 7 is r7. The ledger's columns sum to E2E.

    A request of a closed loop that was not sent yet has no arrival.
    E2E, TTFT and TPOT are of completed requests alone, so that their means are those of the metrics.
    """
    return _csv([REQUEST_HEADER, *(row for recording in recordings for row in _request_rows(recording))])


def _request_rows(recording: Recording) -> Iterator[list[Any]]:
    policy, clock = _inert(policy_of(recording)), clock_of(recording)
    timeline = Timeline(recording)
    ledger = request_ledger(timeline)
    tokens = timeline.num_output_tokens
    e2el, ttft = timeline.last_token_ns - timeline.arrival_ns, timeline.first_token_ns - timeline.arrival_ns
    tpot = (e2el - ttft) / np.maximum(1, tokens - 1)
    preempted = [reason.request_id for _, reason in recording.each_reason() if reason.code in PREEMPTIONS]
    for i, request in enumerate(recording.requests):
        done = bool(timeline.completed[i])
        yield [
            policy,
            clock,
            i,
            None if (arrived_ns := recording.arrived_ns(i)) is None else arrived_ns / NANOSECONDS,
            request.num_prompt_tokens,
            int(tokens[i]),
            request.finish_reason,
            *(int(ledger[name][i]) / NANOSECONDS for name in REQUEST_COLUMNS),
            int(e2el[i]) / NANOSECONDS if done else None,
            int(ttft[i]) / NANOSECONDS if done else None,
            float(tpot[i]) / NANOSECONDS if done and tokens[i] > 1 else None,
            preempted.count(i),
        ]


def _unit(metric: str) -> str:
    return "ms" if metric.endswith("_ms") else UNITS[metric]


def _inert(text: str) -> str:
    """`text`, which a spreadsheet must not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text


def _csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows end in CR LF, as RFC 4180 has it."""
    text = StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()
