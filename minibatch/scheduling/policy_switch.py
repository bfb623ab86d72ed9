"""One policy takes over from another in the middle of a run."""

from __future__ import annotations

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.policies.chunked import Chunked
from minibatch.scheduling.policies.sarathi import Sarathi
from minibatch.scheduling.policies.sglang import SGLang
from minibatch.scheduling.policies.vllm_v1 import VllmV1
from minibatch.scheduling.policy import Policy, rules_of
from minibatch.scheduling.request_state import RequestState
from minibatch.scheduling.state import SchedulerState


class PolicySwitch(Chunked):
    """`successor`, once all is done that the policy before it left and this one does not know.

    Policies that run whole prompts know of none that are half done, and many know no KV in host memory. So
    these requests go on as the chunked policy has it: back from the host, decodes, then as much prompt
    as the successor's budget holds. No request enters meanwhile.

    Args:
        half_done: ids of the requests whose prompts are to be finished first.
    """

    def __init__(self, successor: Policy, half_done: frozenset[int]) -> None:
        self.successor = successor
        self.name, self.summary, self.hold_slots = successor.name, successor.summary, successor.hold_slots
        self.repeats_decodes = getattr(successor, "repeats_decodes", False)
        self.rules = rules_of(successor)
        self._half_done = half_done

    def token_budget(self, config: SchedulerConfig) -> int:
        return self.successor.token_budget(config)

    def schedule(self, state: SchedulerState) -> Plan:
        if not any(request.request_id in self._half_done for request in _half_done(state)) and not _is_lost(
            self.successor, state
        ):
            return self.successor.schedule(state)
        builder = PlanBuilder(state, self.token_budget(state.config))
        self._run(builder, builder.running)
        self._run(builder, builder.resume())
        return builder.plan()


def switch_policy(successor: Policy, state: SchedulerState) -> Policy:
    """`successor` as it can go on from `state`, which another policy left."""
    half_done = frozenset(request.request_id for request in _half_done(state))
    knows_chunks = isinstance(successor, Chunked | VllmV1 | Sarathi | SGLang)
    if (not half_done or knows_chunks) and not _is_lost(successor, state):
        return successor
    return PolicySwitch(successor, half_done)


def _is_lost(policy: Policy, state: SchedulerState) -> bool:
    """Whether KV lies in host memory that the policy never brings back."""
    return bool(state.swapped) and not rules_of(policy).swaps


def _half_done(state: SchedulerState) -> list[RequestState]:
    return [request for request in (*state.running, *state.swapped) if request.is_prefilling]
