"""What a run has recorded between two looks at it, so that watching a run costs what it adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minibatch.recording.schema import Header, Recording, Table


@dataclass(frozen=True, slots=True)
class PartRequest:
    """A request that a part tells of for the first time; arrays of `Recording` have the same names."""

    request_id: int
    arrival_ns: int | None
    num_prompt_tokens: int
    max_tokens: int
    prompt: str | None


@dataclass(frozen=True, slots=True)
class RecordingPart:
    """Rows that follow those of the part before. Numbers of iterations count from the beginning of the run.

    Attributes:
        first_iteration: iterations of all parts before.
        from_ns: when the last of them ended.
        requests: those that have become known or have arrived.
        pieces: (request, text) that was added, one piece a token.
        finished: (request, finish reason) since the part before.
        aborted: when the aborted ones of them left, in ns.
    """

    header: Header
    first_iteration: int
    from_ns: int
    iterations: Table
    entries: Table
    blocks: Table
    reasons: Table
    reason_numbers: Sequence[tuple[int, ...]]
    requests: Sequence[PartRequest]
    pieces: Mapping[int, Sequence[str]]
    finished: Mapping[int, str]
    aborted: Mapping[int, int]

    @property
    def num_rows(self) -> int:
        """Rows of all tables."""
        tables = (self.iterations, self.entries, self.blocks, self.reasons)
        return sum(len(next(iter(table.values()))) for table in tables)

    def alone(self) -> Recording:
        """The part as a run of its own that begins with iteration 0; it tells of no requests."""
        entries, blocks, reasons = (
            {**table, "iteration": table["iteration"] - np.int64(self.first_iteration)}
            for table in (self.entries, self.blocks, self.reasons)
        )
        return Recording(self.header, (), self.iterations, entries, blocks, reasons, tuple(self.reason_numbers))


def part_of(recording: Recording) -> RecordingPart:
    """A whole recording as the only part of its run."""
    return RecordingPart(
        header=recording.header,
        first_iteration=0,
        from_ns=0,
        iterations=recording.iterations,
        entries=recording.entries,
        blocks=recording.blocks,
        reasons=recording.reasons,
        reason_numbers=recording.reason_numbers,
        requests=[
            PartRequest(k, recording.arrived_ns(k), each.num_prompt_tokens, each.max_tokens, each.prompt)
            for k, each in enumerate(recording.requests)
        ],
        pieces={k: each.pieces for k, each in enumerate(recording.requests) if each.pieces},
        finished={k: each.finish_reason for k, each in enumerate(recording.requests) if each.finish_reason},
        aborted={k: each.aborted_ns for k, each in enumerate(recording.requests) if each.aborted_ns is not None},
    )
