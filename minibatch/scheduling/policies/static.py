"""Static batching: fill the slots, run until the last one is done, then fill them again.

Request-level scheduling, as served before Orca: the batch is the unit of work. A request that
finishes early keeps its slot, one that arrives late waits outside, and prompts are padded to the longest.
"""

from minibatch.decisions.reasons import Code
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.rules import Admits, Rules, Shortage, Step
from minibatch.scheduling.state import SchedulerState


class Static:
    name = "static"
    summary = "waits for the last one"
    rules = Rules(step=Step.BATCH, admits=Admits.PROMPT_TAKEN, shortage=Shortage.ALL_OR_PREEMPT, swaps=True)
    hold_slots = True
    repeats_decodes = True

    def token_budget(self, config: SchedulerConfig) -> int:
        """A padded batch is as wide as the slots and as long as the longest prompt."""
        return config.max_num_seqs * config.max_model_len

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        if state.running:
            self._decode_batch(builder)
            builder.wait(Code.WAITS_BATCH, running=len(state.running))
        else:
            self._start_batch(builder)
        return builder.plan()

    def _start_batch(self, builder: PlanBuilder) -> None:
        resumed = builder.resume()
        batch = []
        while builder.can_admit():
            batch.append(builder.admit())
        longest = max((request.num_tokens for request in batch), default=0)
        for request in batch:
            padding = longest - request.num_tokens if builder.config.compute_padding else 0
            builder.prefill(request, num_padding=padding)
        for request in resumed if not batch else []:
            builder.decode(request)

    def _decode_batch(self, builder: PlanBuilder) -> None:
        for request in list(builder.running):
            builder.decode(request)
        if builder.config.compute_padding:
            for slot in builder.finished_slots:
                builder.pad(slot)
