"""What several tests need: an executor without a model, and workloads by lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from minibatch.engine.executor import Result
from minibatch.engine.loop import Engine
from minibatch.recording.schema import BlockEvent, Clock, Header, Recording
from minibatch.roofline.costs import ModelShape
from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.policy import Policy
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.arrivals import ClosedLoop
from minibatch.workload.request import Request, SamplingParams

SHAPE = ModelShape(n_layer=2, n_embd=32, n_head=4, n_kv_head=4, vocab_size=97, n_inner=128)
MS = 1_000_000


def token_of(request_id: int, index: int) -> int:
    """The token that `CountingExecutor` gives as output number `index` of a request."""
    return 1 + (request_id * 31 + index) % 96


class CountingExecutor:
    """Takes 1 ms an iteration and 0.1 ms a token, and generates tokens that tell their place."""

    clock: Clock = "modelled"
    device = "a table of durations"

    def execute(self, plan: Plan) -> Result:
        tokens = {
            seq.request.request_id: token_of(seq.request.request_id, len(seq.request.output_token_ids))
            for seq in plan.seqs
            if seq.samples
        }
        return Result(tokens, MS + plan.num_tokens * MS // 10)

    def forget(self, request_id: int) -> None:
        """It keeps nothing of requests."""


def requests_of(lengths: Sequence[tuple[int, int] | tuple[int, int, float]]) -> list[Request]:
    """Requests from (prompt tokens, output tokens[, arrival in ms])."""
    return [
        Request(
            request_id,
            tuple(range(1, prompt + 1)),
            SamplingParams(max_tokens, ignore_eos=True),
            round(rest[0] * MS) if rest else 0,
        )
        for request_id, (prompt, max_tokens, *rest) in enumerate(lengths)
    ]


def engine_of(
    requests: Sequence[Request], policy: str | Policy, config: SchedulerConfig, loop: ClosedLoop | None = None
) -> Engine:
    chosen = find_policy(policy) if isinstance(policy, str) else policy
    return Engine(arrival_source(requests, loop), chosen, CountingExecutor(), config, SHAPE)


def cut_short(lengths: Sequence[tuple[int, int]], steps: int, think_s: float) -> Recording:
    """What one user had sent when the run ended after so many steps."""
    loop = ClosedLoop(1, think_s)
    config = SchedulerConfig(max_num_seqs=2, num_kv_blocks=64, max_model_len=64)
    engine = engine_of(requests_of(lengths), "continuous", config, loop)
    for _ in range(steps):
        engine.step()
    return engine.recording(header_of(engine, loop))


def header_of(engine: Engine, loop: ClosedLoop | None = None) -> Header:
    config = engine.state.config
    return Header(
        policy=engine.policy.name,
        clock=engine.executor.clock,
        device=engine.executor.device,
        model="none",
        dtype="float32",
        scenario="test",
        seed=0,
        token_budget=engine.policy.token_budget(config),
        config=asdict(config),
        shape=asdict(SHAPE),
        ceilings={"flops_per_s": 1e11, "bytes_per_s": 1e10, "source": "made up"},
        closed_loop=None if loop is None else asdict(loop),
    )


def record(
    requests: Sequence[Request], policy: str | Policy, config: SchedulerConfig, loop: ClosedLoop | None = None
) -> Recording:
    """The recording of a whole run."""
    engine = engine_of(requests, policy, config, loop)
    engine.run()
    return engine.recording(header_of(engine, loop))


def owner_rows(recording: Recording) -> list[tuple[int, int, int]]:
    """(iteration, block, its owner from then on, -1 for none) of every event of a KV block that nothing shares."""
    names = ("iteration", "block", "request", "event")
    rows = zip(*(recording.blocks[name].tolist() for name in names), strict=True)
    return [(i, block, request if event == BlockEvent.ACQUIRE else -1) for i, block, request, event in rows]
