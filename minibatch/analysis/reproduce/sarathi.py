"""Agrawal et al., "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve" (OSDI 2024): capacity.

The highest rate of chat requests at which the 99th percentile of the time between tokens keeps an SLO:
chunked prefill against whole prompts that run first (vLLM V0), under a strict and a relaxed SLO.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minibatch.analysis.registry.claims import find_claim
from minibatch.analysis.reproduce.chat import LONGEST, assumption, chat_demand
from minibatch.analysis.reproduce.result import (
    Chart,
    PlottedCurve,
    Published,
    Reproduction,
    ResultRow,
    Watch,
    published,
)
from minibatch.analysis.reproduce.setup import BARE_ROOFLINE, MEMORY, Machine, machine
from minibatch.analysis.summary_metrics import summary_metrics
from minibatch.analysis.sweeps.search import highest_load
from minibatch.engine.sweep import Point, SweepSpec, run_point
from minibatch.roofline.costs import Totals, operators
from minibatch.roofline.step_model import StepModel
from minibatch.workload.demand import Load

TITLE = "Sarathi-Serve: capacity under an SLO of the time between tokens"
MACHINES = {"mistral-7b": 1, "yi-34b": 2}
"""Models, and how many A100-80GB share each."""
SLOS = {"strict": "sarathi-slo-strict", "relaxed": "sarathi-slo-relaxed"}
WHOLE = "whole prompts first"
BUDGETS = (512, 2048)
MAX_NUM_SEQS = 128
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    WHOLE: ("continuous", {"max_num_batched_tokens": LONGEST}),
    **{f"chunked, budget {budget:,}": ("chunked", {"max_num_batched_tokens": budget}) for budget in BUDGETS},
}
SMALL, LARGE = list(SYSTEMS)[1:]
PUBLISHED = {
    ("mistral-7b", "strict", SMALL): "sarathi-capacity-mistral-7b",
    ("yi-34b", "strict", SMALL): "sarathi-capacity-yi-34b",
    ("yi-34b", "relaxed", LARGE): "sarathi-relaxed-yi-34b",
}
CHAT_ALONE = {"mistral-7b": "sarathi-chat-mistral-7b", "yi-34b": "sarathi-chat-yi-34b"}
"""What a secondary source gives for the strict SLO and chat requests alone, as served here."""
LONGEST_QUEUE_MS = 2000.0
LOWEST, HIGHEST = 0.125, 64.0
"""Rates of the search, requests/s."""
SLO_BATCH, SLO_CONTEXT = 32, 4096

_ABOUT = 100  # runs, of which most serve two searches
_STRICT = (
    "The bare roofline charges small chunks nothing for kernels that they don't fill, so the capacity of chunked "
    "prefill may be too high; and the 99th percentile jumps where more than one gap in a hundred holds a prompt, so "
    "the assumed lengths move the capacity of whole prompts much."
)
_RELAXED = (
    "The relaxed SLO is so far above a whole prompt of at most 4,096 tokens that both serve all that the device can. "
    "Longer prompts, and time that a server loses between iterations, might tell them apart; neither is modelled."
)
_ASSUMPTIONS = (
    BARE_ROOFLINE,
    MEMORY,
    f"The SLO is a multiple of a modelled iteration of {SLO_BATCH} decodes with {SLO_CONTEXT:,} tokens of context "
    "each; which iteration the published multiple is of is our assumption.",
    f"A rate also counts as too high where the median queue time is above {LONGEST_QUEUE_MS / 1e3:g} s.",
    f"At most {MAX_NUM_SEQS} requests run at once. Whole prompts run first, up to {LONGEST:,} tokens an iteration, as "
    "in vLLM V0. The published factors stand beside the SLO and the budget that, by a secondary "
    "source, they belong to.",
    "All-reduces between two accelerators wait for the link's bandwidth alone.",
)


@dataclass(frozen=True, slots=True)
class _Tail:
    """Of one run: 99th percentile of the time between tokens, and median queue time, in milliseconds."""

    tbt_ms: float
    queue_ms: float


class _Server:
    """One model's runs so far, by system and rate."""

    def __init__(self, on: Machine, spec: SweepSpec, watch: Watch, before: int) -> None:
        self.on = on
        self._study = spec
        self._watch = watch
        self._before = before
        self.tails: dict[tuple[str, float], _Tail] = {}

    def capacity(self, system: str, slo_ms: float) -> float | None:
        """The highest rate in requests/s that keeps the SLO; None where none does."""

        def meets(rate: float) -> bool:
            tail = self._tail(system, rate)
            return tail.tbt_ms <= slo_ms and tail.queue_ms <= LONGEST_QUEUE_MS

        return highest_load(meets, LOWEST, HIGHEST).load

    def _tail(self, system: str, rate: float) -> _Tail:
        if (system, rate) not in self.tails:
            self._watch.at(self._before + len(self.tails), _ABOUT)
            policy, knobs = SYSTEMS[system]
            config = self.on.config(max_model_len=LONGEST, max_num_seqs=MAX_NUM_SEQS, **knobs)
            metrics = summary_metrics(run_point(self._study, Point(policy, Load("rate", rate), config)))
            self.tails[system, rate] = _Tail(metrics["p99_itl_ms"] or 0.0, metrics["median_queue_time_ms"] or 0.0)
        return self.tails[system, rate]

    def curve(self, system: str) -> PlottedCurve:
        """The 99th percentile over rate."""
        runs = sorted((rate, tail.tbt_ms) for (name, rate), tail in self.tails.items() if name == system)
        return PlottedCurve(system, "modelled", tuple(runs))


