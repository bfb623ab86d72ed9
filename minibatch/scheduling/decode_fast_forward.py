"""Fast-forward: modelled iterations that only decode, taken many at a time.

Most iterations of a long run are alike: the same requests decode, and only their contexts grow, by
one token each. Nothing can change the schedule until an event does: a request arrives, finishes, or
finds no free KV block. So the loop does three things in place of planning each of them:

1. `decode_run` says after a plan whether its decision would be repeated (and nothing where it can't
   tell). If so it returns a `DecodeRun`: the batch, and the steps until the first request finishes.
2. `roofline.decode_cost` times all of its steps at once, up to the next arrival: of two such
   batches only the context differs, and costs are linear in it. `DecodeRun.cut` then keeps the steps
   that find their KV blocks.
3. The recorder appends the steps (`Recorder` a row each, `SummaryRecorder` their sums), and
   `DecodeRun.commit` moves the counters of every request on by that many tokens.

What is recorded equals what one iteration after the other would have recorded, bit for bit: a property
test compares both. One thing needs care. Where requests wait, each plan notes why, with numbers such as
the free blocks. A `Recorder` keeps every number, so its runs end where one would change (`exact`); a
`SummaryRecorder` keeps only what the head of the queue waits for, and its runs may go on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import WAITS, Code
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.policy import Policy, Remembers, rules_of
from minibatch.scheduling.request_state import RequestState
from minibatch.scheduling.rules import Shortage
from minibatch.scheduling.state import SchedulerState

_COUNTS_FREE = (Code.WAITS_BLOCKS, Code.WAITS_RESERVED)
"""Reasons to wait whose numbers change with every block that is taken."""
_LASTING = (Code.WAITS_SLOT, *_COUNTS_FREE)
"""Reasons to wait that last until a request leaves."""

LONGEST = 256
"""Most iterations of a run: an arrival cuts most runs short, and what was timed beyond it is lost."""

Taken = list[tuple[int, RequestState, int]]
"""KV blocks that a run takes, in order: iteration of the run, request, block."""
Held = list[tuple[int, RequestState]]
"""Slots, and the finished requests that hold them."""


class DecodeRun:
    """Iterations from `state` on in which every running request decodes.

    Attributes:
        decodes: the requests that generate a token in every iteration, in the order of the batch.
        starts: the position that each of them computes in the first.
        padded: slots that compute padding, behind the longest of the batch.
        held: slots that compute nothing.
        num_steps: iterations until a request finishes, that one included; `cut` makes them fewer.
    """

    def __init__(self, state: SchedulerState, policy: Policy) -> None:
        self._state = state
        self._policy = policy
        self.decodes = list(state.running)
        if rules_of(policy).decodes_by_arrival:
            self.decodes.sort(key=lambda request: request.request_id)
        self.starts = [request.num_computed_tokens for request in self.decodes]
        self.padded: Held = []
        self.held: Held = []
        if state.config.compute_padding:
            self.padded = state.finished
        else:
            self.held = state.finished
        self._needs: list[int] = []
        self._until_finish = min([r.last_computed - start for r, start in zip(self.decodes, self.starts, strict=True)])
        self.num_steps = min(self._until_finish, LONGEST)

    @property
    def num_seqs(self) -> int:
        """Sequences of each batch, padding included."""
        return len(self.decodes) + len(self.padded)

    @property
    def num_held_blocks(self) -> int:
        """KV blocks that are held before the run."""
        return self._state.pool.num_held

    def contexts(self) -> Sequence[int]:
        """KV entries that the batch reads in each iteration, its own ones and padding's included."""
        batch = len(self.decodes)
        first = sum(self.starts) + batch
        contexts = range(first, first + batch * self.num_steps, batch)
        if not self.padded:
            return contexts
        padded = len(self.padded)
        return [context + padded * (start + 1) for context, start in zip(contexts, self.padding_starts(), strict=True)]

    def padding_starts(self) -> list[int]:
        """Where a padded token stands in each iteration."""
        finished = max(request.num_computed_tokens for _, request in self.padded)
        longest = max(self.starts)
        return [max(finished, start) for start in range(longest, longest + self.num_steps)]

    def cut(self, num_steps: int, told: Plan | None) -> None:
        """Keep at most `num_steps` iterations, and only those that find their blocks.

        Args:
            told: the plan that they repeat, where its reasons must stay true to the last number:
                once a block is taken, one that counts the free ones would read otherwise.
        """
        pool = self._state.pool
        # Where a decode needs a free block whether it takes one or not, the last one is never taken.
        free = len(pool.free_units) - (pool.paged and rules_of(self._policy).shortage is Shortage.ONE_FREE)
        if told is not None and any(reason.code in _COUNTS_FREE for reason in told.reasons):
            free = 0
            if any(blocks for _, blocks in told.new_blocks):
                num_steps = 0
        batch = len(self.decodes)
        needs = self._needs_of(num_steps)
        self.num_steps = needs[max(0, free)] // batch if len(needs) > free else num_steps
        self._needs = needs[: bisect_left(needs, self.num_steps * batch)]

    def commit(self, token_id: int) -> tuple[Taken, list[tuple[RequestState, list[int]]]]:
        """Make the iterations true, in all of which every request generates `token_id`.

        Returns the blocks that they took, and the requests that finished with the last one, as
        `SchedulerState.commit` does.
        """
        num_steps, batch, blocks = self.num_steps, len(self.decodes), self._state.pool.take(len(self._needs))
        taken = [
            (need // batch, self.decodes[need % batch], block) for need, block in zip(self._needs, blocks, strict=True)
        ]
        for _, request, block in taken:
            request.block_table.append(block)
        if isinstance(self._policy, Remembers):
            self._state.memory = self._policy.memory_after(self._state, num_steps)
        tokens = [token_id] * num_steps
        for request in self.decodes:
            request.num_computed_tokens += num_steps
            request.output_token_ids.extend(tokens)
            if self._state.config.queue_order == "fair":
                self._state.service.add(request.request.tenant, output_tokens=num_steps)
        return taken, self._state.finish_written(self.decodes) if num_steps == self._until_finish else []

    def _needs_of(self, num_steps: int) -> list[int]:
        """When which request takes a block, in order: iteration x size of the batch + place in it."""
        pool, batch = self._state.pool, len(self.decodes)
        if not pool.paged:
            return []
        size, stop = pool.block_size, num_steps * batch
        needs: list[int] = []
        for place, (request, start) in enumerate(zip(self.decodes, self.starts, strict=True)):
            first = len(request.block_table) * size - start
            if first < num_steps:
                needs += range(first * batch + place, stop, size * batch)
        needs.sort()
        return needs


def decode_run(policy: Policy, state: SchedulerState, latest: Plan, exact: bool) -> DecodeRun | None:
    """The iterations after `latest`, which has been committed, that the policy would decide alike; None if none.

    Either the queue is empty and every running request decodes, or the reasons to wait would be the same again.

    Args:
        exact: every number of every reason matters; else only what the head of the queue waits for.
    """
    if not getattr(policy, "repeats_decodes", False) or state.eos_token_id is not None or not state.running:
        return None
    if state.waiting or state.swapped:
        if state.config.queue_order == "fair":  # who is served changes who is next
            return None
        is_known = _is_repeated(latest, len(state.running)) or (not exact and _waits_on(latest, state))
        if not is_known:
            return None
    if any(request.num_computed_tokens < request.prefill_end for request in state.running):
        return None
    if isinstance(policy, Remembers) and not policy.decodes_again(state, latest, exact):
        return None
    return DecodeRun(state, policy)


def _is_repeated(plan: Plan, num_running: int) -> bool:
    """Whether the plan had every request decode that runs now, and changed nothing else."""
    return _only_decodes(plan) and len(plan.decodes.requests) == num_running


def _waits_on(plan: Plan, state: SchedulerState) -> bool:
    """Whether the head of the queue still waits for what it waited for in the plan.

    For a batch to end it waits as long as one request of the batch runs. A slot and blocks come free
    when a request leaves, so none may have left; prompts that were prefilled in the plan have
    taken what they needed, and a decode gives nothing back.
    """
    if state.hold_slots:
        return _only_decodes(plan)
    codes = [reason.code for reason in plan.reasons if reason.code in WAITS]
    still_here = plan.num_seqs + len(plan.held) == len(state.running)
    return not plan.preempted and not state.swapped and still_here and len(codes) == 1 and codes[0] in _LASTING


def _only_decodes(plan: Plan) -> bool:
    return (
        not plan.admitted
        and not plan.preempted
        and not plan.prefills
        and all(phase is Phase.PADDING for _, _, phase in plan.held)
        and all(reason.code in WAITS for reason in plan.reasons)
    )
