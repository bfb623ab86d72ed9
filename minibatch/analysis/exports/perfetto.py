"""Recordings as a trace that Perfetto opens: a lane is a process, a slot is a thread.

The format is the JSON Object Format of Chrome's "Trace Event Format". Its times are microseconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, count
from typing import Any

from minibatch.analysis.exports.trace_window import WHOLE, TraceWindow
from minibatch.analysis.request_spans import Span, request_spans
from minibatch.analysis.run_names import lanes, run_name
from minibatch.analysis.segments import Segment, slot_segments
from minibatch.analysis.timeline import Timeline
from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import FINISHES, PREEMPTIONS, REJECTIONS, Code
from minibatch.recording.block_table import held_changes
from minibatch.recording.schema import Recording

Event = dict[str, Any]
"""One trace event, as the format has it."""

_COUNTED = ("flops", "bytes_weights", "bytes_kv", "bytes_activations")
_HAPPENS: dict[Code, tuple[str, str]] = {
    Code.QUEUED: ("arrival", "arrives"),
    Code.ADMITTED: ("admission", "is admitted"),
    Code.RESUMED: ("admission", "is resumed"),
    Code.ABORTED: ("finish", "is aborted"),
    Code.TRANSFERRED: ("finish", "goes to another engine"),
    **dict.fromkeys(PREEMPTIONS, ("preemption", "is preempted")),
    **dict.fromkeys(FINISHES, ("finish", "finishes")),
    **dict.fromkeys(REJECTIONS, ("rejection", "is rejected")),
}
"""What a decision is filed under and reads as. Waits, chunks and stalls are seen as slices."""


def trace_events(recordings: Sequence[Recording], window: TraceWindow = WHOLE) -> Iterator[Event]:
    """The events of `recordings`, a process for each engine of each, in their order; made as they are asked for.

    A process has a thread for its iterations, one for the scheduler's decisions and one for each
    slot; counters of KV blocks and of requests; and an async track for each request's life. Events
    of one thread, counter or async track are in order of time; the format asks no more.
    """
    # Processes and threads take their ids from one pool, as on Linux: some readers know a thread by its tid alone.
    ids = count(1)
    named = lanes(recordings, [run_name(recording) for recording in recordings])
    for place, (name, recording) in enumerate(named):
        lane = _Lane.of(name, recording, ids, window)
        yield from lane.metadata(place)
        yield from lane.events()


def microseconds(ns: int) -> float:
    """Nanoseconds as the format wants them, exact below 2**52 ns (52 days) however they are read.

    Perfetto multiplies by 1000 and cuts off the fraction: 2.002 would become 2001 ns, the slice
    would overlap the one before it, and a slice that overlaps is dropped.
    """
    value = ns / 1000
    return value if int(value * 1000) >= ns else math.nextafter(value, math.inf)


@dataclass(frozen=True, slots=True)
class _Lane:
    """One engine's recording, with the ids of its process and threads."""

    name: str
    recording: Recording
    window: TraceWindow
    pid: int
    iterations_tid: int
    decisions_tid: int
    slot_tids: tuple[int, ...]

    @classmethod
    def of(cls, name: str, recording: Recording, ids: Iterator[int], window: TraceWindow) -> _Lane:
        pid, iterations_tid, decisions_tid = next(ids), next(ids), next(ids)
        slot_tids = tuple(next(ids) for _ in range(recording.num_slots))
        return cls(name, recording, window, pid, iterations_tid, decisions_tid, slot_tids)

    def metadata(self, place: int) -> Iterator[Event]:
        """Names and order of the process, which is number `place`, and of its threads."""
        slots = ((tid, f"slot {slot}") for slot, tid in enumerate(self.slot_tids))
        threads = ((self.iterations_tid, "iterations"), (self.decisions_tid, "decisions"), *slots)
        yield self._metadata("process_name", self.pid, {"name": self.name})
        yield self._metadata("process_labels", self.pid, {"labels": self.recording.header.device})
        yield self._metadata("process_sort_index", self.pid, {"sort_index": place})
        for index, (tid, name) in enumerate(threads):
            yield self._metadata("thread_name", tid, {"name": name})
            yield self._metadata("thread_sort_index", tid, {"sort_index": index})

    def events(self) -> Iterator[Event]:
        """All that has a time, track by track."""
        segments = slot_segments(self.recording)
        lives = request_spans(self.recording, segments)
        yield from self._counters(lives)
        if not self.window.counters_only:
            yield from self._iterations()
            yield from self._slots(segments)
            yield from self._decisions()
            yield from self._requests(lives)

    def _iterations(self) -> Iterator[Event]:
        timeline, iterations = Timeline(self.recording), self.recording.iterations
        columns = (
            iterations["start_ns"], self.recording.end_of_iteration_ns, timeline.tokens_of(Phase.PREFILL),
            timeline.tokens_of(Phase.DECODE), timeline.padding_tokens, iterations["executor_ns"],
        )  # fmt: skip
        counted = zip(*(iterations[name].tolist() for name in _COUNTED), strict=True)
        rows = zip(*(column.tolist() for column in columns), counted, strict=True)
        for i, (start_ns, end_ns, prefill, decode, padding, executor_ns, counts) in enumerate(rows):
            kind = "mixed" if prefill and decode else "prefill" if prefill else "decode" if decode else "padding"
            args = {
                "iteration": i,
                "kind": kind,
                "clock": self.recording.header.clock_at(i),
                "prefill_tokens": prefill,
                "decode_tokens": decode,
                "padding": padding,
                **dict(zip(_COUNTED, counts, strict=True)),
                "executor_ms": executor_ns / 1e6,
            }
            yield from self._slice(self.iterations_tid, kind, "iteration", start_ns, end_ns, args)

    def _slots(self, segments: Sequence[Segment]) -> Iterator[Event]:
        for segment in segments:
            phase = segment.phase.name.lower()
            args: dict[str, Any] = {
                "request": segment.request,
                "tokens": segment.tokens,
                "padding": segment.padding,
                "first_iteration": segment.first,
                "last_iteration": segment.last,
            }
            if segment.reason:
                args["why"] = segment.reason
            tid, name = self.slot_tids[segment.slot], f"r{segment.request} {phase}"
            yield from self._slice(tid, name, phase, segment.start_ns, segment.end_ns, args)

    def _decisions(self) -> Iterator[Event]:
        """In order of time: a rejection is given after what has happened since its request's arrival."""
        events: list[Event] = []
        starts, ends = self._boundaries()
        for iteration, reason in self.recording.each_reason():
            request = reason.request_id
            if reason.code not in _HAPPENS or request is None:
                continue
            category, verb = _HAPPENS[reason.code]
            if category in ("arrival", "rejection"):
                time_ns = self.recording.requests[request].arrival_ns
            else:
                time_ns = ends[iteration] if category == "finish" else starts[iteration]
            if not self.window.holds(time_ns):
                continue
            args: dict[str, Any] = {"request": request, "why": reason.sentence}
            if category == "rejection":  # it has no track that says what was asked
                args |= self._asked(request)
            name = f"r{request} {verb}"
            events.append(self._event("i", self.decisions_tid, name, time_ns, cat=category, s="t", args=args))
        yield from sorted(events, key=lambda event: event["ts"])

    def _requests(self, lives: Mapping[int, Sequence[Span]]) -> Iterator[Event]:
        for request, spans in lives.items():
            life = self.window.cut(spans[0].start_ns, spans[-1].end_ns)
            if life is None:
                continue
            record = self.recording.requests[request]
            args = self._asked(request)
            if record.pieces:
                args["output"] = "".join(record.pieces)
            args["finish_reason"] = record.finish_reason or "cut short"
            yield self._async("b", request, f"r{request}", life[0], args)
            for span in spans:
                if part := self.window.cut(span.start_ns, span.end_ns):
                    yield self._async("b", request, span.doing, part[0])
                    yield self._async("e", request, span.doing, part[1])
            yield self._async("e", request, f"r{request}", life[1])

    def _counters(self, lives: Mapping[int, Sequence[Span]]) -> Iterator[Event]:
        """A value at the start of the window, and one whenever it changes."""
        starts, ends = self._boundaries()
        held, running, waiting = Counter[int](), Counter[int](), Counter[int]()
        blocks = self.recording.blocks
        for iteration, change in zip(blocks["iteration"].tolist(), held_changes(blocks).tolist(), strict=True):
            if change:
                held[starts[iteration] if change > 0 else ends[iteration]] += change
        for span in (span for life in lives.values() for span in life):
            changes = running if span.holds_slot else waiting
            changes[span.start_ns] += 1
            changes[span.end_ns] -= 1
        yield from self._counter("KV blocks", held=held)
        yield from self._counter("requests", running=running, waiting=waiting)

    def _boundaries(self) -> tuple[list[int], list[int]]:
        """The start of each iteration and the end of the one before it; one more, for the end of the run."""
        starts = [*self.recording.iterations["start_ns"].tolist(), self.recording.end_ns]
        return starts, [0, *self.recording.end_of_iteration_ns.tolist()]

    def _asked(self, request: int) -> dict[str, Any]:
        record = self.recording.requests[request]
        args = {"request": request, "prompt_tokens": record.num_prompt_tokens, "max_tokens": record.max_tokens}
        return args if record.prompt is None else args | {"prompt": record.prompt}

    def _metadata(self, name: str, tid: int, args: dict[str, Any]) -> Event:
        return {"ph": "M", "pid": self.pid, "tid": tid, "name": name, "args": args}

    def _event(self, ph: str, tid: int, name: str, time_ns: int, **fields: Any) -> Event:
        return {"ph": ph, "pid": self.pid, "tid": tid, "name": name, "ts": microseconds(time_ns), **fields}

    def _slice(
        self, tid: int, name: str, category: str, start_ns: int, end_ns: int, args: dict[str, Any]
    ) -> Iterator[Event]:
        """One event, or none outside the window."""
        if part := self.window.cut(start_ns, end_ns):
            start_ns, end_ns = part
            yield self._event("X", tid, name, start_ns, dur=microseconds(end_ns - start_ns), cat=category, args=args)

    def _async(self, ph: str, request: int, name: str, time_ns: int, args: dict[str, Any] | None = None) -> Event:
        # Ids of other processes must differ: without a scope they are of the whole trace.
        own = f"{self.pid}.{request}"
        return self._event(ph, self.iterations_tid, name, time_ns, cat="request", id=own, args=args or {})

    def _counter(self, name: str, **changes: Counter[int]) -> Iterator[Event]:
        """`changes` of each series by time, as the values that they sum to."""
        times = sorted({self.window.from_ns}.union(*changes.values()))
        series = [list(accumulate(change[time] for time in times)) for change in changes.values()]
        shown: tuple[int, ...] | None = None
        for time_ns, values in zip(times, zip(*series, strict=True), strict=True):
            if values != shown and self.window.holds(time_ns):
                shown = values
                args = dict(zip(changes, values, strict=True))
                yield self._event("C", self.iterations_tid, name, time_ns, args=args)
