"""vLLM's V1 scheduler: no phases, one token budget, running requests in the order in which they were admitted.

After `vllm/v1/core/sched/scheduler.py`, `Scheduler.schedule`. "Decodes first" is no rule here: an unfinished prompt
takes the rest of the budget, so nobody enters behind it, and it stands last among the running.
"""

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.rules import Admits, Rules, Shortage, Watermark
from minibatch.scheduling.state import SchedulerState


class VllmV1:
    """As of 2026: an admission checks that the whole prompt fits, and takes the blocks of its first chunk."""

    name = "vllm-v1"
    summary = "running first, whole prompt checked"
    hold_slots = False
    repeats_decodes = True
    rules = Rules(admits=Admits.PROMPT_CHECKED, shortage=Shortage.ALL_OR_PREEMPT, watermark=Watermark.WHILE_OTHERS_RUN)

    def token_budget(self, config: SchedulerConfig) -> int:
        return config.max_num_batched_tokens

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        threshold = state.config.long_prefill_token_threshold or builder.token_budget
        for request in list(builder.running):
            if builder.is_running(request):
                builder.run(request, threshold)
        while builder.budget_left and builder.can_admit(chunk := min(builder.next_chunk, threshold)):
            builder.prefill(builder.admit(chunk), chunk)
        return builder.plan()


class VllmV1Of2025(VllmV1):
    """Before March 2026: an admission checks the first chunk alone, so many enter that can't stay."""

    name = "vllm-v1-2025"
    summary = "running first, first chunk checked"
    rules = Rules(admits=Admits.FIRST_CHUNK, shortage=Shortage.ALL_OR_PREEMPT, watermark=Watermark.NEVER)
