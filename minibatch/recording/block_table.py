"""What the events of KV blocks add up to."""

from __future__ import annotations

import numpy as np

from minibatch.recording.schema import BlockEvent, Column, Table


def held_changes(blocks: Table) -> Column:
    """(rows,) by how many each event changes the number of blocks that a request or more refer to: 1, 0 or -1."""
    event = blocks["event"]
    step = (event == BlockEvent.ACQUIRE).astype(np.int64) - (event == BlockEvent.RELEASE)
    order = np.lexsort((blocks["block"], blocks["engine"]))  # stable, so in order of time for each block
    sums = np.cumsum(step[order])
    block, engine = blocks["block"][order], blocks["engine"][order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (np.diff(block) != 0) | (np.diff(engine) != 0)
    first = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    references = sums - (sums - step[order])[first]
    changes = np.empty(len(order), dtype=np.int64)
    changes[order] = (references > 0).astype(np.int64) - (references - step[order] > 0)
    return changes
