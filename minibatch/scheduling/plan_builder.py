"""Builds the plan of one iteration: a policy asks and decides, and nothing changes until commit.

A policy reads `running`, `first_waiting` and `budget_left` and calls `decode`, `prefill` or `run`, `can_admit` /
`admit` and `pad`. The builder keeps slots, blocks and the token budget, admits and preempts by the policy's
rules (rules.py), and notes the reason of all that it does or does not do.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import Code, Reason
from minibatch.scheduling.kv_pool import KVChanges
from minibatch.scheduling.plan import Decodes, Plan, Preemption, ScheduledSeq, Swap
from minibatch.scheduling.queue_order import in_order
from minibatch.scheduling.request_state import RequestState, RequestStatus
from minibatch.scheduling.rules import (
    CODE_OF_VICTIM,
    Admits,
    Shortage,
    tokens_taken,
    tokens_to_admit,
    victim_for,
    watermark_of,
)
from minibatch.scheduling.state import SchedulerState


class PolicyError(RuntimeError):
    """A policy asked for something that no iteration may do."""


class PlanBuilder:
    """The next iteration from `state`, under a token budget.

    Attributes:
        running: requests with a slot, in order of admission; admissions and preemptions of this
            builder included.
        first_waiting: the request of the queue that may enter next.
        budget_left: tokens that may still be scheduled.
    """

    def __init__(self, state: SchedulerState, token_budget: int) -> None:
        self.state = state
        self.config, self.rules = state.config, state.rules
        self.token_budget = self.budget_left = token_budget
        self.running = list(state.running)
        self._queue = in_order(state.waiting, state.config, state.service)
        self.first_waiting = next(self._queue, None)
        self.swapped = deque(state.swapped)
        self.kv = KVChanges(state.pool)
        self._decodes: dict[int, RequestState] = {}
        self._prefills: dict[int, ScheduledSeq] = {}
        self._padding: dict[int, ScheduledSeq] = {}
        self._new_blocks: dict[int, list[int]] = {}
        self._admitted: dict[int, tuple[RequestState, int]] = {}
        self._preempted: dict[int, Preemption] = {}
        self._swap_in: list[Swap] = []
        self._reasons: list[Reason] = []
        self._needs_one_free = self.rules.shortage is Shortage.ONE_FREE and state.pool.paged

    @cached_property
    def _widest(self) -> int:
        """Tokens of the longest request of the batch, finished ones included."""
        holders = (*self.state.running, *(holder for _, holder in self.state.finished))
        return max(holder.num_computed_tokens for holder in holders)

    @property
    def finished_slots(self) -> list[int]:
        """Slots still held for requests that have finished."""
        return self.state.finished_slots

    @property
    def next_chunk(self) -> int:
        """Tokens of the queue's first prompt that fit the budget, but 1 where none do."""
        request = self.first_waiting
        return 0 if request is None else min(request.num_tokens, max(1, self.budget_left))

    # -- running requests ---------------------------------------------------------------------

    def remaining_prefill(self, request: RequestState) -> int:
        """Tokens of `request` still to prefill before it can decode."""
        if request.request_id in self._admitted and request.status is RequestStatus.WAITING:
            return request.num_tokens
        return request.prefill_end - request.num_computed_tokens

    def run(self, request: RequestState, limit: int | None = None) -> None:
        """Decode, or prefill as much as the budget and `limit` allow; nothing where the budget is used up."""
        if request.is_prefilling:
            remaining = self.remaining_prefill(request)
            self.prefill(request, min(remaining, self.budget_left, remaining if limit is None else limit))
        elif self.budget_left:
            self.decode(request)

    def decode(self, request: RequestState) -> None:
        """Generate one token of a running request; without effect where it finds no block."""
        request_id, start = request.request_id, request.num_computed_tokens
        fits = start < len(request.block_table) * self.config.block_size  # nearly always
        if (not fits or self._needs_one_free or request_id in self._preempted) and not self._make_room(
            request, start + 1
        ):
            return
        if start < request.prefill_end:
            raise PolicyError(
                f"r{request_id} decodes with {request.prefill_end - start} tokens to prefill: prefill first"
            )
        self._spend(request_id, 1)
        self._decodes[request_id] = request
        if not fits:
            self._take_blocks(request, start + 1)

    def prefill(self, request: RequestState, num_tokens: int | None = None, num_padding: int = 0) -> None:
        """Prefill the next `num_tokens` of a running request (None: all that remain).

        By most rules all of them or none. A chunk that may be cut shrinks to the free blocks.
        """
        remaining, start = self.remaining_prefill(request), request.num_computed_tokens
        wanted = remaining if num_tokens is None else num_tokens
        is_cut = self.rules.shortage in (Shortage.CUT_CHUNK, Shortage.NEXT_OF_ALL)
        if wanted < 1 or not self._make_room(request, start + (1 if is_cut else wanted)):
            return
        tokens = min(wanted, self.kv.room(self._num_held(request)) - start)
        self._prefill(request, tokens, num_padding)
        if num_tokens is not None:
            self._note(
                Code.CHUNK, request, tokens=tokens, stop=start + tokens, end=start + remaining,
                left=self.budget_left + tokens, budget=self.token_budget,
            )  # fmt: skip

    def pad(self, slot: int) -> None:
        """Compute a token of padding for the finished request in `slot`, behind the longest of the batch."""
        holder = self.state.slots[slot]
        if holder is not None:
            self._spend(holder.request_id, 1)
            seq = ScheduledSeq(holder, slot, Phase.PADDING, self._widest, num_tokens=0, num_padding=1)
            self._padding[holder.request_id] = seq

    # -- admission ----------------------------------------------------------------------------

    def can_admit(self, num_tokens: int | None = None) -> bool:
        """Whether the first request of the queue may enter and run `num_tokens` (None: its whole prompt).

        Says why not, where it can't.
        """
        request = self.first_waiting
        if request is None:
            return False
        tokens = request.num_tokens if num_tokens is None else num_tokens
        if self._preempted and not self.rules.admits_after_preemption:
            return self._wait(Code.WAITS_PREEMPTION, request)
        if self.swapped:
            return self._wait(Code.WAITS_SWAPPED, request, swapped=len(self.swapped))
        if not self.has_free_slot:
            return self._wait(Code.WAITS_SLOT, request, slots=self.config.max_num_seqs)
        if tokens > self.budget_left:
            numbers = {"needs": tokens, "left": self.budget_left, "budget": self.token_budget}
            return self._wait(Code.WAITS_BUDGET, request, **numbers)
        return self._blocks_suffice(request, tokens_to_admit(self.rules, request, tokens), self._set_aside)

    def make_room_to_admit(self, request: RequestState) -> None:
        """Preempt, by the rules, until the blocks suffice for the first request of the queue, or none can be."""
        needed = tokens_to_admit(self.rules, request, request.num_tokens)
        while not self.kv.can_append(0, needed):
            scheduled = self._decodes.keys() | self._prefills.keys()
            unscheduled = [each for each in self.running if each.request_id not in scheduled]
            victim = victim_for(self.rules, self.config, request, self.running, unscheduled)
            if victim is None:
                return
            self.preempt(victim, request, needed)

    def admit(self, num_tokens: int | None = None) -> RequestState:
        """Let the first request of the queue in; call only where `can_admit`, then `prefill` it."""
        request = self.first_waiting
        if request is None:
            raise PolicyError("the queue is empty: ask can_admit before admitting")
        self.first_waiting = next(self._queue, None)
        chunk = request.num_tokens if num_tokens is None else num_tokens
        self._enter(request, tokens_taken(self.rules, request, chunk), Code.ADMITTED)
        return request

    def skip(self) -> None:
        """Leave the first request of the queue where it is, and look at the next one."""
        self.first_waiting = next(self._queue, None)

    def resume(self) -> list[RequestState]:
        """Bring swapped requests back while slots and blocks allow; none after a preemption."""
        resumed = []
        while self.swapped and self.has_free_slot and not self._preempted:
            request = self.swapped[0]
            tokens = request.num_computed_tokens + 1
            if not self._blocks_suffice(request, tokens, int(self._needs_one_free)):
                break
            self.swapped.popleft()
            self._enter(request, tokens, Code.RESUMED)
            self._swap_in.append(Swap(request, tuple(self._new_blocks[request.request_id])))
            resumed.append(request)
        return resumed

    def wait(self, code: Code, **numbers: int) -> None:
        """Note why the first request of the queue stays there, where the policy itself decided it."""
        if self.first_waiting is not None:
            self._wait(code, self.first_waiting, **numbers)

    # -- the plan -----------------------------------------------------------------------------

    def plan(self, wake_ns: int | None = None, memory: object = None) -> Plan:
        """The iteration as it stands; `memory` is what the policy finds in the state next time."""
        held = self._held()
        self._note_stalls(held)
        preempted = tuple(self._preempted.values())
        swap_out = [Swap(p.request, tuple(p.request.block_table)) for p in preempted if p.by_swap]
        return Plan(
            decodes=self._as_columns(),
            prefills=tuple(self._prefills.values()),
            padding=tuple(self._padding.values()),
            held=tuple(held),
            admitted=tuple(self._admitted.values()),
            preempted=preempted,
            swap_out=tuple(swap_out),
            swap_in=tuple(self._swap_in),
            reasons=tuple(self._reasons),
            wake_ns=wake_ns,
            memory=memory,
            token_budget=self.token_budget,
            new_blocks=tuple(
                (request, tuple(self._new_blocks[request.request_id]))
                for request in self.running
                if request.request_id in self._new_blocks
            ),
            kv=self.kv,
        )

    # -- inside -------------------------------------------------------------------------------

    @property
    def has_free_slot(self) -> bool:
        return len(self._admitted) < len(self.state.free_slots)

    def is_running(self, request: RequestState) -> bool:
        """Whether it is one of `running`."""
        holds_slot = request.status is RequestStatus.RUNNING or request.request_id in self._admitted
        return holds_slot and request.request_id not in self._preempted

    def _slot(self, request: RequestState) -> int:
        if request.request_id in self._admitted:
            return self._admitted[request.request_id][1]
        if request.slot is None:
            raise PolicyError(f"r{request.request_id} holds no slot: admit it before scheduling it")
        return request.slot

    def _num_held(self, request: RequestState) -> int:
        return len(request.block_table) + len(self._new_blocks.get(request.request_id, ()))

    def _make_room(self, request: RequestState, num_tokens: int) -> bool:
        """Preempt until a running request has room for `num_tokens`; False if it has none or was preempted itself."""
        while self.is_running(request):
            if self._has_room(request, num_tokens):
                return True
            scheduled = self._decodes.keys() | self._prefills.keys()
            unscheduled = [each for each in self.running if each.request_id not in scheduled]
            victim = victim_for(self.rules, self.config, request, self.running, unscheduled)
            if victim is None:
                return False
            self.preempt(victim, request, num_tokens)
        return False

    def _has_room(self, request: RequestState, num_tokens: int) -> bool:
        held = self._num_held(request)
        if self._needs_one_free and not self.remaining_prefill(request):
            return self.kv.num_free > 0
        return self.kv.can_append(held, num_tokens)

    def preempt(self, victim: RequestState, for_request: RequestState, num_tokens: int) -> None:
        """Take the blocks of a running request away, so that another one may come to `num_tokens` tokens."""
        held = self._num_held(victim)
        needs = max(1, self.kv.missing(self._num_held(for_request), num_tokens))
        self.running.remove(victim)
        by_swap = self.config.preemption_mode == "swap" and self.rules.swaps
        code = Code.PREEMPTED_SWAP if by_swap else CODE_OF_VICTIM[self.rules.victim]
        numbers = {"held": held, "for_request": for_request.request_id, "needs": needs, "free": self.kv.num_free}
        self._note(code, victim, **numbers)
        self.kv.release([*victim.block_table, *self._new_blocks.pop(victim.request_id, [])])
        if self._decodes.pop(victim.request_id, None):
            self.budget_left += 1
        if seq := self._prefills.pop(victim.request_id, None):
            self.budget_left += seq.num_tokens + seq.num_padding
        if victim.request_id in self._admitted:
            raise PolicyError(
                f"r{victim.request_id} enters and is preempted in one iteration: decode the running "
                "requests before you admit new ones"
            )
        self._preempted[victim.request_id] = Preemption(victim, self._slot(victim), by_swap)

    @property
    def _set_aside(self) -> int:
        """Blocks that running requests may still come to need and that an admission must leave them."""
        if self.rules.admits is not Admits.PROMPT_AND_CAP:
            return 0
        return sum(self.kv.missing(self._num_held(each), each.most_computed) for each in self.running)

    def _blocks_suffice(self, request: RequestState, num_tokens: int, set_aside: int) -> bool:
        """Blocks for `num_tokens` above the watermark and what is set aside."""
        kept = watermark_of(self.rules, self.config, bool(self.running)) + set_aside
        if self.kv.can_append(0, num_tokens, keep=kept):
            return True
        numbers = {"needs": self.kv.missing(0, num_tokens), "free": self.kv.num_free, "kept": kept}
        is_reserved = self.rules.admits is Admits.PROMPT_AND_CAP
        return self._wait(Code.WAITS_RESERVED if is_reserved else Code.WAITS_BLOCKS, request, **numbers)

    def _enter(self, request: RequestState, num_tokens: int, code: Code) -> None:
        slot = self.state.free_slots[len(self._admitted)]
        self._note(code, request, slot=slot, needs=self.kv.missing(0, num_tokens), free=self.kv.num_free)
        self._new_blocks[request.request_id] = self.kv.append(0, num_tokens)
        self._admitted[request.request_id] = (request, slot)
        self.running.append(request)

    def _prefill(self, request: RequestState, num_tokens: int, num_padding: int) -> None:
        start, stop = request.num_computed_tokens, request.num_computed_tokens + num_tokens
        self._spend(request.request_id, num_tokens + num_padding)
        self._take_blocks(request, stop)
        new = self._new_blocks.get(request.request_id)
        # Copied only where it grows: a long request's table is long, and its own one stays as it is until commit.
        table = [*request.block_table, *new] if new else request.block_table
        self._prefills[request.request_id] = ScheduledSeq(
            request, self._slot(request), Phase.PREFILL, start, num_tokens, num_padding, table,
            samples=stop == request.num_tokens,
        )  # fmt: skip

    def _take_blocks(self, request: RequestState, num_tokens: int) -> None:
        """Those that `request` lacks to hold `num_tokens` tokens."""
        if added := self.kv.append(self._num_held(request), num_tokens):
            self._new_blocks.setdefault(request.request_id, []).extend(added)

    def _as_columns(self) -> Decodes:
        requests = tuple(self._decodes.values())
        slots = [self._slot(request) if request.slot is None else request.slot for request in requests]
        return Decodes(requests, slots, [request.num_computed_tokens for request in requests])

    def _spend(self, request_id: int, num_positions: int) -> None:
        """Take so much of the budget for a request that is not scheduled yet."""
        if request_id in self._decodes or request_id in self._prefills or request_id in self._padding:
            raise PolicyError(f"r{request_id} is scheduled twice in one iteration")
        self.budget_left -= num_positions
        if self.budget_left < 0:
            raise PolicyError(
                f"r{request_id} takes the iteration {-self.budget_left} tokens over its budget of "
                f"{self.token_budget}: schedule at most budget_left tokens"
            )

    def _held(self) -> list[tuple[int, RequestState, Phase]]:
        """Slots that compute nothing: running requests without a token, finished ones not let go."""
        held: list[tuple[int, RequestState, Phase]] = []
        if len(self._decodes) + len(self._prefills) < len(self.running):
            scheduled = self._decodes.keys() | self._prefills.keys()
            stalled = [request for request in self.running if request.request_id not in scheduled]
            held += [(self._slot(request), request, Phase.STALLED) for request in stalled]
        held += [
            (slot, holder, Phase.PADDING)
            for slot, holder in self.state.finished
            if holder.request_id not in self._padding
        ]
        return held

    def _note_stalls(self, held: list[tuple[int, RequestState, Phase]]) -> None:
        if not held:
            return
        stalled = sum(phase is Phase.STALLED for _, _, phase in held)
        if stalled and self._prefills:
            tokens = sum(seq.num_tokens for seq in self._prefills.values())
            numbers = {"stalled": stalled, "tokens": tokens, "prompts": len(self._prefills)}
            self._reasons.append(Reason(Code.STALLED_BY_PREFILL, None, numbers))

    def _wait(self, code: Code, request: RequestState, **numbers: int) -> bool:
        self._note(code, request, **numbers)
        return False

    def _note(self, code: Code, request: RequestState, **numbers: int) -> None:
        self._reasons.append(Reason(code, request.request_id, numbers))
