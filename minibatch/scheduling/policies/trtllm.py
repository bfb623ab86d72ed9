"""TensorRT-LLM: a capacity scheduler says who may run, and a micro batch takes as many tokens as fit.

After `cpp/tensorrt_llm/batch_manager/capacityScheduler.cpp` and `microBatchScheduler.cpp`, with chunked context off,
as is the default: a prompt runs whole beside the decodes, if it fits what `max_num_tokens` leaves.
"""

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.policies.orca import RESERVED
from minibatch.scheduling.request_state import RequestState
from minibatch.scheduling.rules import Admits, Returns, Rules, Shortage, Victim, Watermark
from minibatch.scheduling.state import SchedulerState


class NoEvict:
    """GUARANTEED_NO_EVICT: in is who can run to completion, whatever it generates."""

    name = "trtllm-no-evict"
    summary = "max_tokens set aside, no preemption"
    hold_slots = False
    repeats_decodes = True
    rules = RESERVED

    def token_budget(self, config: SchedulerConfig) -> int:
        """Chunking is off, so the longest prompt must fit into one iteration."""
        return max(config.max_num_batched_tokens, config.max_model_len)

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        for request in list(builder.running):
            builder.run(request)
        while builder.can_admit():
            builder.prefill(builder.admit())
        return builder.plan()


class MaxUtilization(NoEvict):
    """MAX_UTILIZATION: in is whose next step fits, by arrival; the latest ones pause for earlier ones."""

    name = "trtllm-max-utilization"
    summary = "next step fits, latest ones pause"
    rules = Rules(
        admits=Admits.PROMPT_TAKEN,
        shortage=Shortage.ALL_OR_PREEMPT,
        victim=Victim.LATER_ARRIVAL,
        returns=Returns.ARRIVAL,
        watermark=Watermark.NEVER,
        admits_after_preemption=True,
        decodes_by_arrival=True,
    )

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        for request in sorted((*state.running, *state.waiting), key=lambda each: each.request_id):
            if request is builder.first_waiting:
                if not self._start(builder, request):
                    break
            elif builder.is_running(request):
                builder.run(request)
        return builder.plan()

    def decodes_again(self, state: SchedulerState, latest: Plan, exact: bool) -> bool:
        """A request that waits before others holds those up."""
        return not latest.held

    def memory_after(self, state: SchedulerState, num_steps: int) -> None:
        """It remembers nothing."""

    def _start(self, builder: PlanBuilder, request: RequestState) -> bool:
        """Whether the walk goes on: a request that no later one can make room for ends it."""
        if builder.has_free_slot:
            builder.make_room_to_admit(request)
        if builder.can_admit():
            builder.prefill(builder.admit())
        elif builder.has_free_slot:
            return False
        else:
            builder.skip()  # a slot comes free when one that runs ends, so those go on
        return True
