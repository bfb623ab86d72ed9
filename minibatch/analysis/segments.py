"""What each slot did, as runs of identical iterations: the data of a lane."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import FINISHES, PREEMPTIONS, Code, Reason
from minibatch.recording.schema import Column, Recording

PADDED = "its prompt is padded to the longest of its batch"


@dataclass(frozen=True, slots=True)
class Segment:
    """One request in one slot doing one thing, for iterations `first` to `last` without a gap.

    Attributes:
        tokens: computed in all of them.
        padding: positions computed and thrown away.
        padded: the padding of a prompt, not a slot that is held after the end.
        reason: why, as a sentence; "" where the recording has none.
    """

    slot: int
    request: int
    phase: Phase
    first: int
    last: int
    start_ns: int
    end_ns: int
    tokens: int
    padding: int
    padded: bool = False
    reason: str = ""


def slot_segments(recording: Recording) -> list[Segment]:
    """Every slot's segments, by slot and time. Times are whole nanoseconds on the run's clock.

    A padded prefill is drawn as the slot ledger counts it: its iteration is divided by positions,
    first those of the prompt, then the padding.
    """
    parts = _parts(recording)
    first = _firsts(parts)
    if not len(first):
        return []
    last = np.append(first[1:], len(parts["slot"])) - 1
    columns = (
        *(parts[name][first] for name in ("slot", "request", "phase", "iteration")),
        parts["iteration"][last],
        parts["start_ns"][first],
        parts["end_ns"][last],
        *(np.add.reduceat(parts[name], first) for name in ("tokens", "padding")),
        parts["padded"][first] == 1,
    )
    why, phases = _Reasons(recording), {phase.value: phase for phase in Phase}
    segments = []
    for slot, request, phase, *rest in zip(*(column.tolist() for column in columns), strict=True):
        values = (slot, request, phases[phase], *rest)
        with_reason = (*values, why.of(Segment(*values)))
        segments.append(Segment(*with_reason))
    return segments


def count_segments(recording: Recording) -> int:
    """How many segments `slot_segments` gives, in a fraction of its time."""
    return len(_firsts(_parts(recording)))


def _parts(recording: Recording) -> dict[str, Column]:
    """Every slot's iterations, by slot and time, before they are joined. `padded` is 0 or 1."""
    entries = recording.entries
    order = np.lexsort([entries[name] for name in ("phase", "request", "iteration", "slot")])
    columns = ("slot", "iteration", "request", "phase", "tokens", "padding")
    parts: dict[str, Column] = {name: entries[name][order] for name in columns}
    parts["start_ns"] = recording.iterations["start_ns"][parts["iteration"]]
    parts["end_ns"] = recording.end_of_iteration_ns[parts["iteration"]]
    parts["padded"] = np.zeros_like(order)

    thrown_away = np.zeros_like(order)
    for row in np.flatnonzero((parts["phase"] == Phase.PREFILL) & (parts["padding"] > 0)).tolist():
        # In Python's numbers: the product of a time and a length may pass 2**63.
        start, end, tokens, padding = (int(parts[name][row]) for name in ("start_ns", "end_ns", "tokens", "padding"))
        thrown_away[row] = (end - start) * padding // (tokens + padding)
    split = np.flatnonzero(thrown_away)
    middle = (parts["end_ns"] - thrown_away)[split]
    padded = {name: column[split] for name, column in parts.items()}
    padded |= {"phase": np.full_like(split, Phase.PADDING), "start_ns": middle, "tokens": np.zeros_like(split)}
    padded["padded"] = np.ones_like(split)
    parts["end_ns"][split], parts["padding"][split] = middle, 0
    kept = (thrown_away == 0) | (parts["end_ns"] > parts["start_ns"])

    # What is thrown away follows the part that it was split from.
    merged = np.argsort(np.concatenate([2 * np.flatnonzero(kept), 2 * split + 1]))
    return {name: np.concatenate([parts[name][kept], padded[name]])[merged] for name in parts}


def _firsts(parts: dict[str, Column]) -> Column:
    """Rows of `parts` that begin a segment: the others go on what the row before them did."""
    begins = np.ones(len(parts["slot"]), dtype=bool)
    begins[1:] = parts["iteration"][1:] != parts["iteration"][:-1] + 1
    begins[1:] |= parts["start_ns"][1:] != parts["end_ns"][:-1]
    for name in ("slot", "request", "phase", "padded"):
        begins[1:] |= parts[name][1:] != parts[name][:-1]
    return np.flatnonzero(begins)


def labelled(segments: list[Segment]) -> list[Segment]:
    """For each stay of a request in a slot its longest decode: where its name is best written."""
    longest: list[Segment] = []
    previous: Segment | None = None
    for segment in segments:
        stays = previous is not None and (previous.slot, previous.request) == (segment.slot, segment.request)
        previous = segment
        if segment.phase is not Phase.DECODE:
            continue
        if not (stays and longest and (longest[-1].slot, longest[-1].request) == (segment.slot, segment.request)):
            longest.append(segment)
        elif segment.end_ns - segment.start_ns > longest[-1].end_ns - longest[-1].start_ns:
            longest[-1] = segment
    return longest


class _Reasons:
    """A recording's reasons, found by what a segment is about."""

    def __init__(self, recording: Recording) -> None:
        self._of_request: dict[tuple[int, int | None], list[Reason]] = defaultdict(list)
        self._finish: dict[int, Reason] = {}
        for iteration, reason in recording.each_reason():
            self._of_request[iteration, reason.request_id].append(reason)
            if reason.code in FINISHES and reason.request_id is not None:
                self._finish[reason.request_id] = reason

    def of(self, segment: Segment) -> str:
        if segment.padded:
            return PADDED
        if segment.phase is Phase.PADDING:
            reason = self._finish.get(segment.request)
        elif segment.phase is Phase.STALLED:
            reason = self._find(segment.first, None, {Code.STALLED_BY_PREFILL})
        elif segment.phase is Phase.PREFILL:
            codes = {Code.CHUNK, Code.ADMITTED, Code.RESUMED}
            # The reason that says most comes last: a chunk's is given after its admission's.
            reason = self._find(segment.first, segment.request, codes, latest=True)
        else:
            reason = self._find(segment.last + 1, segment.request, FINISHES | PREEMPTIONS)
        return reason.sentence if reason else ""

    def _find(
        self, iteration: int, request: int | None, codes: set[Code] | frozenset[Code], latest: bool = False
    ) -> Reason | None:
        found = [reason for reason in self._of_request[iteration, request] if reason.code in codes]
        return found[-1 if latest else 0] if found else None