def decode_ms(on: Machine) -> float:
    """An iteration of `SLO_BATCH` decodes over `SLO_CONTEXT` tokens each, in milliseconds, by the roofline."""
    context = SLO_BATCH * SLO_CONTEXT
    parts = operators(Totals(SLO_BATCH, context, context, SLO_BATCH), on.shape)
    return 1e3 * float(StepModel(on.shape, on.ceilings).seconds(parts, SLO_BATCH, SLO_BATCH))


def slos_ms(on: Machine) -> dict[str, float]:
    """The SLOs of a machine in milliseconds, by name."""
    return {name: find_claim(claim).value * decode_ms(on) for name, claim in SLOS.items()}


def reproduce(seed: int = 0, watch: Watch | None = None, num_requests: int = 200) -> Reproduction:
    """Search the capacity of every system, model and SLO; StoppedError where `watch` says so."""
    rows: list[ResultRow] = []
    servers: list[_Server] = []
    demand = chat_demand(num_requests, seed)
    for model, num_devices in MACHINES.items():
        on = machine(model, "A100-80GB", num_devices)
        before = sum(len(server.tails) for server in servers)
        servers.append(_Server(on, on.spec(demand, seed), watch or Watch(), before))
        rows += _rows(servers[-1])
    falcon = "neither Falcon-180B nor pipeline parallelism is among what we model."
    rows.append(
        ResultRow("falcon-180b, pipeline parallel: chunked over whole prompts first", None, "x",
            published("sarathi-capacity-falcon-180b"), falcon)
    )  # fmt: skip
    curves = [servers[-1].curve(system) for system in SYSTEMS]
    for name, slo_ms in slos_ms(servers[-1].on).items():
        rates = [rate for curve in curves for rate, _ in curve.points]
        curves.append(PlottedCurve(f"{name} SLO", "modelled", ((min(rates), slo_ms), (max(rates), slo_ms))))
    return Reproduction(
        "sarathi",
        TITLE,
        f"{num_requests:,} chat requests, {demand.words}, Poisson arrivals; the highest rate that keeps the SLO, over "
        "that of whole prompts first.",
        "; ".join(server.on.words for server in servers),
        tuple(rows),
        (assumption(), *_ASSUMPTIONS),
        Chart("requests/s", f"P99 time between tokens of {servers[-1].on.model}, ms", tuple(curves)),
    )


def _rows(server: _Server) -> list[ResultRow]:
    rows = []
    for slo, slo_ms in slos_ms(server.on).items():
        baseline = server.capacity(WHOLE, slo_ms)
        for system in (name for name in SYSTEMS if name != WHOLE):
            what = f"{server.on.model}, {slo} SLO of {slo_ms:.0f} ms: {system}"
            capacity = server.capacity(system, slo_ms)
            claim_id = PUBLISHED.get((server.on.model, slo, system))
            figure = published(claim_id) if claim_id else None
            rows.append(_row(what, capacity, baseline, figure, _why(server.on.model, slo)))
    return rows


def _why(model: str, slo: str) -> str:
    if slo != "strict":
        return _RELAXED
    alone = find_claim(CHAT_ALONE[model])
    return f"{_STRICT} For chat requests alone a secondary source gives {alone.words}, which is further off."


def _row(what: str, capacity: float | None, baseline: float | None, figure: Published | None, why: str) -> ResultRow:
    if capacity is None or baseline is None:
        who = "it" if capacity is None else WHOLE
        return ResultRow(what, None, "x", figure, f"no rate from {LOWEST:g} requests/s lets {who} keep the SLO.")
    return ResultRow(what, capacity / baseline, "x", figure, why if figure else "")
