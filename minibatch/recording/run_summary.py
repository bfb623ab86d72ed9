"""What a run came to: its requests' times and its totals, without a record of its iterations.

Studies of many long runs keep one of these for each, where a `Recording` would take too long and too much room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from minibatch.decisions.reasons import Code
from minibatch.recording.schema import Column, Table

REQUEST_COLUMNS = (
    "request", "arrival_ns", "first_scheduled_ns", "first_token_ns", "last_token_ns",
    "prompt_tokens", "output_tokens", "preemptions",
)  # fmt: skip
"""Of a completed request; times in nanoseconds from the start of the run."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run.

    Attributes:
        requests: a row of REQUEST_COLUMNS for each completed request, in the order of finishing.
        arrival_ns: of all requests that arrived, rejected ones included, in order.
        num_rejected: requests that could never have been served.
        num_aborted: requests whose clients left before they had finished.
        end_ns: when the last iteration ended.
        num_iterations: iterations that ran.
        num_preemptions: of all requests, finished or not.
        busy_ns: time in which an iteration ran.
        computing_ns: of that, time of compute-bound iterations: FLOPs / bytes at or above the ridge.
        waiting_ns: by code, time of the iterations in which the head of the queue waited for that.
        held_block_ns: sum over iterations of KV blocks held x duration.
        num_kv_blocks: blocks of the pool.
        gaps: (NUM_BINS,) gaps between two tokens of a request, counted by length: see `gap_bin`.
        gap_ns: sum of all gaps.
        is_complete: all requests finished.
    """

    requests: Table
    arrival_ns: Column
    num_rejected: int
    num_aborted: int
    end_ns: int
    num_iterations: int
    num_preemptions: int
    busy_ns: int
    computing_ns: int
    waiting_ns: Mapping[Code, int]
    held_block_ns: int
    num_kv_blocks: int
    gaps: Column
    gap_ns: int
    is_complete: bool


_EXACT = 256  # shorter gaps have a bin for each nanosecond
_STEPS = 128  # bins from one power of two to the next
NUM_BINS = _EXACT + 45 * _STEPS


def gap_bin(ns: int) -> int:
    """The bin of a gap: exact to its eight leading bits, so to 0.8 %."""
    shift = max(0, ns.bit_length() - 8)
    return ns if not shift else _EXACT + (shift - 1) * _STEPS + (ns >> shift) - _STEPS


def lowest_gap(place: int) -> int:
    """The shortest gap of a bin, in nanoseconds."""
    power, step = divmod(place - _EXACT, _STEPS)
    return place if place < _EXACT else (_STEPS + step) << (power + 1)


def gap_bins(ns: Column) -> Column:
    """The bins of many gaps."""
    shift = np.maximum(np.frexp(ns.astype(np.float64))[1].astype(np.int64) - 8, 0)
    return np.where(shift == 0, ns, _EXACT + (shift - 1) * _STEPS + (ns >> shift) - _STEPS)


def gap_values() -> Column:
    """(NUM_BINS,) the middle of each bin, in nanoseconds."""
    shift = np.repeat(np.arange(1, 46), _STEPS)
    lowest = (np.tile(np.arange(_STEPS), 45) + _STEPS) << shift
    return np.concatenate([np.arange(_EXACT), lowest + (1 << (shift - 1))])
