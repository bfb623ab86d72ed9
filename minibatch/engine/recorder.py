"""Records what each iteration did, as columns that only grow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

import numpy as np
import numpy.typing as npt

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import NUMBERS, WAITS, Code, Reason
from minibatch.engine.executor import Result, RunResult
from minibatch.recording.schema import (
    BLOCK_COLUMNS,
    CODES,
    ENTRY_COLUMNS,
    ITERATION_COLUMNS,
    REASON_COLUMNS,
    BlockEvent,
    Header,
    Recording,
    RequestRecord,
    Table,
)
from minibatch.roofline.costs import Costs
from minibatch.scheduling.decode_fast_forward import DecodeRun, Taken
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.request_state import FinishReason, RequestState

Ints = npt.NDArray[np.int64]
Rows = tuple[int, int, int, int]
"""Of iterations, entries, blocks and reasons."""

_ITERATION = (
    "start_ns", "duration_ns", "executor_ns", "flops", "bytes_weights", "bytes_kv", "bytes_activations",
)  # fmt: skip
_ENTRY = ("iteration", "slot", "request", "phase", "start", "tokens", "padding", "generated")
_BLOCK = ("iteration", "block", "request", "event")
_REASON = ("iteration", "code", "request")
_ACQUIRE, _RELEASE = int(BlockEvent.ACQUIRE), int(BlockEvent.RELEASE)
_NO_HASH = -1

_CODE_NUMBER = {code: number for number, code in enumerate(CODES)}


class Recorder:
    """Collects one run; `recording` may be taken at any time and holds all that was appended.

    Attributes:
        is_exact: every number of every reason counts.
        aborted_ns: when the engine let each aborted request go, by request id.
    """

    is_exact = True

    def __init__(self) -> None:
        self.num_iterations = 0
        self.requests: list[RequestState] = []
        self.aborted_ns: dict[int, int] = {}
        self._iterations = _Rows(_ITERATION)
        self._entries = _Rows(_ENTRY)
        self._blocks = _Rows(_BLOCK)
        self._reasons = _Rows(_REASON)
        self._numbers: list[tuple[int, ...]] = []
        self._last_wait: dict[int, Reason] = {}

    @property
    def num_reasons(self) -> int:
        """Reasons recorded so far."""
        return len(self._numbers)

    @property
    def executor_ns(self) -> int:
        """Time that the executor has taken so far."""
        return int(self._iterations.table()["executor_ns"].sum())

    def arrive(self, request: RequestState) -> None:
        """Record that `request` has come; why and when say its reason and itself."""
        self.requests.append(request)

    def note(self, reason: Reason) -> None:
        """Record a reason before the next iteration; a wait that has not changed is not repeated."""
        request = -1 if reason.request_id is None else reason.request_id
        if reason.code in WAITS:
            if self._last_wait.get(request) == reason:
                return
            self._last_wait[request] = reason
        elif reason.code in (Code.ADMITTED, Code.RESUMED):
            self._last_wait.pop(request, None)  # it may wait for the same again after an preemption
        self._reasons.append((self.num_iterations, _CODE_NUMBER[reason.code], request))
        self._numbers.append(tuple(int(reason.numbers[name]) for name in NUMBERS[reason.code]))

    def append(self, plan: Plan, result: Result, start_ns: int, duration_ns: int, costs: Costs) -> None:
        """Record one iteration, between its execution and its commit."""
        i = self.num_iterations
        self._iterations.append(
            (
                start_ns, duration_ns, result.duration_ns,
                costs.flops, costs.bytes_weights, costs.bytes_kv, costs.bytes_activations,
            )
        )  # fmt: skip
        for preemption in plan.preempted:
            request_id = preemption.request.request_id
            self._blocks.extend_rows((i, block, request_id, _RELEASE) for block in preemption.request.block_table)
        for request, blocks in plan.new_blocks:
            self._blocks.extend_rows((i, block, request.request_id, _ACQUIRE) for block in blocks)
        for seq in plan.seqs:
            request_id = seq.request.request_id
            self._entries.append(
                (i, seq.slot, request_id, int(seq.phase), seq.start, seq.num_tokens, seq.num_padding, int(seq.samples))
            )
        for slot, request, phase in plan.held:
            self._entries.append((i, slot, request.request_id, int(phase), request.num_computed_tokens, 0, 0, 0))
        self.num_iterations += 1

    def append_run(self, run: DecodeRun, result: RunResult) -> None:
        """Record the iterations of a run before it is committed; then `take` its blocks."""
        durations, costs = result.durations, result.kind.costs(result.contexts)
        self._iterations.extend(np.stack([result.starts, durations, durations, *costs], axis=1))
        self._entries.extend(_entries(run, self.num_iterations))
        self.num_iterations += run.num_steps

    def take(self, run: DecodeRun, result: RunResult, taken: Taken) -> None:
        """Record the blocks that a run just appended has taken."""
        first = self.num_iterations - run.num_steps
        self._blocks.extend_rows((first + step, block, request.request_id, _ACQUIRE) for step, request, block in taken)

    def finish(self, request: RequestState, block_table: Sequence[int]) -> None:
        """Record that `request` left after the iteration just appended and freed `block_table`."""
        code = Code.FINISHED_STOP if request.finish_reason is FinishReason.STOP else Code.FINISHED_LENGTH
        self.note(Reason(code, request.request_id, {"tokens": len(request.output_token_ids)}))
        self._release(request, block_table)

    def abort(self, request: RequestState, block_table: Sequence[int], now_ns: int) -> None:
        """Record that the client of `request` left by `now_ns`, before the next iteration, and freed `block_table`."""
        numbers = {"tokens": len(request.output_token_ids), "blocks": len(block_table)}
        self.note(Reason(Code.ABORTED, request.request_id, numbers))
        self.aborted_ns[request.request_id] = now_ns
        self._release(request, block_table)

    def _release(self, request: RequestState, block_table: Sequence[int]) -> None:
        i, request_id = self.num_iterations, request.request_id
        self._blocks.extend_rows((i, block, request_id, _RELEASE) for block in block_table)

    def since(self, rows: Rows) -> tuple[tuple[Table, Table, Table, Table], list[tuple[int, ...]], Rows]:
        """What comes behind so many rows of iterations, entries, blocks and reasons.

        Returns those tables, the numbers of the reasons, and how many rows there are now. It costs
        what is new, unless `recording` is called in between.
        """
        tables = (self._iterations, self._entries, self._blocks, self._reasons)
        whole = _whole_tables(*(table.since(row) for table, row in zip(tables, rows, strict=True)))
        now = (len(self._iterations), len(self._entries), len(self._blocks), len(self._reasons))
        return whole, self._numbers[rows[3] :], now

    def recording(
        self, header: Header, requests: Sequence[RequestState], pieces: Sequence[Sequence[str]], complete: bool
    ) -> Recording:
        """Everything so far.

        Args:
            requests: all requests of the run in order of id, arrived or not.
            pieces: each one's output as text, a piece a token.
        """
        tables = (self._iterations, self._entries, self._blocks, self._reasons)
        iterations, entries, blocks, reasons = _whole_tables(*(table.table() for table in tables))
        return Recording(
            header=replace(header, complete=complete),
            requests=tuple(
                _record(r, p, self.aborted_ns.get(r.request_id)) for r, p in zip(requests, pieces, strict=True)
            ),
            iterations=iterations,
            entries=entries,
            blocks=blocks,
            reasons=reasons,
            reason_numbers=tuple(self._numbers),
        )


def _record(state: RequestState, pieces: Sequence[str], aborted_ns: int | None) -> RequestRecord:
    request = state.request
    sampling = asdict(request.sampling)
    return RequestRecord(
        arrival_ns=request.arrival_ns,
        prompt_token_ids=tuple(request.prompt_token_ids),
        max_tokens=sampling.pop("max_tokens"),
        sampling=sampling,
        prompt=request.prompt,
        output_token_ids=tuple(state.output_token_ids),
        pieces=tuple(pieces),
        finish_reason=None if state.finish_reason is None else str(state.finish_reason),
        aborted_ns=aborted_ns,
        true_output_tokens=request.true_output_tokens,
        tenant=request.tenant,
        priority=request.priority,
    )


def _whole_tables(
    iterations: Table, entries: Table, blocks: Table, reasons: Table
) -> tuple[Table, Table, Table, Table]:
    """The tables with all of their columns. What is left of a duration beside the executor's part is scheduling."""
    scheduler_ns = iterations["duration_ns"] - iterations["executor_ns"]
    return (
        _whole(ITERATION_COLUMNS, {**iterations, "scheduler_ns": scheduler_ns}, engine=0, sampling_ns=0, launch_ns=0),
        _whole(ENTRY_COLUMNS, entries, cached=0, proposed=0, rejected=0),
        _whole(BLOCK_COLUMNS, blocks, engine=0, hash=_NO_HASH),
        _whole(REASON_COLUMNS, reasons, engine=0),
    )


