"""Other knobs in the middle of a run: slots and blocks that are held stay held."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.invariants import check_state
from minibatch.scheduling.kv_pool import KVPool
from minibatch.scheduling.policy_switch import PolicySwitch, switch_policy
from tests.helpers import engine_of, requests_of

CONFIG = SchedulerConfig(max_num_seqs=3, max_num_batched_tokens=8, max_model_len=16, block_size=2, num_kv_blocks=16)


def test_a_pool_shrinks_by_its_highest_free_blocks_and_grows_by_the_lowest_unused():
    pool = KVPool(replace(CONFIG, num_kv_blocks=6))
    pool.free_units = [2, 4, 0, 3]  # 1 and 5 are held
    pool.resize(4, [5, 1])
    assert pool.free_units == [2, 0]
    pool.resize(7, [5, 1])
    assert pool.free_units == [6, 4, 3, 2, 0]
    pool.resize(7, [5, 1])
    assert pool.free_units == [6, 4, 3, 2, 0]


def test_a_contiguous_pool_changes_by_whole_reservations():
    pool = KVPool(replace(CONFIG, num_kv_blocks=34, kv_layout="contiguous"))
    assert pool.free_units == [24, 16, 8, 0]
    pool.free_units = [16, 0]  # 8 and 24 are held
    held = [*range(24, 32), *range(8, 16)]
    pool.resize(25, held)
    assert pool.free_units == [0]
    pool.resize(41, held)
    assert pool.free_units == [32, 16, 0]


@pytest.mark.parametrize("policy", ["static", "dynamic", "continuous", "chunked"])
def test_a_run_goes_on_under_every_policy_and_loses_nobody(policy):
    for steps in range(12):
        engine = engine_of(requests_of([(9, 3), (2, 5), (12, 2, 1.0), (1, 1, 2.0)]), "chunked", CONFIG)
        for _ in range(steps):
            engine.step()
        engine.change(policy=find_policy(policy))
        check_state(engine.state, engine.requests)
        assert engine.run()
        assert [len(request.output_token_ids) for request in engine.requests] == [3, 5, 2, 1]


def test_only_a_prompt_half_done_delays_the_successor():
    engine = engine_of(requests_of([(12, 2)]), "chunked", CONFIG)
    static, chunked = find_policy("static"), find_policy("chunked")
    assert switch_policy(static, engine.state) is static
    engine.step()
    assert isinstance(switch_policy(static, engine.state), PolicySwitch)
    assert switch_policy(chunked, engine.state) is chunked


def test_a_change_that_does_not_fit_changes_nothing():
    engine = engine_of(requests_of([(9, 3), (2, 5)]), "continuous", CONFIG)
    engine.step()
    state = engine.state
    before = (state.config, list(state.slots), list(state.pool.free_units))
    with pytest.raises(ValueError, match="use max_num_seqs of 2 or more"):
        engine.change(policy=find_policy("chunked"), config=replace(CONFIG, max_num_seqs=1))
    assert (state.config, list(state.slots), list(state.pool.free_units)) == before
    assert engine.policy.name == "continuous"
