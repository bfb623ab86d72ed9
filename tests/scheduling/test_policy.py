"""Anybody can write a policy in 20 lines; a policy that breaks the rules is told which."""

from __future__ import annotations

import pytest

from minibatch.scheduling import DEFAULTS, POLICIES, find_policy, register
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder, PolicyError
from minibatch.scheduling.state import SchedulerState
from tests.helpers import engine_of, requests_of


class OneAtATime:
    """No batching at all: the next request enters when the last one has left."""

    name = "one-at-a-time"
    summary = "no batch"
    hold_slots = False

    def token_budget(self, config: SchedulerConfig) -> int:
        return config.max_model_len

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        for request in list(builder.running):
            builder.decode(request)
        if not builder.running and builder.can_admit():
            builder.prefill(builder.admit())
        return builder.plan()


class Broken(OneAtATime):
    """Does to the builder what `misdeed` says."""

    def __init__(self, misdeed) -> None:
        self.misdeed = misdeed

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        self.misdeed(builder)
        return builder.plan()


def test_a_new_policy_is_registered_and_served(monkeypatch):
    monkeypatch.setattr("minibatch.scheduling.policy.POLICIES", dict(POLICIES))
    register(OneAtATime())
    policy = find_policy("one-at-a-time")
    engine = engine_of(requests_of([(3, 2), (4, 3), (2, 1)]), policy, SchedulerConfig())
    assert engine.run()
    assert engine.recorder.num_iterations == 2 + 3 + 1


def test_built_in_policies_are_listed_in_the_order_of_the_lesson():
    assert list(DEFAULTS) == ["static", "dynamic", "continuous", "chunked"]
    assert list(POLICIES)[:4] == list(DEFAULTS)


def test_an_unknown_policy_names_those_there_are():
    with pytest.raises(ValueError, match="unknown policy 'magic': choose from static, dynamic, continuous, chunked"):
        find_policy("magic")


def twice(builder: PlanBuilder) -> None:
    request = builder.admit()
    builder.prefill(request)
    builder.prefill(request)


def too_much(builder: PlanBuilder) -> None:
    while builder.can_admit(1):
        builder.prefill(builder.admit())


def preempting_the_new(builder: PlanBuilder) -> None:
    """Of 8 blocks r0 holds 6 and the newcomer takes 2, so r0's 13th token finds none."""
    if not builder.running:
        builder.prefill(builder.admit())
        return
    if builder.can_admit(4):
        builder.admit(4)
    builder.decode(builder.running[0])


@pytest.mark.parametrize(
    ("misdeed", "says"),
    [
        (lambda builder: None, "would never run anything again"),
        (lambda builder: builder.decode(builder.first_waiting), "would never run anything again"),
        (twice, "scheduled twice"),
        (too_much, "over its budget of 16"),
        (preempting_the_new, "decode the running requests before you admit new ones"),
    ],
    ids=["nothing", "without a slot", "twice", "over budget", "preempting the new"],
)
def test_a_policy_that_breaks_the_rules_is_told_which(misdeed, says):
    num_kv_blocks = 64 if misdeed is too_much else 8
    config = SchedulerConfig(max_model_len=16, block_size=2, num_kv_blocks=num_kv_blocks, watermark=0.0)
    requests = requests_of([(12, 4), (6, 4), (4, 4)])
    engine = engine_of(requests, Broken(misdeed), config)
    with pytest.raises(PolicyError, match=says):
        engine.run()
