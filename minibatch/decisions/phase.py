"""What a slot does in one iteration."""

from enum import IntEnum


class Phase(IntEnum):
    """What a slot does in one iteration."""

    PREFILL = 0
    DECODE = 1
    PADDING = 2
    """Held for a request that has finished."""
    STALLED = 3
    """Held by a request that gets no token in this iteration."""
