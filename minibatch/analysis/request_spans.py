"""What each request went through, from its arrival to its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from minibatch.analysis.segments import Segment
from minibatch.decisions.phase import Phase
from minibatch.recording.schema import Recording

Doing = Literal["queue", "prefill", "decode", "stalled", "preempted"]

_IN_A_SLOT: dict[Phase, Doing] = {
    Phase.PREFILL: "prefill",
    Phase.PADDING: "prefill",
    Phase.DECODE: "decode",
    Phase.STALLED: "stalled",
}
"""What a request does; padding is that of its prompt."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time in which a request does one thing. Whole nanoseconds on the run's clock."""

    doing: Doing
    start_ns: int
    end_ns: int

    @property
    def holds_slot(self) -> bool:
        return self.doing not in ("queue", "preempted")


def request_spans(recording: Recording, segments: Sequence[Segment]) -> dict[int, list[Span]]:
    """By request id, its spans from its arrival to its end, or to the end of the run, without gaps.

    As the request ledger counts them, except that an iteration which others' prefill makes longer
    is all decode. Requests that were rejected, or that had not arrived when the run was cut off,
    have none.

    Args:
        segments: `slot_segments` of the recording.
    """
    stays: dict[int, list[Segment]] = defaultdict(list)
    for segment in sorted(segments, key=lambda segment: (segment.start_ns, segment.end_ns)):
        if segment.phase is not Phase.PADDING or segment.padded:  # else it has ended, and its slot is held
            stays[segment.request].append(segment)
    last_start = int(recording.iterations["start_ns"][-1]) if recording.num_iterations else -1
    lives = {}
    for request, record in enumerate(recording.requests):
        if record.finish_reason == "rejected" or record.arrival_ns > last_start:
            continue
        end_ns = recording.end_ns if record.finish_reason is None else record.aborted_ns
        if spans := _joined(_spans(record.arrival_ns, stays[request], end_ns)):
            lives[request] = spans
    return lives


def _spans(arrival_ns: int, stays: Sequence[Segment], end_ns: int | None) -> Iterator[Span]:
    """`stays`, what lies between them, and what follows them up to `end_ns`."""
    now = arrival_ns
    away: Doing = "queue"
    for stay in stays:
        if stay.start_ns > now:
            yield Span(away, now, stay.start_ns)
        yield Span(_IN_A_SLOT[stay.phase], stay.start_ns, stay.end_ns)
        now, away = stay.end_ns, "preempted"
    if end_ns is not None and end_ns > now:
        yield Span(away, now, end_ns)


def _joined(spans: Iterator[Span]) -> list[Span]:
    """Neighbours of one kind as one span."""
    joined: list[Span] = []
    for span in spans:
        if joined and joined[-1].doing == span.doing:
            joined[-1] = Span(span.doing, joined[-1].start_ns, span.end_ns)
        else:
            joined.append(span)
    return joined
