"""Writes down what each iteration did, as columns that only grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from minibatch.engine.costs import Costs
from minibatch.engine.executor import Result
from minibatch.recording.reasons import NUMBERS, WAITS, Code, Reason
from minibatch.recording.schema import (
    BLOCK_COLUMNS,
    CODES,
    ENTRY_COLUMNS,
    ITERATION_COLUMNS,
    REASON_COLUMNS,
    Header,
    Recording,
    RequestRecord,
    Table,
)
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.request_state import FinishReason, RequestState

_CODE_NUMBER = {code: number for number, code in enumerate(CODES)}


class Recorder:
    """Collects one run; `recording` may be taken at any time and holds all that was appended."""

    def __init__(self) -> None:
        self.num_iterations = 0
        self._iterations: list[tuple[int, ...]] = []
        self._entries: list[tuple[int, ...]] = []
        self._blocks: list[tuple[int, ...]] = []
        self._reasons: list[tuple[int, ...]] = []
        self._numbers: list[tuple[int, ...]] = []
        self._last_wait: dict[int, Reason] = {}

    @property
    def executor_ns(self) -> int:
        """Time that the executor has taken so far."""
        return sum(row[2] for row in self._iterations)

    def note(self, reason: Reason) -> None:
        """Record a reason before the next iteration; a wait that has not changed is not repeated."""
        request = -1 if reason.request_id is None else reason.request_id
        if reason.code in WAITS:
            if self._last_wait.get(request) == reason:
                return
            self._last_wait[request] = reason
        elif reason.code in (Code.ADMITTED, Code.RESUMED):
            self._last_wait.pop(request, None)  # it may wait for the same again after an eviction
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
            self._blocks.extend((i, block, -1) for block in preemption.request.block_table)
        for request, blocks in plan.new_blocks:
            self._blocks.extend((i, block, request.request_id) for block in blocks)
        for seq in plan.seqs:
            request_id = seq.request.request_id
            token = result.token_ids[request_id] if seq.samples else -1
            self._entries.append(
                (i, seq.slot, request_id, int(seq.phase), seq.start, seq.num_tokens, seq.num_padding, token)
            )
        for slot, request, phase in plan.held:
            self._entries.append((i, slot, request.request_id, int(phase), request.num_computed_tokens, 0, 0, -1))
        self.num_iterations += 1

    def finish(self, request: RequestState, block_table: Sequence[int]) -> None:
        """Record that `request` left after the iteration just appended and freed `block_table`."""
        code = Code.FINISHED_STOP if request.finish_reason is FinishReason.STOP else Code.FINISHED_LENGTH
        self.note(Reason(code, request.request_id, {"tokens": len(request.output_token_ids)}))
        self._blocks.extend((self.num_iterations, block, -1) for block in block_table)

    def recording(
        self, header: Header, requests: Sequence[RequestState], pieces: Sequence[Sequence[str]], complete: bool
    ) -> Recording:
        """Everything so far.

        Args:
            requests: all requests of the run in order of id, arrived or not.
            pieces: each one's output as text, a piece a token.
        """
        return Recording(
            header=replace(header, complete=complete),
            requests=tuple(_record(r, p) for r, p in zip(requests, pieces, strict=True)),
            iterations=_table(ITERATION_COLUMNS, self._iterations),
            entries=_table(ENTRY_COLUMNS, self._entries),
            blocks=_table(BLOCK_COLUMNS, self._blocks),
            reasons=_table(REASON_COLUMNS, self._reasons),
            reason_numbers=tuple(self._numbers),
        )


def _record(state: RequestState, pieces: Sequence[str]) -> RequestRecord:
    request = state.request
    sampling = asdict(request.sampling)
    return RequestRecord(
        arrival_ns=request.arrival_ns,
        prompt_token_ids=request.prompt_token_ids,
        max_tokens=sampling.pop("max_tokens"),
        sampling=sampling,
        prompt=request.prompt,
        pieces=tuple(pieces),
        finish_reason=None if state.finish_reason is None else str(state.finish_reason),
    )


def _table(names: tuple[str, ...], rows: list[tuple[int, ...]]) -> Table:
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), len(names)).T
    return dict(zip(names, columns, strict=True))
