"""What holds for every fork of every run, over random workloads, knobs and points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from minibatch.engine.executor import Result
from minibatch.engine.fork import KNOBS, Fork, fork
from minibatch.engine.loop import Engine
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.recording import storage
from minibatch.recording.schema import Clock, Recording
from minibatch.recording.validation import check
from minibatch.roofline.ceilings import Ceilings
from minibatch.scheduling import POLICIES, find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.request import Request
from tests.helpers import SHAPE, header_of, requests_of, token_of
from tests.scheduling.test_properties import ledgers_sum
from tests.strategies import configs, workloads

CEILINGS = Ceilings(1e11, 1e10, device="a made-up device", source="made up")
TABLES = ("iterations", "entries", "blocks", "reasons")
VALUES = {
    "policy": st.sampled_from(list(POLICIES)),
    "max_num_seqs": st.integers(1, 8),
    "max_num_batched_tokens": st.integers(1, 64),
    "max_model_len": st.integers(10, 80),
    "num_kv_blocks": st.integers(1, 64),
    "preemption_mode": st.sampled_from(["recompute", "swap"]),
    "watermark": st.sampled_from([0.0, 0.3, 0.9]),
    "max_wait": st.sampled_from([0.0, 0.01, 0.1]),
    "compute_padding": st.booleans(),
    "mix_prefill": st.booleans(),
    "queue_order": st.sampled_from(["fcfs", "shortest", "priority", "fair"]),
    "queue_ageing": st.sampled_from([0.0, 500.0]),
    "long_prefill_token_threshold": st.integers(0, 9),
    "schedule_conservativeness": st.sampled_from([0.3, 1.0]),
}
turns = st.sampled_from(KNOBS).flatmap(lambda knob: st.tuples(st.just(knob), VALUES[knob]))
policies = st.sampled_from(list(POLICIES))
points = st.floats(0, 1)
"""Where to fork, as a share of the run."""


class Device:
    """A made-up real device: no two iterations take as long, and texts end of themselves."""

    clock: Clock = "measured"
    device = CEILINGS.device

    def __init__(self) -> None:
        self._random = Random(0)

    def execute(self, plan: Plan) -> Result:
        tokens = {
            seq.request.request_id: token_of(seq.request.request_id, len(seq.request.output_token_ids))
            for seq in plan.seqs
            if seq.samples
        }
        return Result(tokens, self._random.randrange(100_000, 5_000_000))

    def forget(self, request_id: int) -> None:
        """It keeps nothing of requests."""


def modelled(workload: Sequence, policy: str, config: SchedulerConfig, steps: int | None = None) -> Recording:
    executor = RooflineExecutor(SHAPE, CEILINGS, block_size=config.block_size)
    return run(Engine(arrival_source(requests_of(workload)), find_policy(policy), executor, config, SHAPE), steps)


def measured(workload: Sequence, policy: str, config: SchedulerConfig, steps: int | None = None) -> Recording:
    requests: list[Request] = [
        replace(request, sampling=replace(request.sampling, ignore_eos=False)) for request in requests_of(workload)
    ]
    return run(Engine(arrival_source(requests), find_policy(policy), Device(), config, SHAPE, eos_token_id=40), steps)


def run(engine: Engine, steps: int | None) -> Recording:
    while engine.step() is not None and (steps is None or engine.recorder.num_iterations < steps):
        pass
    return engine.recording(header_of(engine))


def content(recording: Recording) -> Recording:
    """All but the header's word about the fork, to compare."""
    return replace(recording, header=replace(recording.header, fork=None, token_budget=0))


def same(a: Recording, b: Recording) -> bool:
    return storage.dumps([content(a)]) == storage.dumps([content(b)])


def attempt(recording: Recording, k: int, knob: str, value: object) -> Fork:
    """The fork; drops examples that are rejected, which only what shrinks may be."""
    before = recording.header.policy if knob == "policy" else recording.header.config[knob]
    try:
        return fork(recording, k, knob, value)
    except ValueError as error:
        sentence = str(error)
    # The header has the knob as a fork left it, which before the fork may be as much of a cut.
    cuts = knob in ("max_num_seqs", "max_num_batched_tokens", "max_model_len", "num_kv_blocks") and value <= before
    assert cuts or ("laid out" in sentence and knob == "max_model_len") or "less than max_num_seqs" in sentence
    reject()


def tokens_of(recording: Recording) -> list[list[int]]:
    return [list(request.output_token_ids) for request in recording.requests]


def past_is(recording: Recording, future: Recording, k: int) -> None:
    for name in TABLES:
        for column, old in getattr(recording, name).items():
            new = getattr(future, name)[column]
            n = k if name == "iterations" else int(np.sum(getattr(recording, name)["iteration"] < k))
            assert np.array_equal(new[:n], old[:n]), (name, column)
    n = int(np.sum(recording.reasons["iteration"] < k))
    assert future.reason_numbers[:n] == recording.reason_numbers[:n]


