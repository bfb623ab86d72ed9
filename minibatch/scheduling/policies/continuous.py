"""Continuous batching: the batch is chosen anew at every iteration.

Orca's iteration-level scheduling: a finished request leaves at once, and a waiting one enters as
soon as a slot, the budget and KV blocks allow. Prompts run whole. As in vLLM V0 they run in a step
of their own, while the requests that decode get no token; with `mix_prefill` they join the
decodes, as in Orca, and the step is as long for all as the prompt makes it.
"""

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.rules import Admits, Rules, Shortage, Step
from minibatch.scheduling.state import SchedulerState


class Continuous:
    name = "continuous"
    summary = "whole prompts first"
    rules = Rules(step=Step.EITHER, admits=Admits.PROMPT_TAKEN, shortage=Shortage.ALL_OR_PREEMPT, swaps=True)
    hold_slots = False
    repeats_decodes = True

    def token_budget(self, config: SchedulerConfig) -> int:
        """The longest prompt must fit into one iteration."""
        return max(config.max_num_batched_tokens, config.max_model_len)

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        if state.config.mix_prefill:
            self._decode(builder)
            self._admit(builder)
        elif not self._admit(builder):
            self._decode(builder)
        return builder.plan()

    def _admit(self, builder: PlanBuilder) -> bool:
        """Whether anybody new entered."""
        entered = False
        while builder.can_admit():
            builder.prefill(builder.admit())
            entered = True
        return entered

    def _decode(self, builder: PlanBuilder) -> None:
        for request in list(builder.running):
            builder.decode(request)
        for request in builder.resume():
            builder.decode(request)