def _whole(names: Sequence[str], table: Table, **constants: int) -> Table:
    """`table` with the columns that are the same in all rows."""
    rows = len(next(iter(table.values())))
    return {name: table[name] if name in table else np.full(rows, constants[name], dtype=np.int64) for name in names}


class _Rows:
    """The rows of one table as they come: one by one, or many at once."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._blocks: list[Ints] = []
        self._latest: list[tuple[int, ...]] = []
        self._num_settled = 0

    def append(self, row: tuple[int, ...]) -> None:
        self._latest.append(row)

    def extend_rows(self, rows: Iterable[tuple[int, ...]]) -> None:
        self._latest.extend(rows)

    def extend(self, rows: Ints) -> None:
        """(num_rows, num_columns) rows."""
        self._settle()
        self._num_settled += len(rows)
        self._blocks.append(rows)

    def table(self) -> Table:
        self._settle()
        if len(self._blocks) > 1:
            self._blocks = [np.concatenate(self._blocks)]
        rows = self._blocks[0] if self._blocks else np.empty((0, len(self._names)), dtype=np.int64)
        return dict(zip(self._names, np.ascontiguousarray(rows.T), strict=True))

    def __len__(self) -> int:
        return self._num_settled + len(self._latest)

    def since(self, row: int) -> Table:
        """The rows from `row` on."""
        self._settle()
        left, blocks = self._num_settled - row, []
        for block in reversed(self._blocks):
            if left <= 0:
                break
            blocks.append(block[-left:])
            left -= len(block)
        rows = np.concatenate(blocks[::-1]) if blocks else np.empty((0, len(self._names)), dtype=np.int64)
        return dict(zip(self._names, np.ascontiguousarray(rows.T), strict=True))

    def _settle(self) -> None:
        if self._latest:
            self._num_settled += len(self._latest)
            self._blocks.append(np.array(self._latest, dtype=np.int64))
            self._latest = []


def _entries(run: DecodeRun, first: int) -> Ints:
    """The rows of a run's slots, iteration by iteration; columns as _ENTRY."""
    steps, batch = np.arange(run.num_steps), len(run.decodes)
    others = [*run.padded, *run.held]
    rows = np.zeros((run.num_steps, batch + len(others), len(_ENTRY)), dtype=np.int64)
    iteration, slot, request_id, phase, start, tokens, padding, generated = np.moveaxis(rows, 2, 0)
    iteration[:] = first + steps[:, None]
    slot[:] = [-1 if request.slot is None else request.slot for request in run.decodes] + [held for held, _ in others]
    request_id[:] = [request.request_id for request in run.decodes] + [request.request_id for _, request in others]
    phase[:, :batch], phase[:, batch:] = int(Phase.DECODE), int(Phase.PADDING)
    start[:, :batch] = np.array(run.starts) + steps[:, None]
    tokens[:, :batch] = generated[:, :batch] = 1
    if run.padded:
        start[:, batch:], padding[:, batch:] = np.array(run.padding_starts())[:, None], 1
    else:
        start[:, batch:] = [request.num_computed_tokens for _, request in others]
    return rows.reshape(-1, len(_ENTRY))
