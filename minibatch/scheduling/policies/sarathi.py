"""Sarathi-Serve: stall-free batches of decodes and chunks of prompts, whose blocks are all taken at admission.

After `sarathi/core/scheduler/sarathi_scheduler.py` (Agrawal et al., OSDI 2024): decodes, then prompts in progress,
then new ones, under one budget (its `chunk_size`). A chunk can't fail, since its prompt has its blocks.
"""

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.rules import Admits, Returns, Rules, Shortage, Victim, Watermark
from minibatch.scheduling.state import SchedulerState


class Sarathi:
    name = "sarathi"
    summary = "decodes first, whole prompt taken"
    hold_slots = False
    repeats_decodes = True
    rules = Rules(
        admits=Admits.PROMPT_TAKEN,
        shortage=Shortage.ONE_FREE,
        victim=Victim.LATEST_ARRIVAL,
        returns=Returns.HEAD,
        watermark=Watermark.ALWAYS,
        decodes_by_arrival=True,
        pages_kept=1,
        admits_after_preemption=True,
    )

    def token_budget(self, config: SchedulerConfig) -> int:
        return config.max_num_batched_tokens

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        by_arrival = sorted(builder.running, key=lambda each: each.request_id)
        for request in by_arrival:
            if not request.is_prefilling:
                builder.decode(request)
        for request in by_arrival:
            if request.is_prefilling and builder.is_running(request):
                builder.run(request)
        while builder.budget_left and builder.can_admit(chunk := builder.next_chunk):
            builder.prefill(builder.admit(chunk), chunk)
        return builder.plan()
