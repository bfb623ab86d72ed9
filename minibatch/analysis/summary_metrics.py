"""The numbers of a run summary, under the names that `metrics` gives them; METRICS.md defines each."""

from __future__ import annotations

import numpy as np

from minibatch.analysis.bottleneck import SHARE_OF, Shares
from minibatch.analysis.metrics import statistics
from minibatch.analysis.slo import Goodput, Slo, attainment, goodput
from minibatch.recording.run_summary import RunSummary, gap_values
from minibatch.recording.schema import Column
from minibatch.workload.request import NANOSECONDS

_MS = 1_000_000


def latencies_of(outcome: RunSummary) -> tuple[Column, Column, Column]:
    """TTFT, TPOT and E2E, one entry a completed request, nanoseconds; TPOT is NaN where one token was generated."""
    rows = outcome.requests
    gaps = rows["output_tokens"] - 1
    tpot = np.full(len(gaps), np.nan)
    np.divide(rows["last_token_ns"] - rows["first_token_ns"], gaps, out=tpot, where=gaps > 0)
    return rows["first_token_ns"] - rows["arrival_ns"], tpot, rows["last_token_ns"] - rows["arrival_ns"]


def summary_metrics(outcome: RunSummary) -> dict[str, float | int | None]:
    """As `compute_metrics` of the run's recording, as far as a summary tells; ITL to within 0.4 %."""
    rows, seconds = outcome.requests, outcome.end_ns / NANOSECONDS
    completed, output = len(rows["request"]), int(rows["output_tokens"].sum())
    ttft, tpot, e2el = latencies_of(outcome)
    metrics: dict[str, float | int | None] = {
        "duration": seconds,
        "completed": completed,
        "num_rejected": outcome.num_rejected,
        "total_input_tokens": int(rows["prompt_tokens"].sum()),
        "total_output_tokens": output,
        "request_throughput": completed / seconds if seconds else None,
        "output_throughput": output / seconds if seconds else None,
    }
    queue_time = rows["first_scheduled_ns"] - rows["arrival_ns"]
    for name, values in (("ttft", ttft), ("tpot", tpot[~np.isnan(tpot)]), ("e2el", e2el), ("queue_time", queue_time)):
        metrics |= statistics(name, values)
    pool_ns = outcome.end_ns * outcome.num_kv_blocks
    return metrics | {
        "mean_itl_ms": outcome.gap_ns / outcome.gaps.sum() / _MS if outcome.gaps.any() else None,
        **{f"{name}_itl_ms": _gap(outcome, share) for name, share in (("median", 50), ("p95", 95), ("p99", 99))},
        "num_iterations": outcome.num_iterations,
        "num_preemptions": outcome.num_preemptions,
        "mean_kv_cache_usage": outcome.held_block_ns / pool_ns if pool_ns else None,
        "busy": outcome.busy_ns / outcome.end_ns if outcome.end_ns else None,
    }


def _gap(outcome: RunSummary, percent: float) -> float | None:
    """The gap below which so many percent of them are, in milliseconds."""
    total = int(outcome.gaps.sum())
    if not total:
        return None
    place = int(np.searchsorted(np.cumsum(outcome.gaps), percent / 100 * (total - 1), side="right"))
    return float(gap_values()[place]) / _MS


def summary_shares(outcome: RunSummary, follows: bool) -> Shares:
    """As `shares_of` the run's recording."""
    waited = dict.fromkeys(SHARE_OF.values(), 0)
    for code, ns in outcome.waiting_ns.items():
        if code in SHARE_OF:
            waited[SHARE_OF[code]] += ns
    shares = {name: ns / max(1, outcome.end_ns) for name, ns in waited.items()}
    return Shares(follows, **shares, compute=outcome.computing_ns / max(1, outcome.busy_ns))


def summary_rates(outcome: RunSummary) -> tuple[float, float] | None:
    """(offered, served) requests/s, as `rates_over_arrivals` of the run's recording."""
    last = min(int(outcome.arrival_ns.max(initial=0)), outcome.end_ns)
    middle = (int(outcome.arrival_ns.min(initial=last)) + last) // 2
    if middle == last:
        return None
    seconds = (last - middle) / NANOSECONDS
    times = (outcome.arrival_ns, outcome.requests["last_token_ns"])
    offered, served = (int(((middle < each) & (each <= last)).sum()) for each in times)
    return offered / seconds, served / seconds


def summary_goodput(outcome: RunSummary, slo: Slo) -> Goodput:
    """As `goodput_of` the run's recording."""
    latencies, arrived = latencies_of(outcome), len(outcome.arrival_ns)
    seconds = outcome.end_ns / NANOSECONDS
    return Goodput(
        good=int(slo.meets(*latencies).sum()),
        completed=len(latencies[0]),
        arrived=arrived,
        request_goodput=goodput(slo, *latencies, seconds) if seconds else None,
        attainment=attainment(slo, *latencies, arrived),
    )
