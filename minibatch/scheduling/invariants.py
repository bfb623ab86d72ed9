"""What holds between any two iterations, whatever the policy, the knobs and the workload."""

from __future__ import annotations

from minibatch.scheduling.kv_pool import blocks_for
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.request_state import RequestState, RequestStatus
from minibatch.scheduling.state import SchedulerState


class InvariantError(AssertionError):
    """The scheduler's bookkeeping contradicts itself: a bug in Minibatch or in a policy."""


def check_plan(plan: Plan, state: SchedulerState) -> None:
    """Token budget, slots and batch agree before the plan runs."""
    _require(plan.num_tokens <= plan.token_budget, f"{plan.num_tokens} tokens > budget {plan.token_budget}")
    seqs = plan.seqs
    slots = [seq.slot for seq in seqs] + [slot for slot, _, _ in plan.held]
    _require(len(set(slots)) == len(slots), f"a slot runs two sequences: {sorted(slots)}")
    _require(len(slots) <= state.config.max_num_seqs, f"{len(slots)} slots > {state.config.max_num_seqs}")
    for seq in seqs:
        capacity = len(seq.block_table) * state.config.block_size
        _require(seq.start + seq.num_tokens <= capacity or not seq.num_tokens, f"{_name(seq.request)} overflows")


def check_state(state: SchedulerState, requests: list[RequestState]) -> None:
    """Blocks, queues and counters agree after a commit.

    Args:
        requests: those to look for in the queues: all, or those that the iteration may have moved.
    """
    pool = state.pool
    free = pool.free_units  # listing thousands of blocks anew at every step would cost most of a run
    if pool.unit > 1:
        free = [b for first in pool.free_units for b in range(first, first + pool.unit)]
    held = [block for request in state.running for block in request.block_table]
    usable = pool.num_blocks - pool.num_blocks % pool.unit
    _require(len(free) + len(held) == usable, f"{len(free)} free + {len(held)} held blocks are not {usable}")
    _require(len({*free, *held}) == usable, "a block has two owners")

    places = {
        RequestStatus.WAITING: state.waiting,
        RequestStatus.RUNNING: state.running,
        RequestStatus.SWAPPED: state.swapped,
    }
    _require(len(state.running) <= state.config.max_num_seqs, f"{len(state.running)} requests run")
    for request in requests:
        where = [status for status, members in places.items() if request in members]
        expected = [] if request.status is RequestStatus.FINISHED else [request.status]
        _require(where == expected, f"{_name(request)} is {request.status} and found in {where}")
        _require((request.status is RequestStatus.RUNNING) or not request.block_table, f"{_name(request)} holds blocks")
    free_slots = [slot for slot, holder in enumerate(state.slots) if holder is None]
    _require(state.free_slots == free_slots, f"slots {free_slots} are free and {state.free_slots} said to be")
    _require(
        all(r.status is RequestStatus.FINISHED for _, r in state.finished),
        "a slot is kept for a request that has not finished",
    )
    for request in state.running:
        capacity = len(request.block_table) * pool.block_size
        _require(request.num_computed_tokens <= capacity, f"{_name(request)} has more KV than blocks")
        _require(request.num_computed_tokens < request.num_tokens, f"{_name(request)} has nothing to compute")
        _require(request.slot is not None and state.slots[request.slot] is request, f"{_name(request)} lost its slot")
        if pool.paged and not request.is_prefilling:
            needed = blocks_for(request.num_computed_tokens, pool.block_size)
            _require(len(request.block_table) <= needed + 1, f"{_name(request)} hoards blocks")


def _name(request: RequestState) -> str:
    return f"r{request.request_id}"


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise InvariantError(message)
