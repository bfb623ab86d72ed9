"""What each slot did, as runs of identical iterations: the data of a lane."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import FINISHES, PREEMPTIONS, Code, Reason
from minibatch.recording.schema import Recording

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
    segments: list[Segment] = []
    for part in _parts(recording):
        latest = segments[-1] if segments else None
        if latest is not None and _goes_on(latest, part):
            segments[-1] = replace(
                latest,
                last=part.last,
                end_ns=part.end_ns,
                tokens=latest.tokens + part.tokens,
                padding=latest.padding + part.padding,
            )
        else:
            segments.append(part)
    why = _Reasons(recording)
    return [replace(segment, reason=why.of(segment)) for segment in segments]


def _parts(recording: Recording) -> Iterator[Segment]:
    """Every slot's iterations, by slot and time, before they are joined."""
    starts = recording.iterations["start_ns"].tolist()
    ends = recording.end_of_iteration_ns.tolist()
    columns = ("slot", "iteration", "request", "phase", "tokens", "padding")
    rows = zip(*(recording.entries[name].tolist() for name in columns), strict=True)
    for slot, iteration, request, number, tokens, padding in sorted(rows):
        phase, start, end = Phase(number), starts[iteration], ends[iteration]
        thrown_away = (end - start) * padding // max(1, tokens + padding) if phase is Phase.PREFILL else 0
        if not thrown_away:
            yield Segment(slot, request, phase, iteration, iteration, start, end, tokens, padding)
            continue
        middle = end - thrown_away
        if middle > start:
            yield Segment(slot, request, phase, iteration, iteration, start, middle, tokens, 0)
        yield Segment(slot, request, Phase.PADDING, iteration, iteration, middle, end, 0, padding, padded=True)


def _goes_on(before: Segment, after: Segment) -> bool:
    return (
        (before.slot, before.request, before.phase, before.padded)
        == (after.slot, after.request, after.phase, after.padded)
        and before.last == after.first - 1
        and before.end_ns == after.start_ns
    )


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
