"""What a recorded run comes to: the `RunSummary` that a study would have kept of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from minibatch.analysis.timeline import Timeline
from minibatch.decisions.reasons import PREEMPTIONS, WAITS, Code
from minibatch.recording.run_summary import NUM_BINS, RunSummary, gap_bins
from minibatch.recording.schema import Column, Recording, Table


def summarise(recording: Recording) -> RunSummary:
    """The summary of a recording: equal, number by number, to what a `SummaryRecorder` keeps of the same run.

    Raises:
        ValueError: the recording does not say how fast its device is.
    """
    ceilings, iterations = recording.header.ceilings, recording.iterations
    if ceilings is None:
        raise ValueError("the recording does not say how fast its device is: record it on a device with known ceilings")
    timeline = Timeline(recording)
    duration = iterations["duration_ns"]
    moved = np.asarray(sum(iterations[name] for name in ("bytes_weights", "bytes_kv", "bytes_activations")))
    ridge = ceilings["flops_per_s"] / ceilings["bytes_per_s"]
    gaps = inter_token_ns(timeline)
    return RunSummary(
        requests=completed_requests(timeline),
        arrival_ns=np.sort(timeline.arrival_ns[_has_arrived(timeline)]),
        num_rejected=sum(request.finish_reason == "rejected" for request in recording.requests),
        num_aborted=sum(request.finish_reason == "abort" for request in recording.requests),
        end_ns=recording.end_ns,
        num_iterations=recording.num_iterations,
        num_preemptions=timeline.num_preemptions,
        busy_ns=int(duration.sum()),
        computing_ns=int(duration[iterations["flops"] >= ridge * moved].sum()),
        waiting_ns=_waiting_ns(recording),
        held_block_ns=int(timeline.held_blocks @ duration),
        num_kv_blocks=recording.num_kv_blocks,
        gaps=np.bincount(gap_bins(gaps), minlength=NUM_BINS),
        gap_ns=int(gaps.sum()),
        is_complete=recording.header.complete,
    )


def completed_requests(timeline: Timeline) -> Table:
    """REQUEST_COLUMNS of the completed requests, in the order in which they finished."""
    recording = timeline.recording
    done = np.flatnonzero(timeline.completed)
    done = done[np.argsort(timeline.last_token_ns[done], kind="stable")]
    preempted = Counter(reason.request_id for _, reason in recording.each_reason() if reason.code in PREEMPTIONS)
    return {
        "request": done,
        **{
            name: getattr(timeline, name)[done]
            for name in ("arrival_ns", "first_scheduled_ns", "first_token_ns", "last_token_ns")
        },
        "prompt_tokens": np.array([recording.requests[i].num_prompt_tokens for i in done.tolist()], dtype=np.int64),
        "output_tokens": timeline.num_output_tokens[done],
        "preemptions": np.array([preempted[i] for i in done.tolist()], dtype=np.int64),
    }


def inter_token_ns(timeline: Timeline) -> Column:
    """Every gap between two iterations in which one completed request generated, pooled, in nanoseconds.

    Tokens of one iteration come together, as in one piece of vLLM's stream: between them is no gap.
    """
    order = np.argsort(timeline.writing_request, kind="stable")
    request, times = timeline.writing_request[order], timeline.writing_ns[order]
    if not len(times):
        return times
    return np.diff(times)[(request[1:] == request[:-1]) & timeline.completed[request[1:]]]


def waits_of_head(recording: Recording) -> Iterator[Code | None]:
    """For each iteration, what the head of the queue waits for; None where the queue is empty.

    A wait holds until its request enters. One that is noted while another holds belongs to a
    preempted request that went before it, and hands back to it.
    """
    noted: dict[int, list[tuple[Code, int | None]]] = {}
    for i, reason in recording.each_reason():
        noted.setdefault(i, []).append((reason.code, reason.request_id))
    waits: dict[int | None, Code] = {}
    for i in range(recording.num_iterations):
        for code, request in noted.get(i, ()):
            if code in WAITS:
                waits[request] = code
            elif code in (Code.ADMITTED, Code.RESUMED):
                waits.pop(request, None)
        yield next(reversed(waits.values()), None)


def _waiting_ns(recording: Recording) -> dict[Code, int]:
    waiting: Counter[Code] = Counter()
    for code, duration_ns in zip(waits_of_head(recording), recording.iterations["duration_ns"].tolist(), strict=True):
        if code is not None:
            waiting[code] += duration_ns
    return dict(waiting)


def _has_arrived(timeline: Timeline) -> Column:
    """(requests,) bool: all but those that were still to be sent when the run was cut short."""
    ended = np.array([request.finish_reason is not None for request in timeline.recording.requests], dtype=bool)
    return np.asarray((timeline.arrival_ns <= timeline.recording.end_ns) | ended)
