"""The numbers of a run by its summary, under the names that `metrics` gives them; METRICS.md defines each."""

from __future__ import annotations

import numpy as np

from minibatch.analysis.bottleneck import SHARE_OF, Shares
from minibatch.analysis.metrics import latencies_ns, ratio, served_metrics
from minibatch.analysis.slo import Goodput, Slo, judge
from minibatch.recording.run_summary import RunSummary, gap_values
from minibatch.workload.request import NANOSECONDS

_MS = 1_000_000


def summary_metrics(summary: RunSummary) -> dict[str, float | int | None]:
    """As `compute_metrics` of the run's recording, as far as a summary tells; ITL to within 0.4 %."""
    rows = summary.requests
    served = served_metrics(
        rows,
        _itl(summary),
        num_rejected=summary.num_rejected,
        num_aborted=summary.num_aborted,
        output_tokens=int(rows["output_tokens"].sum()),
        end_ns=summary.end_ns,
    )
    return served | {
        "num_iterations": summary.num_iterations,
        "num_preemptions": summary.num_preemptions,
        "mean_kv_cache_usage": ratio(summary.held_block_ns, summary.end_ns * summary.num_kv_blocks),
        "busy": ratio(summary.busy_ns, summary.end_ns),
    }


def _itl(summary: RunSummary) -> dict[str, float | None]:
    total = int(summary.gaps.sum())
    if not total:
        return dict.fromkeys(("mean_itl_ms", "median_itl_ms", "p95_itl_ms", "p99_itl_ms"))
    counted, middles = np.cumsum(summary.gaps), gap_values()
    found = {
        name: float(middles[np.searchsorted(counted, percent / 100 * (total - 1), side="right")]) / _MS
        for name, percent in (("median_itl_ms", 50), ("p95_itl_ms", 95), ("p99_itl_ms", 99))
    }
    return {"mean_itl_ms": summary.gap_ns / total / _MS, **found}


def summary_shares(summary: RunSummary, follows: bool) -> Shares:
    """Where the run's time went, from what the head of its queue waited for.

    Args:
        follows: whether its throughput followed the load, which only a sweep can tell.
    """
    waited = dict.fromkeys(SHARE_OF.values(), 0)
    for code, ns in summary.waiting_ns.items():
        if code in SHARE_OF:
            waited[SHARE_OF[code]] += ns
    shares = {name: ns / max(1, summary.end_ns) for name, ns in waited.items()}
    return Shares(follows, **shares, compute=summary.computing_ns / max(1, summary.busy_ns))


def summary_rates(summary: RunSummary) -> tuple[float, float] | None:
    """Requests/s that came and that were completed, over the second half of the arrival span.

    Throughput over the whole run would fall short of any load: it includes the end, when no more
    requests come, and the beginning, when none can have finished. The second half is free of
    both where the span from first to last arrival is long beside an E2E, and the requests many
    beside those in flight. A rejected request came, and was not completed.

    For the open loop. A run that was cut short counts up to the last arrival it saw.

    Returns:
        (offered, served), or None if all requests came at once or none ran.
    """
    last = min(int(summary.arrival_ns.max(initial=0)), summary.end_ns)
    middle = (int(summary.arrival_ns.min(initial=last)) + last) // 2
    if middle == last:
        return None
    seconds = (last - middle) / NANOSECONDS
    times = (summary.arrival_ns, summary.requests["last_token_ns"])
    offered, served = (int(((middle < each) & (each <= last)).sum()) for each in times)
    return offered / seconds, served / seconds


def summary_goodput(summary: RunSummary, slo: Slo) -> Goodput:
    """Goodput and attainment of the run, by its completed requests."""
    return judge(slo, latencies_ns(summary.requests), len(summary.arrival_ns), summary.end_ns / NANOSECONDS)
