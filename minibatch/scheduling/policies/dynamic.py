"""Dynamic batching: a static batch behind a window that opens with the first waiting request.

The batch starts when it is full or when the oldest request has waited `max_wait`: a bounded wait
buys a fuller batch. Once started, it runs as a static batch does.
"""

from minibatch.decisions.reasons import Code
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.policies.static import Static
from minibatch.scheduling.state import SchedulerState
from minibatch.workload.request import NANOSECONDS


class Dynamic(Static):
    name = "dynamic"
    summary = "starts when full or timed out"

    def schedule(self, state: SchedulerState) -> Plan:
        if state.running or state.swapped or not state.waiting:
            return super().schedule(state)
        max_wait_ns = round(state.config.max_wait * NANOSECONDS)
        oldest_ns = min(request.request.arrival_ns for request in state.waiting)
        if len(state.waiting) >= state.config.max_num_seqs or state.now_ns >= oldest_ns + max_wait_ns:
            return super().schedule(state)
        builder = PlanBuilder(state, self.token_budget(state.config))
        builder.wait(
            Code.WAITS_WINDOW,
            waiting=len(state.waiting),
            slots=state.config.max_num_seqs,
            waited_ms=(state.now_ns - oldest_ns) // 1_000_000,
            max_wait_ms=max_wait_ns // 1_000_000,
        )
        return builder.plan(wake_ns=oldest_ns + max_wait_ns)
