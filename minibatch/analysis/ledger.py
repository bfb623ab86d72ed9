"""Where the time went: each request's and each slot's, in columns that sum exactly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from minibatch.analysis.timeline import Timeline
from minibatch.decisions.phase import Phase
from minibatch.recording.engine_recordings import engine_recordings
from minibatch.recording.schema import Column, Recording

REQUEST_COLUMNS = ("queue", "prefill", "decode", "stalled", "preempted")
SLOT_COLUMNS = ("prefill", "decode", "padding", "stalled", "idle_waiting", "idle_empty")

Ledger = Mapping[str, Column]


def request_ledger(timeline: Timeline) -> Ledger:
    """REQUEST_COLUMNS, each (requests,) int64 nanoseconds.

    For a request that finished they sum to its E2E; for one that the end of the run cut off, to
    the time from its arrival to that end; for one that was aborted, to the time until it left; for
    one that was rejected or never arrived, to 0. Time between two engines is "preempted".
    """
    recording = timeline.recording
    ledger = {name: np.zeros(len(recording.requests), dtype=np.int64) for name in REQUEST_COLUMNS}
    start_ns, duration_ns = recording.iterations["start_ns"], recording.iterations["duration_ns"]
    rows = timeline.work_rows
    iteration, request = recording.entries["iteration"][rows], recording.entries["request"][rows]
    phase = recording.entries["phase"][rows]

    _add(ledger["prefill"], request, duration_ns[iteration], phase == Phase.PREFILL)
    _add(ledger["stalled"], request, duration_ns[iteration], phase == Phase.STALLED)
    stretch = timeline.stretch_ns[iteration]
    _add(ledger["decode"], request, duration_ns[iteration] - stretch, phase == Phase.DECODE)
    _add(ledger["stalled"], request, stretch, phase == Phase.DECODE)

    first = timeline.first_scheduled_ns
    rejected = np.array([r.finish_reason == "rejected" for r in recording.requests], dtype=bool)
    arrived = (timeline.arrival_ns <= (start_ns[-1] if len(start_ns) else -1)) & ~rejected
    ran = first >= 0
    end = np.where(timeline.left_ns >= 0, timeline.left_ns, recording.end_ns)
    ledger["queue"] = np.where(arrived, np.where(ran, first, end) - timeline.arrival_ns, 0)
    held = ledger["prefill"] + ledger["stalled"] + ledger["decode"]
    ledger["preempted"] = np.where(ran, end - first - held, 0)
    return ledger


def slot_ledger(timeline: Timeline) -> Ledger:
    """SLOT_COLUMNS, each (slots,) int64 nanoseconds; every slot's sum to the makespan, `end_ns`.

    A prompt padded to the longest divides its iteration by positions. A slot that no request holds is
    idle with work waiting, or idle without. The slots of several engines follow each other.
    """
    if timeline.recording.header.engines is not None:
        return _of_engines(timeline.recording)
    recording = timeline.recording
    ledger = {name: np.zeros(recording.num_slots, dtype=np.int64) for name in SLOT_COLUMNS}
    entries, duration_ns = recording.entries, recording.iterations["duration_ns"]
    slot, phase = entries["slot"], entries["phase"]
    time = duration_ns[entries["iteration"]]

    positions = np.maximum(1, entries["tokens"] + entries["padding"])
    thrown_away = time * entries["padding"] // positions
    prefill, decode = phase == Phase.PREFILL, phase == Phase.DECODE
    _add(ledger["padding"], slot, thrown_away, prefill)
    _add(ledger["prefill"], slot, time - thrown_away, prefill)
    _add(ledger["padding"], slot, time, phase == Phase.PADDING)
    _add(ledger["stalled"], slot, time, phase == Phase.STALLED)
    stretch = timeline.stretch_ns[entries["iteration"]]
    _add(ledger["decode"], slot, time - stretch, decode)
    _add(ledger["stalled"], slot, stretch, decode)

    crowded = timeline.num_waiting > 0
    idle_waiting, idle_empty = _gaps(timeline)
    ledger["idle_waiting"] += int(duration_ns[crowded].sum()) + idle_waiting
    _add(ledger["idle_waiting"], slot, -time, crowded[entries["iteration"]])
    ledger["idle_empty"] += int(duration_ns[~crowded].sum()) + idle_empty
    _add(ledger["idle_empty"], slot, -time, ~crowded[entries["iteration"]])
    return ledger


def _of_engines(recording: Recording) -> Ledger:
    """The slots of each engine; one that has nothing more to do is idle and empty up to the end of the run."""
    ledgers = []
    for part in engine_recordings(recording):
        ledger = dict(slot_ledger(Timeline(part)))
        ledger["idle_empty"] = ledger["idle_empty"] + recording.end_ns - part.end_ns
        ledgers.append(ledger)
    return {name: np.concatenate([ledger[name] for ledger in ledgers]) for name in SLOT_COLUMNS}


def _gaps(timeline: Timeline) -> tuple[int, int]:
    """Time between iterations, in which nothing runs: with requests waiting, and with an empty queue."""
    recording = timeline.recording
    starts = recording.iterations["start_ns"]
    ends = np.concatenate([[0], recording.end_of_iteration_ns[:-1]]) if len(starts) else starts
    waiting = empty = 0
    for i in np.flatnonzero(starts > ends):
        unfinished = (timeline.left_ns < 0) | (timeline.left_ns > starts[i])
        came = timeline.arrival_ns[unfinished & (timeline.arrival_ns <= starts[i])]
        since = max(int(ends[i]), int(came.min())) if len(came) else int(starts[i])
        waiting += int(starts[i]) - since
        empty += since - int(ends[i])
    return waiting, empty


def _add(column: Column, index: Column, values: Column, mask: Column) -> None:
    np.add.at(column, index[mask], values[mask])
