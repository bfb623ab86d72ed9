"""What a sweep shows: a curve over load for each policy and choice of knobs, its knee, and what binds past it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from minibatch.analysis.bottleneck import Bottleneck, Shares, bottleneck
from minibatch.analysis.formats import three_figures
from minibatch.analysis.slo import Slo
from minibatch.analysis.sweeps.file import SweepRow
from minibatch.analysis.sweeps.knee import Found, Knee, closed_loop_knee, open_loop_knee
from minibatch.scheduling.config import SchedulerConfig

FEWEST_REQUESTS = 200
"""At every load, for a knee: of fewer, chance alone lets a tenth more or less come out than come in."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One policy with one choice of knobs at every load.

    Attributes:
        knobs: those in which the curves of the sweep differ.
        rows: by load, the lowest first.
        goodputs: requests/s that keep the SLO, one a row; None without an SLO, or where nothing ran.
        attainments: likewise, the share of all requests that arrived.
        knee: where more load stops bringing more throughput; needs two loads.
        cause: what binds at the highest load, past the knee; the load itself where there is no knee.
    """

    policy: str
    knobs: dict[str, object]
    rows: tuple[SweepRow, ...]
    goodputs: tuple[float | None, ...]
    attainments: tuple[float | None, ...]
    knee: Knee
    cause: Bottleneck

    @property
    def knobs_in_words(self) -> str:
        return "".join(f", {name} {value}" for name, value in self.knobs.items())

    @property
    def throughputs(self) -> list[float]:
        """Requests/s completed at each load, over the whole run as goodput is: equal where all meet the SLO."""
        return [float(row.metrics["request_throughput"] or 0.0) for row in self.rows]

    @property
    def sentence(self) -> str:
        """The knee and the reason, for the screen."""
        if self.knee.found in (Found.BEYOND, Found.UNKNOWN):
            return f"{self.knee.found.value}."
        if self.knee.found is Found.KNEE:
            unit = "requests/s" if self.rows[0].load.kind == "rate" else "users"
            load = three_figures(self.rows[self.knee.index or 0].load.value)
            return f"The knee is at {load} {unit}; past it the limit is {self.cause.value}. {self.cause.words}"
        return f"{self.knee.found.value}; the limit is {self.cause.value}. {self.cause.words}"

    @property
    def best_goodput(self) -> int | None:
        """The place of the load with the most goodput."""
        places = [place for place, value in enumerate(self.goodputs) if value]
        return max(places, key=lambda place: self.goodputs[place] or 0.0, default=None)


def curves_of(rows: Sequence[SweepRow], slo: Slo | None = None) -> list[Curve]:
    """The curves of a sweep, in the order in which their policies and knobs first come."""
    groups: dict[tuple[str, SchedulerConfig], list[SweepRow]] = {}
    for row in rows:
        groups.setdefault((row.policy, row.config), []).append(row)
    varied = _varied([config for _, config in groups])
    return [
        _curve(policy, {name: asdict(config)[name] for name in varied}, group, slo)
        for (policy, config), group in sorted(groups.items(), key=lambda item: _place(item[0], groups))
    ]


def _place(
    key: tuple[str, SchedulerConfig], groups: dict[tuple[str, SchedulerConfig], list[SweepRow]]
) -> tuple[int, str]:
    """Policies as registered; knobs in order of their values. Points of a sweep are done in any order."""
    from minibatch.scheduling import POLICIES

    policy, config = key
    names = list(POLICIES)
    return (names.index(policy) if policy in names else len(names), repr(config))


def _varied(configs: Sequence[SchedulerConfig]) -> list[str]:
    values = [asdict(config) for config in configs]
    return [name for name in values[0] if len({each[name] for each in values}) > 1] if values else []


def _curve(policy: str, knobs: dict[str, object], rows: Sequence[SweepRow], slo: Slo | None) -> Curve:
    rows = sorted(rows, key=lambda row: row.load.value)
    knee = _knee(rows)
    judged = [row.judge(slo) if slo else None for row in rows]
    return Curve(
        policy, knobs, tuple(rows), tuple(each.request_goodput if each else None for each in judged),
        tuple(each.attainment if each else None for each in judged), knee,
        _cause(rows[-1], follows=knee.found in (Found.BEYOND, Found.UNKNOWN)),
    )  # fmt: skip


def _knee(rows: Sequence[SweepRow]) -> Knee:
    if len(rows) < 2 or min(len(row.lists["arrival_ns"]) for row in rows) < FEWEST_REQUESTS:
        return Knee(Found.UNKNOWN)
    served, latency = [_served(row) for row in rows], [row.metrics["p99_ttft_ms"] or float("nan") for row in rows]
    if rows[0].load.kind == "users":
        return closed_loop_knee([row.load.value for row in rows], served, latency)
    offered = [float(row.metrics["offered"] or row.load.value) for row in rows]
    return open_loop_knee(offered, served, latency)


def _served(row: SweepRow) -> float:
    """Requests/s for the knee: of an open loop over its arrivals, which leaves out the tail."""
    name = "served" if row.load.kind == "rate" and row.metrics["served"] is not None else "request_throughput"
    return float(row.metrics[name] or 0.0)


def _cause(row: SweepRow, follows: bool) -> Bottleneck:
    names = ("slots", "kv_blocks", "token_budget", "batch", "compute")
    return bottleneck(Shares(follows, **{name: min(1.0, float(row.metrics[f"share_{name}"] or 0.0)) for name in names}))