def batch(recording: Recording, i: int) -> list[tuple[int, ...]]:
    """What the schedule says of iteration `i`: who computes what where."""
    here = recording.entries["iteration"] == i
    columns = (recording.entries[name][here].tolist() for name in ("slot", "request", "phase", "start", "tokens"))
    return sorted(zip(*columns, strict=True))


@settings(deadline=None)
@given(workloads, configs(), policies, points, st.sampled_from(KNOBS))
def test_without_a_change_the_future_is_the_recorded_one(workload, config, policy, share, knob):
    recording = modelled(workload, policy, config)
    k = round(share * recording.num_iterations)
    value = policy if knob == "policy" else getattr(config, knob)
    futures = fork(recording, k, knob, value)
    assert same(futures.unchanged, recording)
    assert storage.dumps([futures.unchanged]) == storage.dumps([futures.changed])
    assert futures.differs_at is None
    assert futures.changed.header.token_budget == recording.header.token_budget


@settings(deadline=None)
@given(workloads, configs(), policies, points, turns)
def test_a_fork_keeps_the_past_and_the_tokens(workload, config, policy, share, turn):
    recording = storage.loads(storage.dumps([measured(workload, policy, config)]))[0]
    k = round(share * recording.num_iterations)
    futures = attempt(recording, k, *turn)
    again = fork(recording, k, *turn)
    before = tokens_of(recording)
    for future, repeated in ((futures.unchanged, again.unchanged), (futures.changed, again.changed)):
        past_is(recording, future, k)
        check(future)
        assert storage.dumps(storage.loads(storage.dumps([future]))) == storage.dumps([future])
        assert storage.dumps([future]) == storage.dumps([repeated])
        ledgers_sum(future)
        assert future.header.complete
        assert future.header.clock == "modelled"
        assert {future.header.clock_at(i) for i in range(k)} <= {"measured"}
        assert future.header.clock_at(k) == "modelled"
        for old, new, tokens, was in zip(before, tokens_of(future), future.requests, recording.requests, strict=True):
            rejected = "rejected" in (tokens.finish_reason, was.finish_reason)
            assert rejected or (new == old and tokens.finish_reason == was.finish_reason)
    assert [r.finish_reason for r in futures.unchanged.requests] == [r.finish_reason for r in recording.requests]
    parts_where_they_differ(futures, k)


def parts_where_they_differ(futures: Fork, k: int) -> None:
    n = min(futures.unchanged.num_iterations, futures.changed.num_iterations)
    end = n if futures.differs_at is None else futures.differs_at
    assert k <= end <= n
    assert all(batch(futures.unchanged, i) == batch(futures.changed, i) for i in range(end))
    if futures.differs_at is None:
        assert futures.unchanged.num_iterations == futures.changed.num_iterations
        return
    assert futures.difference.startswith(f"at step {end} the unchanged run ")
    first, second = futures.difference.split("; with ")
    assert first.removeprefix(f"at step {end} the unchanged run ") != second.split(" it ", 1)[1]


@settings(deadline=None)
@given(workloads, configs(), policies, points, points, turns, turns)
def test_a_fork_can_be_forked(workload, config, policy, share, later_share, turn, other):
    recording = measured(workload, policy, config)
    k = round(share * recording.num_iterations)
    first = attempt(recording, k, *turn).changed
    later = k + round(later_share * (first.num_iterations - k))
    second = attempt(first, later, *other)
    assert same(second.unchanged, first)
    past_is(first, second.changed, later)
    check(second.changed)
    assert second.changed.header.fork["earlier"] == first.header.fork
    assert [second.changed.header.clock_at(i) for i in range(later)] == ["measured"] * k + ["modelled"] * (later - k)


@settings(deadline=None)
@given(workloads, configs(), policies, points, points, turns, turns)
def test_before_a_fork_there_is_none(workload, config, policy, share, later_share, turn, other):
    recording = modelled(workload, policy, config)
    k = round(share * recording.num_iterations)
    early = int(later_share * k)
    assume(early < k)
    forked, plain = attempt(attempt(recording, k, *turn).changed, early, *other), attempt(recording, early, *other)
    assert storage.dumps([forked.changed, forked.unchanged]) == storage.dumps([plain.changed, plain.unchanged])


@settings(deadline=None)
@given(workloads, configs(), policies, st.integers(0, 20), points)
def test_a_cancelled_run_goes_on(workload, config, policy, steps, share):
    whole, cut = (modelled(workload, policy, config, n) for n in (None, steps))
    k = round(share * cut.num_iterations)
    assert same(fork(cut, k, "max_num_seqs", config.max_num_seqs).changed, whole)
