"""Anyscale, "How continuous batching enables 23x throughput in LLM inference" (2023).

OPT-13B on one A100-40GB serves 1,000 prompts of 512 tokens that arrive at once. Outputs are exponential
with mean 128 and capped at 32, 128, 512 or 1,536 tokens: the higher the cap, the more they differ.
"""

from __future__ import annotations

from typing import Any

from minibatch.analysis.registry.claims import find_claim
from minibatch.analysis.reproduce.result import Chart, PlottedCurve, Reproduction, ResultRow, Watch, published
from minibatch.analysis.reproduce.setup import BARE_ROOFLINE, MEMORY, Machine, at_once, machine
from minibatch.engine.sweep import Point, run_point
from minibatch.workload.demand import drawn_demand

TITLE = "Anyscale: continuous batching and paged KV over static batching"
PROMPT_TOKENS = 512
OUTPUT_MEAN = 128
CAPS = (32, 128, 512, 1536)
STATIC, CONTINUOUS, PAGED = "static", "continuous", "continuous, paged KV"
_CONTIGUOUS: dict[str, Any] = {"kv_layout": "contiguous"}
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    STATIC: ("static", _CONTIGUOUS),
    CONTINUOUS: ("continuous", _CONTIGUOUS),
    PAGED: ("continuous", {"kv_layout": "paged"}),
}
"""Policy and knobs of each."""

_CLAIMS = {STATIC: "anyscale-static-optimised", CONTINUOUS: "anyscale-continuous", PAGED: "anyscale-continuous-paged"}
_ASSUMPTIONS = (
    BARE_ROOFLINE,
    MEMORY,
    "As many requests run at once as their KV fits: static and continuous batching reserve the prompt and the cap for "
    "each, paged KV grows with the request and preempts by recompute.",
    "The factors published for a single cap are not among our claims: the largest, 1,536, is compared.",
    "Throughput is that of the whole run, from the first arrival to the last token.",
)


def reproduce(seed: int = 0, watch: Watch | None = None, num_requests: int = 1000) -> Reproduction:
    """Run every system at every cap; StoppedError where `watch` says so."""
    on = machine("opt-13b", "A100-40GB")
    factors = _factors(on, seed, watch or Watch(), num_requests)
    last = {name: factors[name, CAPS[-1]] for name in SYSTEMS}
    curves = [
        *(PlottedCurve(name, "modelled", tuple((cap, factors[name, cap]) for cap in CAPS)) for name in SYSTEMS),
        *(
            PlottedCurve(name, "published", ((CAPS[-1], find_claim(_CLAIMS[name]).value),))
            for name in (CONTINUOUS, PAGED)
        ),
    ]
    return Reproduction(
        "anyscale",
        TITLE,
        f"{num_requests:,} prompts of {PROMPT_TOKENS} tokens at once, outputs exponential with mean {OUTPUT_MEAN} and "
        f"capped; throughput over that of a naive static batch, at the cap of {CAPS[-1]:,} tokens.",
        on.words,
        _rows(last),
        _ASSUMPTIONS,
        Chart("most output tokens", "throughput over static batching, x", tuple(curves)),
    )


def _factors(on: Machine, seed: int, watch: Watch, num_requests: int) -> dict[tuple[str, int], float]:
    """Throughput over that of the static batch, by system and cap."""
    factors: dict[tuple[str, int], float] = {}
    for cap in CAPS:
        demand = drawn_demand(num_requests, f"fixed:{PROMPT_TOKENS}", f"exponential:{OUTPUT_MEAN}:{cap}", seed)
        ends: dict[str, int] = {}
        for name, (policy, knobs) in SYSTEMS.items():
            watch.at(len(factors) + len(ends), len(CAPS) * len(SYSTEMS))
            point = Point(policy, at_once(demand), on.config(max_model_len=PROMPT_TOKENS + cap, **knobs))
            ends[name] = run_point(on.spec(demand, seed), point).end_ns
        factors |= {(name, cap): ends[STATIC] / end_ns for name, end_ns in ends.items()}
    return factors


def _rows(modelled: dict[str, float]) -> tuple[ResultRow, ...]:
    kernels = find_claim(_CLAIMS[STATIC]).words
    naive = (
        f"The published baseline also ran slower kernels, about {kernels} by Anyscale's own optimised static batch. "
        "Here all policies run the same ideal kernels, so that scheduling and memory alone remain: the rows over "
        "optimised static batching compare those."
    )
    batches = "How many requests the published servers ran at once is not known to us, and their kernels differ."
    return (
        ResultRow(
            "optimised static over naive static", None, "x", published(_CLAIMS[STATIC]),
            "the gain is one of kernels and not of scheduling, and the roofline has the same kernels for both.",
        ),
        ResultRow("continuous over naive static", modelled[CONTINUOUS], "x", published(_CLAIMS[CONTINUOUS]), naive),
        ResultRow("continuous with paged KV over naive static", modelled[PAGED], "x", published(_CLAIMS[PAGED]), naive),
        ResultRow(
            "continuous over optimised static", modelled[CONTINUOUS], "x",
            published(_CLAIMS[CONTINUOUS], _CLAIMS[STATIC]), batches,
        ),
        ResultRow(
            "continuous with paged KV over optimised static", modelled[PAGED], "x",
            published(_CLAIMS[PAGED], _CLAIMS[STATIC]), batches,
        ),
        ResultRow(
            "paged KV over reserved KV, both continuous", modelled[PAGED] / modelled[CONTINUOUS], "x",
            published(_CLAIMS[PAGED], _CLAIMS[CONTINUOUS]), batches,
        ),
    )  # fmt: skip
