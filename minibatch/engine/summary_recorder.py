"""Adds up what iterations do, in place of recording them: for studies of many long runs."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from minibatch.decisions.reasons import PREEMPTIONS, WAITS, Code, Reason
from minibatch.engine.executor import Result, RunResult
from minibatch.recording.run_summary import NUM_BINS, REQUEST_COLUMNS, RunSummary, gap_bin, lowest_gap
from minibatch.roofline.costs import Costs
from minibatch.scheduling.decode_fast_forward import DecodeRun, Taken
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.request_state import RequestState


class SummaryRecorder:
    """Takes what a `Recorder` takes and keeps one row a completed request; `outcome` may be asked at any time.

    Args:
        num_kv_blocks: of the pool.
        ridge: of the device, in FLOP/byte: iterations at or above it are compute-bound.
    """

    is_exact = False

    def __init__(self, num_kv_blocks: int, ridge: float) -> None:
        self.num_iterations = 0
        self.requests: Sequence[RequestState] = ()  # none is kept
        self._num_kv_blocks = num_kv_blocks
        self._ridge = ridge
        self._rows = array("q")
        self._arrivals = array("q")
        self._scheduled: dict[int, int] = {}
        self._first: dict[int, int] = {}
        self._writers: set[RequestState] = set()
        """Requests that generated a token in the latest iteration and are still here."""
        self._paused: dict[int, int] = {}
        """When each other request that has begun generated its latest token."""
        self._waits: dict[int | None, Code] = {}
        self._waiting_ns: dict[Code, int] = {}
        self._gaps = [0] * NUM_BINS
        self._gap_ns = self._held_block_ns = self._end_ns = self._busy_ns = self._computing_ns = 0
        self._num_rejected = self._num_aborted = self._num_preemptions = 0

    def arrive(self, request: RequestState) -> None:
        """Count a request that has come."""
        self._arrivals.append(request.request.arrival_ns)

    def note(self, reason: Reason) -> None:
        """Count a rejection or a preemption, and remember what is waited for."""
        code = reason.code
        if code in WAITS:
            self._waits[reason.request_id] = code
        elif code in (Code.ADMITTED, Code.RESUMED):
            self._waits.pop(reason.request_id, None)
        elif code in PREEMPTIONS:
            self._num_preemptions += 1
        elif code in (Code.REJECTED_LENGTH, Code.REJECTED_BLOCKS):
            self._num_rejected += 1

    def append(self, plan: Plan, result: Result, start_ns: int, duration_ns: int, costs: Costs) -> None:
        """Count one iteration, between its execution and its commit."""
        for request, _ in plan.admitted:
            self._scheduled.setdefault(request.request_id, start_ns)
        writers = {*plan.decodes.requests, *(seq.request for seq in plan.prefills if seq.samples)}
        self._gaps[gap_bin(duration_ns)] += self._write(writers, start_ns, duration_ns)
        self._pass(start_ns, duration_ns, 1)
        if self._is_computing(costs):
            self._computing_ns += duration_ns
        if plan.kv is not None:
            self._held_block_ns += plan.kv.num_held * duration_ns

    def append_run(self, run: DecodeRun, result: RunResult) -> None:
        """Count the iterations of a run before it is committed; then `take` its blocks."""
        durations, start_ns, end_ns, batch = result.durations, result.starts[0], result.end_ns, len(run.decodes)
        in_step = self._write(set(run.decodes), start_ns, durations[0])
        self._gap_ns += batch * (end_ns - start_ns - durations[0])
        self._count_gaps(durations, in_step, batch)
        self._pass(start_ns, end_ns - start_ns, run.num_steps)
        self._computing_ns += self._computing(result)
        self._held_block_ns += run.num_held_blocks * (end_ns - start_ns)

    def _count_gaps(self, durations: Sequence[int], in_step: int, batch: int) -> None:
        """Count gaps of an iteration each: of `in_step` requests in the first, of `batch` in all others."""
        first, last = gap_bin(durations[0]), gap_bin(durations[-1])
        self._gaps[first] += in_step - batch
        counted = 0
        for place in range(first, last):  # iterations only grow longer
            longer = bisect_left(durations, lowest_gap(place + 1), counted)
            self._gaps[place] += batch * (longer - counted)
            counted = longer
        self._gaps[last] += batch * (len(durations) - counted)

    def _computing(self, result: RunResult) -> int:
        """Time of the compute-bound iterations."""
        kind, contexts = result.kind, result.contexts
        # Work only grows with the context, so the most FLOPs and the fewest bytes often say that there are none.
        if kind.flops(contexts[-1]) < self._ridge * kind.bytes(contexts[0]):
            return 0
        pairs = zip(result.durations, contexts, strict=True)
        return sum(duration for duration, each in pairs if kind.flops(each) >= self._ridge * kind.bytes(each))

    def _is_computing(self, costs: Costs) -> bool:
        return costs.flops >= self._ridge * costs.bytes

    def take(self, run: DecodeRun, result: RunResult, taken: Taken) -> None:
        """Count the blocks that a run just counted has taken, from their iterations to its end."""
        if taken:
            starts = sum([result.starts[step] for step, _, _ in taken])
            self._held_block_ns += len(taken) * result.end_ns - starts

    def finish(self, request: RequestState, block_table: Sequence[int]) -> None:
        """Keep the row of a request that leaves."""
        key = request.request_id
        self._writers.discard(request)
        self._rows.extend(
            (
                key, request.request.arrival_ns, self._scheduled.pop(key), self._first.pop(key), self._end_ns,
                request.request.num_prompt_tokens, len(request.output_token_ids), request.num_preemptions,
            )
        )  # fmt: skip

    def abort(self, request: RequestState, block_table: Sequence[int], now_ns: int) -> None:
        """Drop a request that leaves unfinished: it counts among the arrivals and the aborted alone."""
        key = request.request_id
        self._num_aborted += 1
        self._writers.discard(request)
        self._waits.pop(key, None)
        for times in (self._scheduled, self._first, self._paused):
            times.pop(key, None)

    def outcome(self, is_complete: bool) -> RunSummary:
        """Everything so far."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, len(REQUEST_COLUMNS))
        return RunSummary(
            requests=dict(zip(REQUEST_COLUMNS, np.ascontiguousarray(rows.T), strict=True)),
            arrival_ns=np.array(self._arrivals, dtype=np.int64),
            num_rejected=self._num_rejected,
            num_aborted=self._num_aborted,
            end_ns=self._end_ns,
            num_iterations=self.num_iterations,
            num_preemptions=self._num_preemptions,
            busy_ns=self._busy_ns,
            computing_ns=self._computing_ns,
            waiting_ns=dict(self._waiting_ns),
            held_block_ns=self._held_block_ns,
            num_kv_blocks=self._num_kv_blocks,
            gaps=np.array(self._gaps, dtype=np.int64),
            gap_ns=self._gap_ns,
            is_complete=is_complete,
        )

    def _write(self, writers: set[RequestState], start_ns: int, duration_ns: int) -> int:
        """Each of `writers` generates a token in one iteration.

        Returns how many did in the one just before as well. Their gaps are as long as this one, and still to count.
        """
        end_ns = start_ns + duration_ns
        in_step = writers & self._writers if start_ns == self._end_ns else set()
        for request in self._writers - in_step:
            self._paused[request.request_id] = self._end_ns
        for request in writers - in_step:
            last_ns = self._paused.pop(request.request_id, None)
            if last_ns is None:
                self._first[request.request_id] = end_ns
            else:
                self._gaps[gap_bin(end_ns - last_ns)] += 1
                self._gap_ns += end_ns - last_ns
        self._writers = writers
        self._gap_ns += len(in_step) * duration_ns
        return len(in_step)

    def _pass(self, start_ns: int, duration_ns: int, num_iterations: int) -> None:
        self.num_iterations += num_iterations
        self._end_ns = start_ns + duration_ns
        self._busy_ns += duration_ns
        if self._waits:
            code = next(reversed(self._waits.values()))
            self._waiting_ns[code] = self._waiting_ns.get(code, 0) + duration_ns
