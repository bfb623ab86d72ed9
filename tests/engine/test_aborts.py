"""Clients that leave: what an abort frees, what it leaves alone, and that recordings of it can be repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.decisions.reasons import Code
from minibatch.engine.fork import fork
from minibatch.engine.loop import Engine
from minibatch.engine.replay import replay
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.engine.summary_recorder import SummaryRecorder
from minibatch.engine.torch_executor import TorchExecutor
from minibatch.engine.verify import random_workload
from minibatch.model.reference import generate
from minibatch.recording.schema import Recording
from minibatch.roofline.ceilings import Ceilings
from minibatch.scheduling import POLICIES, find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.invariants import check_state
from minibatch.scheduling.request_state import FinishReason, RequestStatus
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.arrivals import ClosedLoop
from tests.helpers import SHAPE, engine_of, header_of, requests_of, token_of
from tests.strategies import configs, workloads
from tests.tiny_gpt2 import CONFIG, make_model

CEILINGS = Ceilings(1e11, 1e10, device="a made-up device", source="made up")
aborts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 13)), max_size=8)
"""(step before which, request id): some ids are of no request."""


def run(engine: Engine, leave: list[tuple[int, int]], limit: int = 10_000) -> Engine:
    """Step to the end, aborting as `leave` says."""
    for step in range(limit):
        for at, request_id in leave:
            if at == step:
                engine.abort(request_id)
        if engine.step() is None:
            return engine
        check_state(engine.state, list(engine.requests))
    raise AssertionError("the run does not end")


def aborted(recording: Recording) -> list[tuple[int, int, int]]:
    """(request, tokens, blocks) of every abort."""
    return [
        (reason.request_id, reason.numbers["tokens"], reason.numbers["blocks"])
        for _, reason in recording.each_reason()
        if reason.code is Code.ABORTED
    ]


@given(workloads, configs(), st.sampled_from([*POLICIES]), aborts, st.none() | st.builds(ClosedLoop, st.integers(1, 3)))
def test_whoever_leaves_frees_all_and_changes_no_token(workload, config, policy, leave, loop):
    engine = run(engine_of(requests_of(workload), policy, config, loop), leave)
    assert engine.is_done
    assert engine.num_finished == engine.num_arrived == len(workload)
    assert engine.state.pool.num_held == 0
    assert engine.state.free_slots == list(range(config.max_num_seqs))
    gone = {request_id: tokens for request_id, tokens, _ in aborted(engine.recording(header_of(engine)))}
    for request in engine.requests:
        written = len(request.output_token_ids)
        assert request.output_token_ids == [token_of(request.request_id, k) for k in range(written)]
        assert (request.finish_reason is FinishReason.ABORT) == (request.request_id in gone)
        if request.request_id in gone:
            assert written == gone[request.request_id]
        elif request.finish_reason is not FinishReason.REJECTED:
            assert written == request.request.sampling.max_tokens


@given(workloads, configs(), st.sampled_from([*POLICIES]), aborts, st.integers(0, 60))
def test_a_run_with_aborts_is_repeated_and_forked(workload, config, policy, leave, iteration):
    executor = RooflineExecutor(SHAPE, CEILINGS, block_size=config.block_size)
    engine = run(Engine(arrival_source(requests_of(workload)), find_policy(policy), executor, config, SHAPE), leave)
    recording = engine.recording(header_of(engine))
    iteration = min(iteration, recording.num_iterations)
    replay(recording, iteration)  # ValueError unless it does the same up to there
    both = fork(recording, iteration, "policy", "continuous")
    assert aborted(both.unchanged) == aborted(recording)
    assert both.unchanged.header.complete
    assert both.changed.header.complete
    leavers = {request_id for request_id, _, _ in aborted(recording)}
    assert {request_id for request_id, _, _ in aborted(both.changed)} <= leavers


@given(workloads, configs(), st.sampled_from([*POLICIES]), aborts)
def test_a_summary_counts_those_who_stayed(workload, config, policy, leave):
    def outcome(recorder):
        executor = RooflineExecutor(SHAPE, CEILINGS, block_size=config.block_size)
        source = arrival_source(requests_of(workload))
        return run(Engine(source, find_policy(policy), executor, config, SHAPE, recorder=recorder), leave)

    tally = SummaryRecorder(config.num_kv_blocks, CEILINGS.ridge)
    outcome(tally)
    stayed = [
        r.request_id for r in outcome(None).requests if r.finish_reason in (FinishReason.LENGTH, FinishReason.STOP)
    ]
    assert sorted(tally.outcome(True).requests["request"].tolist()) == stayed


@pytest.mark.slow
def test_an_abort_frees_what_the_request_held_wherever_it_was():
    """Two slots and few blocks, so that requests run, wait, are half prefilled and swapped out."""
    config = SchedulerConfig(
        max_num_seqs=3, max_num_batched_tokens=8, max_model_len=64, block_size=4, num_kv_blocks=12,
        watermark=0, preemption_mode="swap",
    )  # fmt: skip
    places: dict[str, bool] = {}
    for step in range(40):
        for request_id in range(5):
            engine = engine_of(requests_of([(20, 24)] * 5), "chunked", config)
            for _ in range(step):
                engine.step()
            if request_id >= len(engine.requests) or engine.requests[request_id].status is RequestStatus.FINISHED:
                continue
            request = engine.requests[request_id]
            half = request.status is RequestStatus.RUNNING and request.is_prefilling
            places["half prefilled" if half else str(request.status)] = True
            held = len(request.block_table)
            engine.abort(request_id)
            engine.abort(request_id)  # the second has no effect
            run(engine, [])
            ((who, _, blocks),) = aborted(engine.recording(header_of(engine)))
            assert (who, blocks) == (request_id, held)
    assert set(places) == {"half prefilled", "running", "swapped", "waiting"}


def test_a_static_batch_pads_the_slot_of_one_that_left():
    config = SchedulerConfig(max_num_seqs=2, max_model_len=64, num_kv_blocks=16)
    engine = engine_of(requests_of([(8, 10), (8, 10), (8, 2)]), "static", config)
    engine.step()
    engine.abort(0)
    plan = engine.step()
    assert plan is not None
    assert [(seq.slot, seq.num_tokens, seq.num_padding) for seq in plan.seqs] == [(1, 1, 0), (0, 0, 1)]
    assert engine.requests[2].status is RequestStatus.WAITING
    run(engine, [])
    assert engine.requests[2].finish_reason is FinishReason.LENGTH


def test_unknown_and_finished_requests_are_left_alone():
    engine = engine_of(requests_of([(4, 1), (4, 3)]), "continuous", SchedulerConfig())
    engine.step()
    for request_id in (0, 2, 99, -1):
        engine.abort(request_id)
    run(engine, [])
    assert aborted(engine.recording(header_of(engine))) == []


def test_an_abort_comes_before_iterations_that_repeat():
    """A thread aborts while the engine takes many iterations at once: the next plan knows of it."""
    config = SchedulerConfig(max_model_len=1024)
    executor = RooflineExecutor(SHAPE, CEILINGS)
    source = arrival_source(requests_of([(4, 900), (4, 900)]))
    engine = Engine(source, find_policy("continuous"), executor, config, SHAPE, fast_forward=True)
    inner = executor.execute

    def execute(plan):
        engine.abort(1)
        return inner(plan)

    executor.execute = execute
    engine.step()
    assert engine.recorder.num_iterations == 1
    engine.step()
    assert engine.requests[1].finish_reason is FinishReason.ABORT
    assert len(engine.requests[1].output_token_ids) == 1


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mode", ["recompute", "swap"])
def test_the_others_write_what_transformers_writes(reference, policy, mode):
    model = make_model(reference, "float64", reference.device)
    workload = random_workload(3, CONFIG.vocab_size)
    config = workload.config("paged", mode)
    executor = TorchExecutor(model, num_kv_blocks=config.num_kv_blocks, block_size=config.block_size)
    engine = Engine(arrival_source(workload.requests), find_policy(policy), executor, config, model.shape)
    run(engine, [(2, 0), (6, 2), (9, 3), (12, 1)])
    for request in engine.requests:
        sampling = request.request.sampling
        expected = generate(reference, request.request.prompt_token_ids, sampling.max_tokens)
        assert request.output_token_ids == expected[: len(request.output_token_ids)]
        assert request.finish_reason is FinishReason.ABORT or len(request.output_token_ids) == sampling.max_tokens
    assert any(request.finish_reason is FinishReason.ABORT for request in engine.requests)
