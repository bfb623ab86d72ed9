"""Orca: iteration-level scheduling with a reservation for each request's longest answer, and no preemption.

After Algorithm 1 of Yu et al. (OSDI 2022): before every iteration requests are taken in order of arrival; one that
starts must find its `max_tokens` unreserved, and the first that does not ends the walk. Prompts run whole beside the
decodes of others, without a token budget.
"""

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.rules import Admits, Rules, Shortage, Victim, Watermark
from minibatch.scheduling.state import SchedulerState

RESERVED = Rules(
    admits=Admits.PROMPT_AND_CAP, shortage=Shortage.SET_ASIDE, victim=Victim.NOBODY, watermark=Watermark.NEVER
)
"""Nobody is ever preempted: what a request may come to need is set aside as it enters."""


class Orca:
    name = "orca"
    summary = "max_tokens reserved, no budget"
    hold_slots = False
    repeats_decodes = True
    rules = RESERVED

    def token_budget(self, config: SchedulerConfig) -> int:
        """No limit: as much as all slots could prefill at once."""
        return config.max_num_seqs * config.max_model_len

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        for request in list(builder.running):
            builder.run(request)
        while builder.can_admit():
            builder.prefill(builder.admit())
        return builder.plan()
