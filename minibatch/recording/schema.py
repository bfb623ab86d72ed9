"""The recording: everything one run did, iteration by iteration. SCHEMA.md describes the file.

Every view, metric and export is computed from this and nothing else. Times are whole nanoseconds
from the start of the run; a request that does not apply is -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Literal

import numpy as np

from minibatch.decisions.reasons import NUMBERS, Code, Reason
from minibatch.workload.arrival_source import NOT_YET_NS

VERSION = 3
"""Version of the format that this code writes and reads."""

Clock = Literal["measured", "modelled"]
Column = np.ndarray
Table = Mapping[str, Column]


ITERATION_COLUMNS = (
    "engine", "start_ns", "duration_ns", "executor_ns", "scheduler_ns", "sampling_ns", "launch_ns",
    "flops", "bytes_weights", "bytes_kv", "bytes_activations",
)  # fmt: skip
ENTRY_COLUMNS = (
    "iteration", "slot", "request", "phase", "start", "tokens", "padding",
    "cached", "generated", "proposed", "rejected",
)  # fmt: skip
BLOCK_COLUMNS = ("iteration", "engine", "block", "request", "event", "hash")
REASON_COLUMNS = ("iteration", "engine", "code", "request")
TRANSFER_COLUMNS = ("request", "from_engine", "to_engine", "start_ns", "end_ns", "bytes")
CODES = tuple(Code)
"""Codes of reasons by the number that the `code` column holds."""


class BlockEvent(IntEnum):
    """What happens to a KV block before an iteration."""

    ACQUIRE = 0
    """A request takes a reference to it."""
    RELEASE = 1
    """A request gives its reference back."""
    CACHE = 2
    """Its content is registered under a hash, so that another request may take it."""
    EVICT = 3
    """The registered content is dropped."""


@dataclass(frozen=True, slots=True)
class EngineHeader:
    """One engine of several.

    Attributes:
        role: what it does in the whole, in a word: "prefill", "decode", "replica".
        own: the fields of the header that this engine has otherwise, of ENGINE_FIELDS.
    """

    name: str
    role: str
    own: Mapping[str, Any] = field(default_factory=dict)


ENGINE_FIELDS = ("policy", "token_budget", "config", "device", "model", "dtype", "shape", "ceilings")
"""What each of several engines may have of its own."""


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
        engines: None for one engine, else all of several; the header's own fields are those of the first.
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
    engines: tuple[EngineHeader, ...] | None = None

    @property
    def num_engines(self) -> int:
        return 1 if self.engines is None else len(self.engines)

    def of_engine(self, engine: int) -> Header:
        """The header of one of several engines, as if it had run alone."""
        return self if self.engines is None else replace(self, **self.engines[engine].own, engines=None)

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
        arrival_ns: NOT_YET_NS for one that had not been sent when the run ended.
        max_tokens: the cap that the client sent.
        prompt: the prompt as text, None where it was given as tokens.
        output_token_ids: in the order in which they were written.
        pieces: the output as text, one piece a token; they join to the whole. Empty for a
            modelled run, which writes no text.
        finish_reason: "length", "stop", "rejected", "abort", or None if the run was cancelled first.
            "transfer" only in `engine_recordings`, for a request that other engines finish.
        aborted_ns: when the client went away; None if it did not.
        true_output_tokens: how many tokens its answer has without the cap, where the workload knows it.
        tenant: whose request it is, or its class.
        priority: as in vLLM: a lower number is served earlier.
    """

    arrival_ns: int
    prompt_token_ids: tuple[int, ...]
    max_tokens: int
    sampling: Mapping[str, Any]
    prompt: str | None = None
    output_token_ids: tuple[int, ...] = ()
    pieces: tuple[str, ...] = ()
    finish_reason: str | None = None
    aborted_ns: int | None = None
    true_output_tokens: int | None = None
    tenant: str | None = None
    priority: int = 0

    @property
    def num_prompt_tokens(self) -> int:
        return len(self.prompt_token_ids)


@dataclass(frozen=True, slots=True)
class Recording:
    """One run. Tables are columns of equal length, int64.

    Attributes:
        requests: by request id, which is the order of arrival.
        iterations: ITERATION_COLUMNS, a row an iteration, in order of start; those of one engine
            don't overlap. `duration_ns` is all of it, `executor_ns` the model's part.
        entries: ENTRY_COLUMNS, a row for each slot that is held in an iteration. The positions
            `start` .. `start + tokens - 1` were computed, and `padding` more thrown away;
            `generated` tokens were written.
        blocks: BLOCK_COLUMNS, a row for each event of a KV block before an iteration runs. What a
            finish releases is free before the next.
        reasons: REASON_COLUMNS. A wait holds until the request is admitted or another one is
            given. `iteration` is the one that is about to run; one past the last is the end.
        reason_numbers: the numbers of each row of `reasons`, in the order of `reasons.NUMBERS`.
        transfers: TRANSFER_COLUMNS, a row for each request's KV that went from one engine to another.
    """

    header: Header
    requests: tuple[RequestRecord, ...]
    iterations: Table
    entries: Table
    blocks: Table
    reasons: Table
    reason_numbers: tuple[tuple[int, ...], ...]
    transfers: Table = field(default_factory=lambda: {name: np.zeros(0, np.int64) for name in TRANSFER_COLUMNS})

    def arrived_ns(self, request: int) -> int | None:
        """When a request arrived; None for one that had not been sent when the run ended."""
        record = self.requests[request]
        is_sent = record.arrival_ns != NOT_YET_NS or record.finish_reason not in (None, "transfer")
        return record.arrival_ns if is_sent else None

    @property
    def num_iterations(self) -> int:
        return len(self.iterations["start_ns"])

    @property
    def num_slots(self) -> int:
        """Slots that the first engine ever had: a fork may have changed their number."""
        return self.header.largest("max_num_seqs")

    @property
    def num_kv_blocks(self) -> int:
        """KV blocks that the first engine ever had, likewise."""
        return self.header.largest("num_kv_blocks")

    @property
    def end_ns(self) -> int:
        """End of the last iteration; 0 if none ran."""
        return int(self.end_of_iteration_ns.max(initial=0))

    @property
    def end_of_iteration_ns(self) -> Column:
        """(num_iterations,) the time at which each iteration ends."""
        return self.iterations["start_ns"] + self.iterations["duration_ns"]

    def each_reason(self) -> Iterator[tuple[int, Reason]]:
        """(iteration, reason) of every row, in order."""
        columns = (self.reasons[name].tolist() for name in ("iteration", "code", "request"))
        for iteration, code_number, request, numbers in zip(*columns, self.reason_numbers, strict=True):
            code = CODES[code_number]
            named = dict(zip(NUMBERS[code], numbers, strict=True))
            yield iteration, Reason(code, None if request < 0 else request, named)
