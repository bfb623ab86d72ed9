"""vLLM's V0 scheduler without chunked prefill: prompts run whole in steps of their own, and before decodes.

After `vllm/core/scheduler.py` of 2024, `_schedule_default`: who can enter does, and only a step in which nobody does
decodes. A decode needs a free block whether it takes one or not.
"""

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.rules import Admits, Returns, Rules, Shortage, Step, Victim, Watermark
from minibatch.scheduling.state import SchedulerState


class VllmV0:
    name = "vllm-v0"
    summary = "prefill steps before decode steps"
    hold_slots = False
    repeats_decodes = True
    rules = Rules(
        step=Step.EITHER,
        admits=Admits.PROMPT_TAKEN,
        shortage=Shortage.ONE_FREE,
        victim=Victim.LATEST_ARRIVAL,
        returns=Returns.HEAD,
        watermark=Watermark.ALWAYS,
        swaps=True,
        decodes_by_arrival=True,
        pages_kept=1,
    )

    def token_budget(self, config: SchedulerConfig) -> int:
        """Chunking is off, so the longest prompt must fit into one iteration."""
        return max(config.max_num_batched_tokens, config.max_model_len)

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        entered = False
        while builder.can_admit():
            builder.prefill(builder.admit())
            entered = True
        if not entered:
            for request in sorted(builder.running, key=lambda each: each.request_id):
                builder.decode(request)
            for request in builder.resume():
                builder.decode(request)
        return builder.plan()
