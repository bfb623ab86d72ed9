"""Iterations that repeat: the same requests decode, each over one more token of context every time.

Between two events nothing changes but lengths, so a policy that `repeats_decodes` would decide the
same again, until somebody arrives, finishes, or finds no free KV block. Those are most iterations of
a long run, and they can be planned at once.
"""

from __future__ import annotations

from itertools import count, takewhile

import numpy as np
import numpy.typing as npt

from minibatch.recording.reasons import WAITS, Code
from minibatch.recording.schema import Phase
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.policy import Policy
from minibatch.scheduling.request_state import RequestState, Status
from minibatch.scheduling.state import SchedulerState

LONGEST = 256
"""Most iterations planned at once: an arrival cuts most runs short, and what was planned beyond it is lost."""

Taken = list[tuple[int, RequestState, int]]
"""KV blocks that a run takes, in order: iteration of the run, who gets it, which."""


class SteadyRun:
    """What comes after `plan`, which has been committed and finished nobody.

    Attributes:
        decodes: who writes a token in every iteration, in the order of the plan.
        num_steps: iterations until somebody may finish; less where blocks run out: see `cut`.
    """

    def __init__(self, plan: Plan, state: SchedulerState) -> None:
        self.plan = plan
        self._state = state
        self.decodes = [seq.request for seq in plan.seqs if seq.phase is Phase.DECODE]
        remaining = min(r.request.sampling.max_tokens - len(r.output_token_ids) for r in self.decodes)
        self.num_steps = min(remaining - 1, LONGEST)

    def contexts(self) -> npt.NDArray[np.int64]:
        """(num_steps,) KV entries that the batch reads in each iteration, its own ones and padding's included."""
        steps = np.arange(self.num_steps, dtype=np.int64)
        first = sum(request.num_computed_tokens for request in self.decodes) + len(self.decodes)
        contexts = first + len(self.decodes) * steps
        if pads := len(self.plan.seqs) - len(self.decodes):
            contexts += pads * (self.padding_starts(self.num_steps) + 1)
        return contexts

    def padding_starts(self, num_steps: int, before: int = 0) -> npt.NDArray[np.int64]:
        """(num_steps,) where a padded token stands in each iteration: behind the longest of the batch.

        Args:
            before: iterations of the run that are committed already.
        """
        holders = [holder for holder in self._state.slots if holder is not None]
        finished = max((h.num_computed_tokens for h in holders if h.status is Status.FINISHED), default=0)
        running = max(request.num_computed_tokens for request in self.decodes) - before
        return np.maximum(finished, running + np.arange(num_steps, dtype=np.int64))

    def cut(self, num_steps: int, *, exact: bool) -> int:
        """How many of the next `num_steps` iterations find their blocks.

        Args:
            exact: stop as well where a reason would read otherwise than in the plan, because it
                counts the free blocks.
        """
        needs = sorted(step for request in self.decodes for step in self._steps_with_need(request, num_steps))
        free = len(self._state.pool.free_units)
        if exact and any(reason.code is Code.WAITS_BLOCKS for reason in self.plan.reasons):
            if any(blocks for _, blocks in self.plan.new_blocks):
                return 0
            free = 0
        return needs[free] if len(needs) > free else num_steps

    def commit(self, num_steps: int, token_id: int) -> Taken:
        """Make `num_steps` iterations true, in which every request writes `token_id`."""
        needs = [
            (step, place)
            for place, request in enumerate(self.decodes)
            for step in self._steps_with_need(request, num_steps)
        ]
        units = self._state.pool.free_units
        taken = [(step, self.decodes[place], units.pop()) for step, place in sorted(needs)]
        for _, request, block in taken:
            request.block_table.append(block)
        tokens = [token_id] * num_steps
        for request in self.decodes:
            request.num_computed_tokens += num_steps
            request.output_token_ids.extend(tokens)
        return taken

    def _steps_with_need(self, request: RequestState, num_steps: int) -> takewhile[int]:
        pool = self._state.pool
        if not pool.paged:
            return takewhile(lambda step: False, count())
        first = len(request.block_table) * pool.block_size - request.num_computed_tokens
        return takewhile(lambda step: step < num_steps, count(first, pool.block_size))


def steady_run(plan: Plan, policy: Policy, state: SchedulerState) -> SteadyRun | None:
    """The iterations that follow a committed `plan` that finished nobody, if they repeat it."""
    if (
        not getattr(policy, "repeats_decodes", False)
        or plan.admitted
        or plan.preempted
        or plan.swap_in
        or not plan.seqs
        or state.eos_token_id is not None
        or any(seq.phase is Phase.PREFILL for seq in plan.seqs)
        or any(phase is not Phase.PADDING for _, _, phase in plan.held)
        or any(reason.code not in WAITS for reason in plan.reasons)
    ):
        return None
    run = SteadyRun(plan, state)
    return run if run.num_steps > 0 else None
