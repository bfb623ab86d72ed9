"""What holds for every policy over random workloads and knobs, read from the recording alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.analysis.ledger import request_ledger, slot_ledger
from minibatch.analysis.timeline import Timeline
from minibatch.decisions.phase import Phase
from minibatch.recording import storage
from minibatch.recording.schema import Recording
from minibatch.roofline.costs import total
from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.invariants import check_state
from minibatch.scheduling.policy import rules_of
from minibatch.scheduling.rules import Admits, blocks_always_free
from minibatch.workload.request import Request
from tests.helpers import engine_of, header_of, owner_rows, requests_of, token_of
from tests.strategies import configs, workloads

lengths = st.lists(st.one_of(st.none(), st.integers(1, 30)), min_size=12, max_size=12)
"""How long the answers are, apart from their caps; None: as long as the cap."""


def told_apart(workload: list, true: list[int | None]) -> list[Request]:
    """Requests of several tenants and priorities, whose answers end before their caps or at them."""
    return [
        replace(request, true_output_tokens=true[k], tenant="abc"[k % 3], priority=k % 2)
        for k, request in enumerate(requests_of(workload))
    ]


@settings(deadline=None, max_examples=150)
@given(workloads, lengths, configs(), st.sampled_from(list(POLICIES)))
def test_every_request_ends_and_every_count_agrees(workload, true, config, policy):
    requests = told_apart(workload, true)
    engine = engine_of(requests, policy, config)
    assert engine.run()
    recording = engine.recording(header_of(engine))

    rules = rules_of(POLICIES[policy])
    kept = 0 if rules.admits is Admits.FIRST_CHUNK else blocks_always_free(rules, config)
    usable = config.num_kv_blocks - config.num_kv_blocks % engine.state.pool.unit
    for state in engine.requests:
        rejected = state.finish_reason == "rejected"
        cap, true_length = state.request.sampling.max_tokens, state.request.true_output_tokens
        written = 0 if rejected else min(cap, true_length or cap)
        assert state.output_token_ids == [token_of(state.request_id, i) for i in range(written)]
        assert rejected or state.finish_reason == ("stop" if written < cap else "length")
        total = state.request.num_prompt_tokens + cap
        assert rejected == (total > config.max_model_len or engine.state.pool.max_blocks(total - 1) + kept > usable)
    blocks_are_owned_by_one(recording)
    budget_and_slots_hold(recording, config)
    ledgers_sum(recording)
    assert storage.dumps(storage.loads(storage.dumps([recording]))) == storage.dumps([recording])


def blocks_are_owned_by_one(recording: Recording) -> None:
    owner: dict[int, int] = {}
    for _, block, request in owner_rows(recording):
        if request >= 0:
            assert block not in owner, f"block {block} goes from r{owner.get(block)} to r{request}"
            owner[block] = request
        else:
            del owner[block]
    assert not owner, "finished requests hold blocks"


def budget_and_slots_hold(recording: Recording, config: SchedulerConfig) -> None:
    entries = recording.entries
    computed = defaultdict(int)
    for i, tokens, padding in zip(entries["iteration"], entries["tokens"], entries["padding"], strict=True):
        computed[i] += tokens + padding
    assert max(computed.values(), default=0) <= recording.header.token_budget
    assert all(computed[i] > 0 for i in range(recording.num_iterations))
    places = list(zip(entries["iteration"].tolist(), entries["slot"].tolist(), strict=True))
    assert len(set(places)) == len(places)
    assert (entries["slot"] < config.max_num_seqs).all()


def ledgers_sum(recording: Recording) -> None:
    timeline = Timeline(recording)
    done = timeline.completed
    requests, slots = request_ledger(timeline), slot_ledger(timeline)
    assert all((column >= 0).all() for column in (*requests.values(), *slots.values()))
    assert (sum(requests.values())[done] == (timeline.last_token_ns - timeline.arrival_ns)[done]).all()
    assert (sum(slots.values()) == recording.end_ns).all()
    assert (timeline.num_waiting >= 0).all()


@settings(deadline=None)
@given(workloads, configs(), st.sampled_from(list(POLICIES)))
def test_scheduling_is_a_pure_decision(workload, config, policy):
    """Asking twice gives the same plan, and asking changes nothing."""
    engine = engine_of(requests_of(workload), policy, config)
    for _ in range(30):
        before = snapshot(engine)
        first, second = engine.policy.schedule(engine.state), engine.policy.schedule(engine.state)
        assert (first.seqs, first.held, first.admitted) == (second.seqs, second.held, second.admitted)
        assert (first.preempted, first.new_blocks) == (second.preempted, second.new_blocks)
        assert snapshot(engine) == before
        if engine.step() is None:
            break


@settings(deadline=None)
@given(workloads, configs(), st.sampled_from(list(POLICIES)))
def test_a_batch_counts_the_same_by_columns_and_one_by_one(workload, config, policy):
    engine = engine_of(requests_of(workload), policy, config)
    for _ in range(30):
        plan = engine.policy.schedule(engine.state)
        seqs = plan.seqs
        assert total(plan.not_decoding, plan.decodes.starts) == total(seqs)
        assert plan.num_seqs == len(seqs)
        assert plan.num_tokens == sum(seq.num_tokens + seq.num_padding for seq in seqs)
        for seq in seqs:
            stop = seq.start + seq.num_tokens
            assert seq.samples == (seq.num_tokens > 0 and stop == seq.request.num_tokens)
            assert stop <= len(seq.block_table) * config.block_size or not seq.num_tokens
        if engine.step() is None:
            break


def snapshot(engine) -> tuple:
    state = engine.state
    tables = [(r.request_id, r.status, r.num_computed_tokens, r.slot, tuple(r.block_table)) for r in engine.requests]
    return tables, list(state.waiting), list(state.running), list(state.swapped), list(state.pool.free_units)


@settings(deadline=None)
@given(workloads, configs())
def test_tokens_do_not_depend_on_the_policy(workload, config):
    written = []
    for policy in POLICIES:
        engine = engine_of(requests_of(workload), policy, config)
        engine.run()
        written.append([request.output_token_ids for request in engine.requests])
    for tokens in zip(*written, strict=True):  # some engines reject what others can serve
        assert len({tuple(each) for each in tokens if each}) <= 1


@settings(deadline=None)
@given(workloads, configs(), st.sampled_from(list(POLICIES)))
def test_the_same_run_is_recorded_bit_for_bit(workload, config, policy):
    def once() -> bytes:
        engine = engine_of(requests_of(workload), policy, config)
        engine.run()
        return storage.dumps([engine.recording(header_of(engine))])

    assert once() == once()


@settings(deadline=None)
@given(workloads, configs(), st.sampled_from(list(POLICIES)), st.integers(0, 20))
def test_a_cancelled_run_stays_usable(workload, config, policy, steps):
    engine = engine_of(requests_of(workload), policy, config)
    for _ in range(steps):
        engine.step()
    check_state(engine.state, engine.requests)
    recording = storage.loads(storage.dumps([engine.recording(header_of(engine))]))[0]
    ledgers_sum(recording)


def test_a_long_prompt_stalls_nobody_under_the_chunked_policy():
    workload = [(4, 20), (4, 20), (40, 4, 3.0)]
    config = SchedulerConfig(max_num_seqs=3, max_num_batched_tokens=8, max_model_len=64)
    stalled = {}
    for policy in ("continuous", "chunked"):
        engine = engine_of(requests_of(workload), policy, config)
        engine.run()
        entries = engine.recording(header_of(engine)).entries
        stalled[policy] = int(np.sum(entries["phase"] == Phase.STALLED))
    assert stalled["continuous"] == 2
    assert stalled["chunked"] == 0
