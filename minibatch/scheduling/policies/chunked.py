"""Continuous batching with chunked prefill: one token budget an iteration, decodes first.

The idea of Sarathi-Serve's stall-free schedule: every request that decodes gets its token, what is left
of the budget prefills prompts in progress, and then new ones, in chunks. A long prompt costs its own first
token some time, and no other request its next one. No engine has just these rules: this one lets a request
in as soon as its first chunk fits, and cuts chunks to the free blocks (`sarathi`, `vllm-v1` are those of engines).
"""

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.request_state import RequestState
from minibatch.scheduling.state import SchedulerState


class Chunked:
    name = "chunked"
    summary = "decodes first, prompts in chunks"
    hold_slots = False
    repeats_decodes = True

    def token_budget(self, config: SchedulerConfig) -> int:
        return config.max_num_batched_tokens

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        self._run(builder, builder.running)
        self._run(builder, builder.resume())
        while builder.can_admit(builder.next_chunk):
            chunk = builder.next_chunk
            builder.prefill(builder.admit(chunk), chunk)
        return builder.plan()

    def _run(self, builder: PlanBuilder, requests: list[RequestState]) -> None:
        prompts = [request for request in requests if request.is_prefilling]
        for request in [request for request in requests if request not in prompts]:
            builder.decode(request)
        for request in prompts:
            builder.prefill(request, min(builder.remaining_prefill(request), builder.budget_left))
