"""The recording: everything one run did, iteration by iteration. SCHEMA.md describes the file.

Every view, metric and export is computed from this and nothing else. Times are whole nanoseconds
from the start of the run; a request that does not apply is -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from minibatch.decisions.reasons import NUMBERS, Code, Reason
from minibatch.workload.arrival_source import NOT_YET_NS

VERSION = 2
"""Version of the format that this code writes and reads."""

Clock = Literal["measured", "modelled"]
Column = np.ndarray
Table = Mapping[str, Column]


ITERATION_COLUMNS = (
    "start_ns", "duration_ns", "executor_ns", "flops", "bytes_weights", "bytes_kv", "bytes_activations",
)  # fmt: skip
ENTRY_COLUMNS = ("iteration", "slot", "request", "phase", "start", "tokens", "padding", "token_id")
BLOCK_COLUMNS = ("iteration", "block", "request")
REASON_COLUMNS = ("iteration", "code", "request")
CODES = tuple(Code)
"""Codes of reasons by the number that the `code` column holds."""


@dataclass(frozen=True, slots=True)
class Header:
    """What was run, on what, with which knobs.

    Attributes:
        clock: of the durations; before a fork they are on the clock that `clock_at` says.
        device: in words, what the durations are durations of.
        config: every knob by name, as `SchedulerConfig` has them; as they are at the end of a fork.
        token_budget: most tokens an iteration may compute under this policy.
        shape: the model's dimensions, as `ModelShape` has them.
        ceilings: measured or datasheet limits of the device: `flops_per_s`, `bytes_per_s`, `source`.
        complete: False if the run was cancelled before all requests had finished.
        fork: where the run left another one and which knob it turned there, as SCHEMA.md describes it.
        closed_loop: `num_users` and `think_s` where each request was sent after an answer, else None.
    """

    policy: str
    clock: Clock
    device: str
    model: str
    dtype: str
    scenario: str
    seed: int
    token_budget: int
    config: Mapping[str, Any]
    shape: Mapping[str, Any] | None = None
    ceilings: Mapping[str, Any] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True
    fork: Mapping[str, Any] | None = None
    closed_loop: Mapping[str, Any] | None = None

    def forks(self) -> Iterator[Mapping[str, Any]]:
        """Every fork that led to this run, the latest first."""
        fork = self.fork
        while fork is not None:
            yield fork
            fork = fork["earlier"]

    def clock_at(self, iteration: int) -> Clock:
        """The clock that the times of one iteration are on."""
        clock = self.clock
        for fork in self.forks():
            if iteration >= fork["iteration"]:
                break
            clock = fork["clock"]
        return clock

    def largest(self, knob: str) -> int:
        """The largest value that a knob of whole numbers had in any part of the run."""
        return max([self.config[knob], *(fork["before"] for fork in self.forks() if fork["knob"] == knob)])


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request as it arrived, and what became of it.

    Attributes:
        prompt: the prompt as text, None where it was given as tokens.
        pieces: the output as text, one piece a token; they join to the whole. Empty for a
            modelled run, which writes no text.
        finish_reason: "length", "stop", "rejected", or None if the run was cancelled first.
    """

    arrival_ns: int
    prompt_token_ids: tuple[int, ...]
    max_tokens: int
    sampling: Mapping[str, Any]
    prompt: str | None = None
    pieces: tuple[str, ...] = ()
    finish_reason: str | None = None

    @property
    def num_prompt_tokens(self) -> int:
        return len(self.prompt_token_ids)


@dataclass(frozen=True, slots=True)
class Recording:
    """One run. Tables are columns of equal length, int64.

    Attributes:
        requests: by request id.
        iterations: ITERATION_COLUMNS, a row an iteration, in order. `duration_ns` is all of it,
            `executor_ns` the model's part; the rest is the scheduler's and the recorder's.
        entries: ENTRY_COLUMNS, a row for each slot that is held in an iteration. The positions
            `start` .. `start + tokens - 1` were computed, and `padding` more thrown away;
            `token_id` was written (-1: none).
        blocks: BLOCK_COLUMNS, a row for each KV block that changes its owner before an iteration
            runs (request -1: it is free). A block freed by a finish is free before the next.
        reasons: REASON_COLUMNS. A wait holds until the request is admitted or another one is
            given. `iteration` is the one that is about to run; one past the last is the end.
        reason_numbers: the numbers of each row of `reasons`, in the order of `reasons.NUMBERS`.
    """

    header: Header
    requests: tuple[RequestRecord, ...]
    iterations: Table
    entries: Table
    blocks: Table
    reasons: Table
    reason_numbers: tuple[tuple[int, ...], ...]

    def arrived_ns(self, request: int) -> int | None:
        """When a request arrived; None for one that nobody had sent when a closed loop was cut short."""
        arrival_ns = self.requests[request].arrival_ns
        return None if self.header.closed_loop is not None and arrival_ns == NOT_YET_NS else arrival_ns

    @property
    def num_iterations(self) -> int:
        return len(self.iterations["start_ns"])

    @property
    def num_slots(self) -> int:
        """Slots that there ever were: a fork may have changed their number."""
        return self.header.largest("max_num_seqs")

    @property
    def num_kv_blocks(self) -> int:
        """KV blocks that there ever were, likewise."""
        return self.header.largest("num_kv_blocks")

    @property
    def end_ns(self) -> int:
        """End of the last iteration; 0 if none ran."""
        if not self.num_iterations:
            return 0
        return int(self.iterations["start_ns"][-1] + self.iterations["duration_ns"][-1])

    @property
    def end_of_iteration_ns(self) -> Column:
        """(num_iterations,) the time at which each iteration ends."""
        return self.iterations["start_ns"] + self.iterations["duration_ns"]

    def each_reason(self) -> Iterator[tuple[int, Reason]]:
        """(iteration, reason) of every row, in order."""
        rows = zip(*(self.reasons[name].tolist() for name in REASON_COLUMNS), self.reason_numbers, strict=True)
        for iteration, code_number, request, numbers in rows:
            code = CODES[code_number]
            named = dict(zip(NUMBERS[code], numbers, strict=True))
            yield iteration, Reason(code, None if request < 0 else request, named)
