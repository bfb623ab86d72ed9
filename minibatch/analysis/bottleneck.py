"""Which limit keeps a run from serving more."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum

from minibatch.decisions.reasons import Code

WAITED = 0.1
"""The head of the queue waited if it did so for at least this share of the run's time."""
MOSTLY = 0.5
"""The device computes if more than this share of the iterations' time was compute-bound."""


class Bottleneck(StrEnum):
    """The limit that binds; the value is its word on the screen."""

    SLOTS = "slots"
    KV = "KV full"
    BUDGET = "token budget"
    BATCH = "batch end"
    COMPUTE = "compute"
    BANDWIDTH = "bandwidth"
    LOAD = "load"

    @property
    def words(self) -> str:
        """A sentence for the screen."""
        return _SENTENCES[self]


_SENTENCES = {
    Bottleneck.SLOTS: "Requests wait for a slot: a larger max_num_seqs would let more of them share the reading of "
    "weights.",
    Bottleneck.KV: "Requests wait for KV blocks: more memory for the KV cache would let more of them in.",
    Bottleneck.BUDGET: "Requests wait for the token budget: a larger max_num_batched_tokens would let more of them in.",
    Bottleneck.BATCH: "Requests wait for a batch to end: slots of finished requests stay closed until its last one "
    "is done.",
    Bottleneck.COMPUTE: "The device computes as fast as it can: a fuller batch would only take longer.",
    Bottleneck.BANDWIDTH: "The device reads memory as fast as it can, and no request is left waiting that could share "
    "the read.",
    Bottleneck.LOAD: "No limit is reached: throughput follows the load.",
}


@dataclass(frozen=True, slots=True)
class Shares:
    """Where a run's time went, as shares from 0 to 1.

    Attributes:
        follows: whether throughput followed the load: up to the knee it does.
        slots, kv_blocks, token_budget, batch: of the run's time, in which the head of the queue
            waited for a slot, for KV blocks, for the token budget, for a static batch to end.
        compute: of the iterations' time, that of compute-bound ones; the rest was memory-bound.

    Raises:
        ValueError: a share outside 0 to 1.
    """

    follows: bool
    slots: float = 0.0
    kv_blocks: float = 0.0
    token_budget: float = 0.0
    batch: float = 0.0
    compute: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0 <= getattr(self, field.name) <= 1:
                raise ValueError(f"the share {field.name} is {getattr(self, field.name):g}: use 0 to 1")


def bottleneck(shares: Shares) -> Bottleneck:
    """What keeps a run from serving more. The first of these that holds:

    1. Throughput follows the load: the load. No more was asked for.
    2. The head of the queue waited for less than a tenth of the time, in all: the device itself,
       compute if more than half of the iterations' time was compute-bound, else bandwidth. All requests that
       arrived were admitted, and it was still too slow.
    3. What the head of the queue waited for longest; of equal waits, the one first in `Bottleneck`. But
       where that is slots or the token budget, and more than half of that time was compute-bound: compute,
       because an iteration with more tokens would last longer in proportion.
    """
    if shares.follows:
        return Bottleneck.LOAD
    device = Bottleneck.COMPUTE if shares.compute > MOSTLY else Bottleneck.BANDWIDTH
    waits = {
        Bottleneck.SLOTS: shares.slots,
        Bottleneck.KV: shares.kv_blocks,
        Bottleneck.BUDGET: shares.token_budget,
        Bottleneck.BATCH: shares.batch,
    }
    if sum(waits.values()) < WAITED:
        return device
    longest = max(waits, key=lambda cause: waits[cause])
    return device if longest in (Bottleneck.SLOTS, Bottleneck.BUDGET) and device is Bottleneck.COMPUTE else longest


SHARE_OF = {
    Code.WAITS_SLOT: "slots",
    Code.WAITS_BLOCKS: "kv_blocks",
    Code.WAITS_RESERVED: "kv_blocks",
    Code.WAITS_PREEMPTION: "kv_blocks",
    Code.WAITS_SWAPPED: "kv_blocks",
    Code.WAITS_BUDGET: "token_budget",
    Code.WAITS_BATCH: "batch",
}
"""Which share a wait counts for. No request enters after a preemption, because blocks are short. A wait
for a window to fill is for more load: no limit."""
