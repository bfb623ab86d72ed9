"""Sarathi-Serve's ablation: hybrid batches alone, chunked prefill alone, and both.

Yi-34B on two A100 serves chat requests. Hybrid batches alone run whole prompts together with the decodes;
chunked prefill alone runs chunks and decodes in iterations of their own, by turns.
"""

from __future__ import annotations

from minibatch.analysis.reproduce.chat import LONGEST, assumption, chat_demand
from minibatch.analysis.reproduce.result import Reproduction, ResultRow, Watch, published
from minibatch.analysis.reproduce.setup import BARE_ROOFLINE, MEMORY, machine
from minibatch.analysis.summary_metrics import summary_metrics
from minibatch.engine.loop import Engine
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.engine.summary_recorder import SummaryRecorder
from minibatch.engine.sweep import SweepSpec
from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.policy import Policy
from minibatch.scheduling.state import SchedulerState
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.demand import Load

TITLE = "Sarathi-Serve: hybrid batches alone, chunked prefill alone, both"
BUDGET = 1024
RATE = 3.0
HYBRID, CHUNKED, BOTH = "hybrid", "chunked", "both"
IN_WORDS = {HYBRID: "hybrid batches alone", CHUNKED: "chunked prefill alone", BOTH: "both"}
METRICS = {"ttft": ("median TTFT", "median_ttft_ms"), "tbt": ("P99 time between tokens", "p99_itl_ms")}
"""By the last word of their claims."""

_WHY = {
    "ttft": "The published load is not known to us. TTFT holds the time in the queue, which depends on it, and the "
    "bare roofline charges small chunks nothing for kernels that they don't fill.",
    "tbt": "The longest prompts of the published trace and its load are not known to us, and a prompt that runs whole "
    "makes the 99th percentile as long as it is itself.",
}
_ASSUMPTIONS = (
    BARE_ROOFLINE,
    MEMORY,
    f"The load is assumed: Poisson arrivals at {RATE:g} requests/s, where the queue begins to grow. The budget of "
    f"{BUDGET:,} tokens an iteration is the one that a secondary source gives.",
    "Chunked prefill alone is a policy of this experiment: a chunk of prompts and an iteration of all decodes take "
    "turns. How the published variant ordered them is our assumption.",
    "Hybrid batches alone is continuous batching with mix_prefill; both is the chunked policy.",
)


class ChunksAlone:
    """Chunked prefill without hybrid batches: while prompts remain, chunks and decodes take turns.

    It remembers what runs next, so each run needs one of its own.
    """

    name = "chunks alone"
    summary = "chunks and decodes by turns"
    hold_slots = False

    def __init__(self) -> None:
        self._decodes_next = False

    def token_budget(self, config: SchedulerConfig) -> int:
        return config.max_num_batched_tokens

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        writing = [request for request in builder.running if not request.is_prefilling]
        if not (self._decodes_next and writing) and self._prefill(builder):
            self._decodes_next = True
            return builder.plan()
        self._decodes_next = False
        for request in writing:
            builder.decode(request)
        return builder.plan()

    def _prefill(self, builder: PlanBuilder) -> bool:
        """Whether there was a prompt to go on with or to begin."""
        for request in [request for request in builder.running if request.is_prefilling]:
            builder.prefill(request, min(builder.remaining_prefill(request), builder.budget_left))
        while builder.can_admit(builder.next_chunk):
            chunk = builder.next_chunk
            builder.prefill(builder.admit(chunk), chunk)
        return builder.budget_left < builder.token_budget


def reproduce(seed: int = 0, watch: Watch | None = None, num_requests: int = 200) -> Reproduction:
    """Run the three variants; StoppedError where `watch` says so."""
    watch = watch or Watch()
    on = machine("yi-34b", "A100-80GB", 2)
    demand = chat_demand(num_requests, seed)
    knobs = {"max_model_len": LONGEST, "max_num_batched_tokens": BUDGET}
    variants: dict[str, tuple[Policy, SchedulerConfig]] = {
        HYBRID: (find_policy("continuous"), on.config(**knobs | {"max_num_batched_tokens": LONGEST}, mix_prefill=True)),
        CHUNKED: (ChunksAlone(), on.config(**knobs)),
        BOTH: (find_policy("chunked"), on.config(**knobs)),
    }
    found = {}
    for done, (name, (policy, config)) in enumerate(variants.items()):
        watch.at(done, len(variants))
        found[name] = _metrics(on.spec(demand, seed), policy, config)
    return Reproduction(
        "sarathi-ablation",
        TITLE,
        f"{num_requests:,} chat requests, {demand.words}, Poisson arrivals at {RATE:g} requests/s; median TTFT and "
        "99th percentile of the time between tokens, over those of both together.",
        on.words,
        _rows(found),
        (assumption(), *_ASSUMPTIONS),
    )


def _metrics(spec: SweepSpec, policy: Policy, config: SchedulerConfig) -> dict[str, float]:
    """Milliseconds by name, of a run under a policy that need not be registered."""
    tally = SummaryRecorder(config.num_kv_blocks, spec.ceilings.ridge)
    engine = Engine(
        arrival_source(spec.demand.requests(Load("rate", RATE), spec.seed)),
        policy,
        RooflineExecutor(spec.shape, spec.ceilings, block_size=config.block_size),
        config,
        spec.shape,
        check=False,
        fast_forward=True,
        recorder=tally,
    )
    engine.run()
    metrics = summary_metrics(tally.outcome(engine.is_done))
    return {name: metrics[key] or 0.0 for name, (_, key) in METRICS.items()}


def _rows(found: dict[str, dict[str, float]]) -> tuple[ResultRow, ...]:
    """Over both together; then what both come to, in seconds."""
    rows = [
        ResultRow(
            f"{words}: {IN_WORDS[variant]} over both", found[variant][name] / found[BOTH][name], "x",
            published(f"sarathi-ablation-{variant}-{name}", f"sarathi-ablation-{BOTH}-{name}"), _WHY[name],
        )
        for name, (words, _) in METRICS.items()
        for variant in (HYBRID, CHUNKED)
    ]  # fmt: skip
    absolute = "Absolute times depend on kernels, load and lengths, none of which are those of the published runs."
    rows += [
        ResultRow(
            f"{words}: both", found[BOTH][name] / 1e3, "s", published(f"sarathi-ablation-{BOTH}-{name}"), absolute
        )
        for name, (words, _) in METRICS.items()
    ]
    return tuple(rows)
