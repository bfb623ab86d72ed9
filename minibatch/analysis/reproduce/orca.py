"""Yu et al., "Orca: A Distributed Serving System for Transformer-Based Generative Models" (OSDI 2022).

Iteration-level scheduling against request-level batching: prompts of 32 to 512 tokens, outputs of 1 to
128, both uniform, Poisson arrivals. The paper's model is GPT-3 175B on 16 A100; here it is OPT-13B on one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from minibatch.analysis.formats import three_figures
from minibatch.analysis.registry.claims import find_claim
from minibatch.analysis.reproduce.result import Chart, PlottedCurve, Reproduction, ResultRow, Watch, published
from minibatch.analysis.reproduce.setup import BARE_ROOFLINE, MEMORY, machine
from minibatch.analysis.sweeps.search import highest_load
from minibatch.engine.sweep import Point, SweepSpec, run_point
from minibatch.recording.run_summary import RunSummary
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.demand import Load, drawn_demand
from minibatch.workload.request import NANOSECONDS

TITLE = "Orca: iteration-level scheduling over request-level batching"
PROMPTS, OUTPUTS, LONGEST = "uniform:32:512", "uniform:1:128", 640
REQUEST_LEVEL, ITERATION_LEVEL = "request-level batching", "iteration-level scheduling"
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    REQUEST_LEVEL: ("static", {}),
    ITERATION_LEVEL: ("continuous", {"mix_prefill": True}),
}
TIGHT = 1.5
"""Times the normalised latency of a lone request: a limit of ours, beside the paper's."""
LOWEST, HIGHEST = 0.125, 64.0
"""Rates of the search, requests/s."""

_ABOUT = 45  # runs of two limits, two systems
MEAN_OUTPUT = 64.5
"""Tokens, of `OUTPUTS`."""
_ASSUMPTIONS = (
    BARE_ROOFLINE,
    MEMORY,
    "GPT-3 175B on 16 A100 is not among our models, nor is pipeline parallelism: OPT-13B on one A100-40GB stands in "
    "for it, so that the order and the shape compare and the factor does not.",
    f"Both reserve the longest request, {LONGEST} tokens, at admission. The batch of the static policy is padded.",
    "Under request-level batching an answer is returned when its whole batch is done, as Orca's paper describes it; "
    "normalised latency is that time since arrival, divided by the tokens of the output.",
)


@dataclass(frozen=True, slots=True)
class _Run:
    """What one rate came to: median normalised latency in seconds a token, and requests/s over the whole run."""

    latency_s: float
    throughput: float


class _Runs:
    """The runs so far, by system and rate."""

    def __init__(self, spec: SweepSpec, config: SchedulerConfig, watch: Watch) -> None:
        self._study = spec
        self._config = config
        self._watch = watch
        self._done: dict[tuple[str, float], _Run] = {}

    def at(self, system: str, rate: float) -> _Run:
        """What arrivals of `rate` requests/s come to."""
        if (system, rate) not in self._done:
            self._watch.at(len(self._done), _ABOUT)
            policy, knobs = SYSTEMS[system]
            point = Point(policy, Load("rate", rate), replace(self._config, **knobs))
            outcome = run_point(self._study, point)
            latency_s = median_normalised_s(outcome, as_batch=system == REQUEST_LEVEL)
            self._done[system, rate] = _Run(latency_s, len(outcome.requests["request"]) / outcome.end_ns * NANOSECONDS)
        return self._done[system, rate]

    def throughput(self, system: str, limit_s: float) -> float | None:
        """Requests/s served at the highest rate that keeps the limit; None where none does."""
        rate = highest_load(lambda rate: self.at(system, rate).latency_s <= limit_s, LOWEST, HIGHEST).load
        return None if rate is None else self.at(system, rate).throughput

    def curve(self, system: str) -> PlottedCurve:
        """Median normalised latency in milliseconds a token, over throughput."""
        runs = sorted((rate, run) for (name, rate), run in self._done.items() if name == system)
        return PlottedCurve(system, "modelled", tuple((run.throughput, 1e3 * run.latency_s) for _, run in runs))


def median_normalised_s(outcome: RunSummary, as_batch: bool) -> float:
    """Median of end-to-end latency / output tokens, in seconds a token.

    Args:
        as_batch: requests that began together are returned together, when the last of them is done.
    """
    rows = outcome.requests
    ends = batch_ends(rows["first_scheduled_ns"], rows["last_token_ns"]) if as_batch else rows["last_token_ns"]
    return float(np.median((ends - rows["arrival_ns"]) / rows["output_tokens"])) / NANOSECONDS


def batch_ends(begun: npt.NDArray[np.int64], done: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(requests,) for each the latest `done` of those that have begun with it."""
    _, batch = np.unique(begun, return_inverse=True)
    latest = np.zeros(batch.max(initial=-1) + 1, dtype=np.int64)
    np.maximum.at(latest, batch, done)
    return latest[batch]


def reproduce(seed: int = 0, watch: Watch | None = None, num_requests: int = 600) -> Reproduction:
    """Search the throughput of each system under two limits; StoppedError where `watch` says so."""
    on = machine("opt-13b", "A100-40GB")
    demand = drawn_demand(num_requests, PROMPTS, OUTPUTS, seed)
    config = on.config(max_model_len=LONGEST, kv_layout="contiguous", max_num_batched_tokens=4096)
    runs = _Runs(on.spec(demand, seed), config, watch or Watch())
    limit_s = find_claim("orca-latency-limit").value
    tight_s = TIGHT * runs.at(ITERATION_LEVEL, LOWEST).latency_s
    rows = (
        _row(runs, f"throughput at {three_figures(1e3 * limit_s)} ms a token, the paper's limit", limit_s, True),
        _row(runs, f"throughput at {three_figures(1e3 * tight_s)} ms a token, {TIGHT:g} times a lone request's",
             tight_s, False),
    )  # fmt: skip
    return Reproduction(
        "orca",
        TITLE,
        f"{num_requests:,} requests, prompts of 32 to 512 tokens and outputs of 1 to 128, Poisson arrivals; "
        "throughput where the median normalised latency keeps a limit, over that of request-level batching.",
        on.words,
        rows,
        _ASSUMPTIONS,
        Chart("throughput, requests/s", "median normalised latency, ms a token", tuple(map(runs.curve, SYSTEMS))),
    )


def _why() -> str:
    rate, limit_s = find_claim("orca-baseline-throughput").value, find_claim("orca-latency-limit").value
    return (
        "The limit is far above the latency of a lone request on OPT-13B, so that request-level batching keeps it with "
        "full batches: the tighter limit below shows how much hangs on that. The published baseline, a far larger "
        f"model over 16 accelerators, had about {rate * limit_s * MEAN_OUTPUT:.0f} requests in flight at its limit (by "
        "Little's law); what kept it there is not modelled."
    )


def _row(runs: _Runs, what: str, limit_s: float, is_published: bool) -> ResultRow:
    ours, baseline = (runs.throughput(system, limit_s) for system in (ITERATION_LEVEL, REQUEST_LEVEL))
    if ours is None or baseline is None:
        why = f"no rate from {LOWEST:g} requests/s keeps this limit."
        return ResultRow(what, None, "x", published("orca-speedup") if is_published else None, why)
    if is_published:
        return ResultRow(what, ours / baseline, "x", published("orca-speedup"), _why())
    return ResultRow(what, ours / baseline, "x")
