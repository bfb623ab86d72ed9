"""What happened when, read off a recording: arrays that metrics, ledgers and charts share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import PREEMPTIONS
from minibatch.recording.block_table import held_changes
from minibatch.recording.engine_recordings import engine_recordings
from minibatch.recording.schema import CODES, Column, Recording

_COMPLETED = ("length", "stop")
_LEFT = (*_COMPLETED, "abort", "transfer")


@dataclass(frozen=True)
class Timeline:
    """One recording's times. All are in nanoseconds on the run's clock; -1 means never."""

    recording: Recording

    @cached_property
    def arrival_ns(self) -> Column:
        """(requests,) arrival."""
        return np.array([request.arrival_ns for request in self.recording.requests], dtype=np.int64)

    @cached_property
    def writing_rows(self) -> Column:
        """Rows of `entries` that generated one token or more, in order of time."""
        return np.flatnonzero(self.recording.entries["generated"])

    @cached_property
    def writing_request(self) -> Column:
        """(writing rows,) the request that generated in each."""
        return self.recording.entries["request"][self.writing_rows]

    @cached_property
    def writing_ns(self) -> Column:
        """(writing rows,) the end of the iteration of each: the time of all tokens that it generated."""
        return self.recording.end_of_iteration_ns[self.recording.entries["iteration"][self.writing_rows]]

    @cached_property
    def work_rows(self) -> Column:
        """Rows of `entries` that belong to a request that has not finished: all but padding."""
        return np.flatnonzero(self.recording.entries["phase"] != Phase.PADDING)

    @cached_property
    def first_scheduled_ns(self) -> Column:
        """(requests,) start of the first iteration that ran each request."""
        return self._per_request(np.minimum, self.recording.iterations["start_ns"])

    @cached_property
    def last_scheduled_ns(self) -> Column:
        """(requests,) end of the last iteration in which each request held a slot."""
        return self._per_request(np.maximum, self.recording.end_of_iteration_ns)

    @cached_property
    def first_token_ns(self) -> Column:
        """(requests,) time of each request's first token."""
        times = np.full(len(self.recording.requests), np.iinfo(np.int64).max)
        np.minimum.at(times, self.writing_request, self.writing_ns)
        return np.where(self.num_output_tokens > 0, times, -1)

    @cached_property
    def last_token_ns(self) -> Column:
        """(requests,) time of each request's latest token."""
        times = np.full(len(self.recording.requests), -1, dtype=np.int64)
        np.maximum.at(times, self.writing_request, self.writing_ns)
        return times

    @cached_property
    def num_output_tokens(self) -> Column:
        """(requests,) tokens generated."""
        weights = self.recording.entries["generated"][self.writing_rows]
        return np.bincount(self.writing_request, weights, len(self.recording.requests)).astype(np.int64)

    @cached_property
    def completed(self) -> Column:
        """(requests,) bool: finished, and neither rejected nor aborted."""
        return self._ended_by(_COMPLETED)

    @cached_property
    def left_ns(self) -> Column:
        """(requests,) when each request that was accepted left the engine, whole or aborted; -1 if it did not."""
        aborted = [-1 if r.aborted_ns is None else r.aborted_ns for r in self.recording.requests]
        times = np.maximum(self.last_scheduled_ns, np.array(aborted, dtype=np.int64))
        return np.where(self._ended_by(_LEFT), times, -1)

    @cached_property
    def num_preemptions(self) -> int:
        codes = self.recording.reasons["code"].tolist()
        return sum(CODES[code] in PREEMPTIONS for code in codes)

    @cached_property
    def held_blocks(self) -> Column:
        """(iterations,) KV blocks that belong to a request while each iteration runs."""
        blocks, n = self.recording.blocks, self.recording.num_iterations
        per_iteration = np.bincount(blocks["iteration"], weights=held_changes(blocks), minlength=n + 1)
        return np.cumsum(per_iteration).astype(np.int64)[:n]

    @cached_property
    def kv_tokens(self) -> Column:
        """(iterations,) tokens whose KV is held at the end of each iteration's forward pass."""
        entries = self.recording.entries
        rows = self.work_rows
        return self._sum_by_iteration(rows, entries["start"][rows] + entries["tokens"][rows])

    @cached_property
    def num_running(self) -> Column:
        """(iterations,) requests that hold a slot and have not finished."""
        return self._sum_by_iteration(self.work_rows, np.ones(len(self.work_rows), dtype=np.int64))

    @cached_property
    def num_waiting(self) -> Column:
        """(iterations,) arrived requests that hold no slot while each iteration runs."""
        n = self.recording.num_iterations
        accepted = np.array([r.finish_reason != "rejected" for r in self.recording.requests], dtype=bool)
        starts = self.recording.iterations["start_ns"]
        arrived = np.searchsorted(np.sort(self.arrival_ns[accepted]), starts, side="right")
        ends = np.sort(self.left_ns[self.left_ns >= 0])
        finished = np.searchsorted(ends, starts, side="right")
        return (arrived - finished - self.num_running).astype(np.int64)[:n]

    def tokens_of(self, phase: Phase) -> Column:
        """(iterations,) tokens that entries of `phase` computed, padding not counted."""
        rows = np.flatnonzero(self.recording.entries["phase"] == phase)
        return self._sum_by_iteration(rows, self.recording.entries["tokens"][rows])

    @cached_property
    def padding_tokens(self) -> Column:
        """(iterations,) positions computed and thrown away."""
        rows = np.arange(len(self.recording.entries["padding"]))
        return self._sum_by_iteration(rows, self.recording.entries["padding"])

    @cached_property
    def stretch_ns(self) -> Column:
        """(iterations,) the part of each iteration that its decodes spend on others' prefill.

        An iteration with decodes and prefill lasts longer than its decodes alone would; how long
        those take is read from the same run: the median of its iterations that only decode, at
        the nearest number of decodes. A run without such iterations divides the time by tokens.
        """
        duration = self.recording.iterations["duration_ns"]
        if self.recording.header.engines is not None:
            return self._stretch_of_engines()
        decodes, prefills = self.tokens_of(Phase.DECODE), self.tokens_of(Phase.PREFILL)
        mixed = np.flatnonzero((decodes > 0) & (prefills > 0))
        stretch = np.zeros(len(duration), dtype=np.int64)
        alone = (decodes > 0) & (prefills == 0) & (self.padding_tokens == 0)
        counts = np.unique(decodes[alone])
        for i in mixed:
            if len(counts):
                nearest = counts[np.argmin(np.abs(counts - decodes[i]))]
                baseline = int(np.median(duration[alone & (decodes == nearest)]))
            else:
                baseline = int(duration[i] * decodes[i] // (decodes[i] + prefills[i]))
            stretch[i] = max(0, int(duration[i]) - baseline)
        return stretch

    def _stretch_of_engines(self) -> Column:
        stretch = np.zeros(self.recording.num_iterations, dtype=np.int64)
        for engine, part in enumerate(engine_recordings(self.recording)):
            stretch[self.recording.iterations["engine"] == engine] = Timeline(part).stretch_ns
        return stretch

    def _ended_by(self, reasons: tuple[str, ...]) -> Column:
        """(requests,) bool: finished by one of `reasons`."""
        return np.array([request.finish_reason in reasons for request in self.recording.requests], dtype=bool)

    def _sum_by_iteration(self, rows: Column, values: Column) -> Column:
        iteration = self.recording.entries["iteration"][rows]
        return np.bincount(iteration, weights=values, minlength=self.recording.num_iterations).astype(np.int64)

    def _per_request(self, reduce: np.ufunc, time_of_iteration: Column) -> Column:
        """(requests,) `reduce` of the times of each request's own rows, -1 where it has none."""
        rows = self.work_rows
        request = self.recording.entries["request"][rows]
        start = np.iinfo(np.int64).max if reduce is np.minimum else np.int64(-1)
        times = np.full(len(self.recording.requests), start)
        reduce.at(times, request, time_of_iteration[self.recording.entries["iteration"][rows]])
        return np.where(np.bincount(request, minlength=len(times)) > 0, times, -1)
