"""What the charts and tables of a sweep show of a point: the panels, and each one's number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from minibatch.analysis.sweeps.curves import Curve
from minibatch.analysis.sweeps.file import SweepRow

Value = Callable[[Curve, int], float | None]
"""A panel's number at a place of a curve; None where nothing was counted."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart.

    Attributes:
        name: a word for keys and for the choice of charts.
        title: with the unit.
        value: in that unit.
        scale: of its axis; on "log" what is 0 has no place.
        limit: the field of `Slo` that draws a line across it, or "".
        most: the top of a linear axis, where it is known.
    """

    name: str
    title: str
    value: Value
    scale: Literal["log", "linear"]
    limit: str = ""
    most: float | None = None


def _metric(name: str, factor: float = 1.0) -> Value:
    def value(curve: Curve, place: int) -> float | None:
        found = curve.rows[place].metrics[name]
        return None if found is None else factor * float(found)

    return value


def preempted(row: SweepRow) -> float | None:
    """Preemptions for each request that arrived."""
    arrived = len(row.lists["arrival_ns"])
    return float(row.metrics["num_preemptions"] or 0) / arrived if arrived else None


def _met(curve: Curve, place: int) -> float | None:
    share = curve.attainments[place]
    return None if share is None else 100 * share


THROUGHPUT = "throughput"
PANELS = (
    Panel(THROUGHPUT, "Throughput, requests/s", lambda curve, place: curve.throughputs[place], "log"),
    Panel("goodput", "Goodput, requests/s", lambda curve, place: curve.goodputs[place], "linear"),
    Panel("TTFT", "TTFT p99, ms", _metric("p99_ttft_ms"), "log", "ttft_ms"),
    Panel("TPOT", "TPOT p99, ms", _metric("p99_tpot_ms"), "log", "tpot_ms"),
    Panel("ITL", "ITL p99, ms", _metric("p99_itl_ms"), "log"),
    Panel("queue", "Queue time, mean, ms", _metric("mean_queue_time_ms"), "log"),
    Panel("preempted", "Preemptions per request", lambda curve, place: preempted(curve.rows[place]), "linear"),
    Panel("KV", "KV blocks in use, mean, %", _metric("mean_kv_cache_usage", 100.0), "linear", most=100.0),
    Panel("SLO met", "Requests that meet the SLO, %", _met, "linear", most=100.0),
    Panel("tokens", "Output tokens/s", _metric("output_throughput"), "log"),
)
FIRST = (THROUGHPUT, "goodput", "TTFT", "TPOT")
"""What shows before a choice is made."""


def name_of(curve: Curve) -> str:
    """A curve's name where there is little room: its policy and the values of what varies."""
    return " ".join([curve.policy, *map(str, curve.knobs.values())])


def unit_of(rows: Sequence[SweepRow]) -> str:
    """What a load is in."""
    return "requests/s" if rows[0].load.kind == "rate" else "users"
