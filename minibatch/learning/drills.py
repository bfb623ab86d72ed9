"""Numbers to do in the head before an interview, made from the registries of models and accelerators.

Answers come from the code that the simulations use. Where that counts more finely than mental arithmetic
(activations; an embedding that is looked up, not multiplied), the tolerance covers the estimate by hand.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from minibatch.learning import drills_of_bytes, drills_of_time
from minibatch.learning.drill import Drill

_TOPICS: tuple[Callable[[], Iterator[Drill]], ...] = (
    drills_of_bytes.kv_bytes, drills_of_bytes.kv_of_a_sequence, drills_of_bytes.bytes_of_weights,
    drills_of_time.time_to_read_weights, drills_of_time.bound_of_one_stream,
    drills_of_bytes.sequences_that_fit, drills_of_bytes.kv_blocks,
    drills_of_time.ridges, drills_of_time.batches_at_the_ridge, drills_of_time.step_times, drills_of_time.step_rates,
    drills_of_time.prefill_flops, drills_of_time.prefill_times,
)  # fmt: skip


def make_drills(seed: int = 0, count: int | None = 120) -> list[Drill]:
    """`count` different drills (None: all), of every topic about as many; the same for the same seed.

    Raises:
        ValueError: the registries don't give as many.
    """
    rng = random.Random(seed)
    topics = [list(make()) for make in _TOPICS]
    for drills in topics:
        rng.shuffle(drills)
    total = sum(map(len, topics))
    count = total if count is None else count
    if not 1 <= count <= total:
        raise ValueError(f"count is {count}: the registries give 1 to {total} drills")
    chosen: list[Drill] = []
    while len(chosen) < count:
        for drills in topics:
            if drills and len(chosen) < count:
                chosen.append(drills.pop())
    return chosen
