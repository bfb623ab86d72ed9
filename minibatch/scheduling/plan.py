"""What a policy decided for one iteration: the plan that an executor carries out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import Reason
from minibatch.scheduling.kv_pool import KVChanges
from minibatch.scheduling.request_state import RequestState


class ScheduledSeq(NamedTuple):
    """One sequence's part of an iteration's packed batch.

    The tokens at positions `start` .. `start + num_tokens - 1` are computed: they attend to all
    positions up to their own, and their KV is written through `block_table`. After them come
    `num_padding` positions that are computed as a padded server computes them and then thrown
    away: they attend likewise, and their KV belongs nowhere.

    Attributes:
        start: KV entries that are already there, so the first position computed.
        block_table: the request's blocks, this iteration's new ones included; covers the real
            tokens only. May be the request's own list, so read it before the plan is committed.
        samples: the last real token's logits give one new token.
    """

    request: RequestState
    slot: int
    phase: Phase
    start: int
    num_tokens: int
    num_padding: int = 0
    block_table: Sequence[int] = ()
    samples: bool = False


class Decodes(NamedTuple):
    """Every sequence that decodes: it computes one token, at `starts`, and samples the next.

    As columns, since nearly all sequences of a long run are such: a `ScheduledSeq` for each would
    take most of its time.
    """

    requests: Sequence[RequestState] = ()
    slots: Sequence[int] = ()
    starts: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Swap:
    """KV of one request to copy between the device and host memory, in token order."""

    request: RequestState
    block_table: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Preemption:
    """A running request that loses its slot and blocks before the iteration runs."""

    request: RequestState
    slot: int
    by_swap: bool


class Plan(NamedTuple):
    """One iteration as the policy wants it. It changes nothing until the state commits it.

    Order of execution: `swap_out` copies blocks to the host, then `swap_in` copies blocks back
    (a block may be in both), then one forward pass runs the batch.

    Attributes:
        decodes: the sequences that decode, first in the batch.
        prefills: chunks of prompts, behind them.
        padding: finished requests that compute a token all the same, last. With all three empty
            there is nothing to run now.
        held: (slot, request, phase) of slots that compute nothing: stalled or padding.
        admitted: requests that enter a slot in this plan, in order (from waiting or swapped).
        wake_ns: with an empty batch, the time at which the policy wants to be asked again, if that
            may come before the next arrival.
        token_budget: the budget that the policy kept to, in tokens.
        new_blocks: blocks that requests get for this iteration.
        kv: what the plan takes from the pool and gives back to it.
        memory: what the policy wants to find in `SchedulerState.memory` next time, if this plan runs.
    """

    decodes: Decodes = Decodes()
    prefills: tuple[ScheduledSeq, ...] = ()
    padding: tuple[ScheduledSeq, ...] = ()
    held: tuple[tuple[int, RequestState, Phase], ...] = ()
    admitted: tuple[tuple[RequestState, int], ...] = ()
    preempted: tuple[Preemption, ...] = ()
    swap_out: tuple[Swap, ...] = ()
    swap_in: tuple[Swap, ...] = ()
    reasons: tuple[Reason, ...] = ()
    wake_ns: int | None = None
    token_budget: int = 0
    new_blocks: tuple[tuple[RequestState, tuple[int, ...]], ...] = ()
    kv: KVChanges | None = None
    memory: object = None

    @property
    def num_tokens(self) -> int:
        """Token positions that this iteration computes, padding included."""
        return len(self.decodes.requests) + sum(seq.num_tokens + seq.num_padding for seq in self.not_decoding)

    @property
    def num_seqs(self) -> int:
        """Sequences of the batch."""
        return len(self.decodes.requests) + len(self.prefills) + len(self.padding)

    @property
    def not_decoding(self) -> tuple[ScheduledSeq, ...]:
        """The batch behind the decodes."""
        return self.prefills + self.padding if self.padding else self.prefills

    @property
    def seqs(self) -> tuple[ScheduledSeq, ...]:
        """The batch, one by one, made anew at each call; block tables are right until the plan is committed."""
        new = {request.request_id: blocks for request, blocks in self.new_blocks}
        decodes = []
        for request, slot, start in zip(*self.decodes, strict=True):
            added, table = new.get(request.request_id), request.block_table
            if added:  # copied only where it grows: a long request's table is long
                table = [*table, *added]
            decodes.append(ScheduledSeq(request, slot, Phase.DECODE, start, 1, 0, table, samples=True))
        return (*decodes, *self.prefills, *self.padding)


def plan_of(seqs: Iterable[ScheduledSeq]) -> Plan:
    """A plan that runs `seqs`, for steps that no policy made: those of benchmarks and calibration.

    A decode reads its request's own block table.
    """
    by_phase: dict[Phase, list[ScheduledSeq]] = {phase: [] for phase in Phase}
    for seq in seqs:
        by_phase[seq.phase].append(seq)
    decodes = by_phase[Phase.DECODE]
    return Plan(
        Decodes([seq.request for seq in decodes], [seq.slot for seq in decodes], [seq.start for seq in decodes]),
        prefills=tuple(by_phase[Phase.PREFILL]),
        padding=tuple(by_phase[Phase.PADDING]),
    )
