"""Everything a policy can see, and the only place that changes it."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Sequence

from minibatch.decisions.reasons import Code, Reason
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.kv_pool import KVPool
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.queue_order import Service
from minibatch.scheduling.request_state import FinishReason, RequestState, RequestStatus
from minibatch.scheduling.rules import TEACHING, Admits, Returns, Rules, blocks_always_free
from minibatch.workload.request import Request


class SchedulerState:
    """Queues, slots and KV blocks between two iterations.

    Attributes:
        now_ns: time on the run's clock.
        waiting: arrived and not admitted, first come first; preempted requests at the front.
        running: requests that hold a slot and blocks, in order of admission.
        swapped: preempted requests whose KV lies in host memory, earliest admitted first.
        slots: the request that holds each slot, or None. Where `hold_slots`, a finished request
            keeps its slot until all others of the batch have finished.
        free_slots: free slots, lowest first.
        finished_slots: those still held for requests that have finished, lowest first.
        rules: those of the policy.
        service: what each tenant was served; kept where the queue's order is "fair".
        memory: what the policy's latest plan that ran left for the next one.
    """

    def __init__(
        self,
        config: SchedulerConfig,
        hold_slots: bool = False,
        eos_token_id: int | None = None,
        rules: Rules = TEACHING,
    ) -> None:
        self.config = config
        self.hold_slots = hold_slots
        self.rules = rules
        self.eos_token_id = eos_token_id
        self.now_ns = 0
        self.waiting: deque[RequestState] = deque()
        self.running: list[RequestState] = []
        self.swapped: deque[RequestState] = deque()
        self.slots: list[RequestState | None] = [None] * config.max_num_seqs
        self.free_slots = list(range(config.max_num_seqs))
        self.finished_slots: list[int] = []
        self.pool = KVPool(config)
        self.service = Service()
        self.memory: object = None

    @property
    def has_work(self) -> bool:
        return bool(self.waiting or self.running or self.swapped)

    @property
    def finished(self) -> list[tuple[int, RequestState]]:
        """Finished requests that still hold a slot, with the slot."""
        if not self.finished_slots:
            return []
        holders = ((slot, self.slots[slot]) for slot in self.finished_slots)
        return [(slot, holder) for slot, holder in holders if holder is not None]

    def why_rejected(self, request: Request) -> Reason | None:
        """Why `request` could never finish here however long it waited; None if it can."""
        config, total = self.config, _most_tokens(request)
        if total > config.max_model_len:
            numbers = {"prompt": request.num_prompt_tokens, "max_tokens": request.sampling.max_tokens}
            return Reason(Code.REJECTED_LENGTH, request.request_id, {**numbers, "max_model_len": config.max_model_len})
        needs = self.pool.max_blocks(total - 1)  # the last token's KV is never needed
        if self.rules.admits is not Admits.FIRST_CHUNK:
            needs += blocks_always_free(self.rules, config)
        if needs > config.num_kv_blocks - config.num_kv_blocks % self.pool.unit:
            return Reason(Code.REJECTED_BLOCKS, request.request_id, {"needs": needs, "pool": config.num_kv_blocks})
        return None

    def arrive(self, request: Request) -> tuple[RequestState, Reason]:
        """Queue a request that has arrived, or refuse at once one that can never fit."""
        state = RequestState(request)
        if rejection := self.why_rejected(request):
            state.status, state.finish_reason = RequestStatus.FINISHED, FinishReason.REJECTED
            return state, rejection
        if self.config.queue_order == "fair":
            present = (*self.waiting, *self.running, *self.swapped)
            self.service.join(request.tenant, {each.request.tenant for each in present})
        self.waiting.append(state)
        numbers = {"prompt": request.num_prompt_tokens, "max_tokens": request.sampling.max_tokens}
        return state, Reason(Code.QUEUED, request.request_id, numbers)

    def commit(self, plan: Plan, token_ids: dict[int, int]) -> list[tuple[RequestState, list[int]]]:
        """Make `plan` true after it ran and gave `token_ids`, by request id.

        Returns the requests that finished, each with the blocks that it gave back.
        """
        if plan.kv is not None:
            self.pool.settle(plan.kv)
        self.memory = plan.memory
        if self.config.queue_order == "fair":
            self._serve(plan)
        for preemption in plan.preempted:
            self._preempt(preemption.request, preemption.by_swap)
        for request, slot in plan.admitted:
            self._admit(request, slot)
        for request, blocks in plan.new_blocks:
            request.block_table.extend(blocks)
        ended = []
        for request in plan.decodes.requests:
            request.num_computed_tokens += 1
            if self._append_token(request, token_ids[request.request_id]):
                ended.append(request)
        for seq in plan.prefills:
            seq.request.num_computed_tokens += seq.num_tokens
            if seq.samples and self._append_token(seq.request, token_ids[seq.request.request_id]):
                ended.append(seq.request)
        return self._finish(ended)

    def finish_written(self, requests: Sequence[RequestState]) -> list[tuple[RequestState, list[int]]]:
        """Let those of `requests` go that have generated all that they may; returned as `commit` does."""
        ended = [request for request in requests if request.num_computed_tokens == request.last_computed]
        for request in ended:
            request.finish_reason = request.reason_at_end
        return self._finish(ended)

    def abort(self, request_id: int) -> tuple[RequestState, list[int]] | None:
        """Let a request go wherever it is; returned with the blocks that it gives back.

        None where no such request waits or runs. One that runs leaves its slot as if it had finished.
        """
        queues = (self.running, self.swapped, self.waiting)
        found = next((r for queue in queues for r in queue if r.request_id == request_id), None)
        if found is None:
            return None
        found.finish_reason = FinishReason.ABORT
        if found.status is RequestStatus.RUNNING:
            return self._finish([found])[0]
        (self.swapped if found.status is RequestStatus.SWAPPED else self.waiting).remove(found)
        found.status = RequestStatus.FINISHED
        return found, []

    def change(self, config: SchedulerConfig, hold_slots: bool, rules: Rules) -> None:
        """Go on with other knobs and rules. Requests stay where they are, whatever knobs they came in under.

        A request whose slot is no more moves to the lowest free one.

        Raises:
            ValueError: what is held or queued now does not fit; the sentence says what would.
        """
        self._check_change(config)
        self.pool.resize(config.num_kv_blocks, [block for request in self.running for block in request.block_table])
        self.config, self.hold_slots, self.rules, self.memory = config, hold_slots, rules, None
        self._release_slots()
        moving = [request for request in self.slots[config.max_num_seqs :] if request is not None]
        self.slots = self.slots[: config.max_num_seqs] + [None] * (config.max_num_seqs - len(self.slots))
        for request in moving:
            request.slot = self.slots.index(None)
            self.slots[request.slot] = request
        self.free_slots = [slot for slot, holder in enumerate(self.slots) if holder is None]
        self.finished_slots = [
            slot for slot, holder in enumerate(self.slots) if holder and holder.status is RequestStatus.FINISHED
        ]

    def _check_change(self, config: SchedulerConfig) -> None:
        pool = KVPool(config)
        for knob, name in (("block_size", "block_size"), ("kv_layout", "paged"), ("max_model_len", "unit")):
            if getattr(pool, name) != getattr(self.pool, name):
                raise ValueError(f"{knob} decides how all of the KV pool is laid out: serve the requests anew with it")
        slots = sum(holder is not None for holder in self.slots)
        if slots > config.max_num_seqs:
            raise ValueError(f"{slots} slots are held at this point: use max_num_seqs of {slots} or more")
        if not self.has_work:
            return
        longest = max((*self.running, *self.swapped, *self.waiting), key=lambda request: _most_tokens(request.request))
        total = _most_tokens(longest.request)
        if total > config.max_model_len:
            raise ValueError(
                f"r{longest.request_id} is here and may come to {total} tokens: use max_model_len of {total} or more"
            )
        held, needs = sum(len(request.block_table) for request in self.running), pool.max_blocks(total - 1)
        if max(held, needs) > config.num_kv_blocks:
            raise ValueError(
                f"{held} KV blocks are held at this point, and r{longest.request_id} may come to need {needs}: "
                f"use num_kv_blocks of {max(held, needs)} or more"
            )

    def _preempt(self, request: RequestState, by_swap: bool) -> None:
        self.running.remove(request)
        self._free_slot_of(request)
        request.block_table = []
        request.num_preemptions += 1
        if by_swap:
            request.status = RequestStatus.SWAPPED
            self.swapped.appendleft(request)
        else:
            request.status = RequestStatus.WAITING
            request.num_computed_tokens = 0
            self._queue_again(request)

    def _queue_again(self, request: RequestState) -> None:
        match self.rules.returns:
            case Returns.HEAD:
                self.waiting.appendleft(request)
            case Returns.TAIL:
                self.waiting.append(request)
            case Returns.ARRIVAL:
                earlier = sum(each.request_id < request.request_id for each in self.waiting)
                self.waiting.insert(earlier, request)

    def _serve(self, plan: Plan) -> None:
        """Count what `plan` gives each tenant."""
        for request in plan.decodes.requests:
            self.service.add(request.request.tenant, output_tokens=1)
        for seq in plan.prefills:
            self.service.add(seq.request.request.tenant, seq.num_tokens, int(seq.samples))

    def _admit(self, request: RequestState, slot: int) -> None:
        queue = self.swapped if request.status is RequestStatus.SWAPPED else self.waiting
        queue.remove(request)
        if request.status is RequestStatus.WAITING:
            request.prefill_end = request.num_tokens
        request.status, request.slot = RequestStatus.RUNNING, slot
        self.running.append(request)
        self.slots[slot] = request
        self.free_slots.remove(slot)

    def _append_token(self, request: RequestState, token_id: int) -> bool:
        """Whether the request finishes with this token."""
        request.output_token_ids.append(token_id)
        if token_id == self.eos_token_id and not request.request.sampling.ignore_eos:
            request.finish_reason = FinishReason.STOP
        elif request.num_computed_tokens == request.last_computed:
            request.finish_reason = request.reason_at_end
        else:
            return False
        return True

    def _finish(self, requests: Sequence[RequestState]) -> list[tuple[RequestState, list[int]]]:
        """Let `requests` go; returned with the blocks that each gave back."""
        finished = [(request, request.block_table) for request in requests]
        for request in requests:
            request.status = RequestStatus.FINISHED
            self.running.remove(request)
            self.pool.release(request.block_table)
            request.block_table = []
            if request.slot is not None:
                insort(self.finished_slots, request.slot)
        self._release_slots()
        return finished

    def _release_slots(self) -> None:
        if self.hold_slots and self.running:
            return
        for slot in self.finished_slots:
            self._free_slot_of(self.slots[slot])
        self.finished_slots = []

    def _free_slot_of(self, request: RequestState | None) -> None:
        if request is not None and request.slot is not None:
            self.slots[request.slot] = None
            insort(self.free_slots, request.slot)
            request.slot = None


def _most_tokens(request: Request) -> int:
    """Tokens of `request` at its longest: prompt and output."""
    return request.num_prompt_tokens + request.sampling.max_tokens
