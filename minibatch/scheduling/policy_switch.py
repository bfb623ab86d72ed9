"""One policy takes over from another in the middle of a run."""

from __future__ import annotations

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.policies.chunked import Chunked
from minibatch.scheduling.policy import Policy
from minibatch.scheduling.request_state import RequestState
from minibatch.scheduling.state import SchedulerState


class PolicySwitch(Chunked):
    """`successor`, once the prompts are done that the policy before it left half computed.

    Policies that run whole prompts know of none that are half done. So these are finished as the
    chunked policy does it: decodes, then as much prompt as the successor's budget holds, in most
    cases all of it in one iteration. No request enters meanwhile.

    Args:
        half_done: ids of the requests whose prompts are to be finished first.
    """

    def __init__(self, successor: Policy, half_done: frozenset[int]) -> None:
        self.successor = successor
        self.name, self.summary, self.hold_slots = successor.name, successor.summary, successor.hold_slots
        self.repeats_decodes = getattr(successor, "repeats_decodes", False)
        self._half_done = half_done

    def token_budget(self, config: SchedulerConfig) -> int:
        return self.successor.token_budget(config)

    def schedule(self, state: SchedulerState) -> Plan:
        if not any(request.request_id in self._half_done for request in _half_done(state)):
            return self.successor.schedule(state)
        builder = PlanBuilder(state, self.token_budget(state.config))
        self._run(builder, builder.running)
        self._run(builder, builder.resume())
        return builder.plan()


def switch_policy(successor: Policy, state: SchedulerState) -> Policy:
    """`successor` as it can go on from `state`, which another policy left."""
    half_done = frozenset(request.request_id for request in _half_done(state))
    if not half_done or isinstance(successor, Chunked):
        return successor
    return PolicySwitch(successor, half_done)


def _half_done(state: SchedulerState) -> list[RequestState]:
    return [request for request in (*state.running, *state.swapped) if request.is_prefilling]
