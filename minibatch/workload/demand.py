"""What a load sweep serves: the same lengths again and again, at one load after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from minibatch.workload.arrivals import Arrivals, AtOnce, ClosedLoop, Gamma, Poisson, Rescaled
from minibatch.workload.lengths import parse_lengths
from minibatch.workload.request import MOST_REQUESTS, Request, SamplingParams
from minibatch.workload.specs import require
from minibatch.workload.synthetic import streams
from minibatch.workload.traces import (
    AS_IT_LOOKS,
    AS_RECORDED,
    FormatChoice,
    Notes,
    Scaling,
    TraceError,
    TraceRow,
    describe_trace,
    read_trace,
)
from minibatch.workload.traces.row import CountTokens

LoadKind = Literal["rate", "users"]


@dataclass(frozen=True, slots=True)
class Load:
    """How hard a server is driven.

    Attributes:
        kind: "rate", an open loop in requests/s, or "users", a closed loop of so many.
        value: requests/s, or users.
        burstiness: of an open loop, as in `arrivals.Gamma`; 1 is Poisson.
        think_s: of a closed loop, as in `arrivals.ClosedLoop`.

    Raises:
        ValueError: a load that cannot be.
    """

    kind: LoadKind
    value: float
    burstiness: float = 1.0
    think_s: float = 0.0

    def __post_init__(self) -> None:
        if self.kind == "users":
            require(self.value == int(self.value), "users", self.value, "a whole number")
            ClosedLoop(int(self.value), self.think_s)
        else:
            self._open()

    @property
    def arrivals(self) -> Arrivals:
        return AtOnce() if self.kind == "users" else self._open()

    @property
    def closed_loop(self) -> ClosedLoop | None:
        return ClosedLoop(int(self.value), self.think_s) if self.kind == "users" else None

    @property
    def words(self) -> str:
        loop = self.closed_loop
        return self.arrivals.words if loop is None else loop.words

    def _open(self) -> Arrivals:
        return Poisson(self.value) if self.burstiness == 1 else Gamma(self.value, self.burstiness)


@dataclass(frozen=True, slots=True)
class Demand:
    """Lengths in tokens of every request, in order, and in words where they are from.

    Attributes:
        times: when they arrive, in seconds from the first, at a load of one request a second; of a trace whose
            arrivals are kept. Empty where a load draws them.
    """

    prompt_tokens: tuple[int, ...]
    output_tokens: tuple[int, ...]
    words: str
    times: tuple[float, ...] = ()

    @property
    def longest(self) -> int:
        """Most tokens of one request, prompt and output."""
        return max(map(sum, zip(self.prompt_tokens, self.output_tokens, strict=True)))

    def requests(self, load: Load, seed: int) -> list[Request]:
        """The requests under a load. Equal seeds give equal times, and at another rate the same ones closer together.

        Raises:
            ValueError: they would arrive too late.
        """
        times = self._arrivals(load).times_ns(len(self.prompt_tokens), streams(seed)[0]).tolist()
        return [
            Request(request_id, range(prompt), _sampling(output), time_ns)
            for request_id, (time_ns, prompt, output) in enumerate(
                zip(times, self.prompt_tokens, self.output_tokens, strict=True)
            )
        ]

    def words_at(self, load: Load) -> str:
        """What is served, and how it comes."""
        return f"{self.words}, {load.words if load.kind == 'users' else self._arrivals(load).words}"

    def first(self, num_requests: int) -> Demand:
        """The first of these requests, at the times that they have among all."""
        return Demand(
            self.prompt_tokens[:num_requests],
            self.output_tokens[:num_requests],
            f"{self.words}, the first {num_requests:,}",
            self.times[:num_requests],
        )

    def _arrivals(self, load: Load) -> Arrivals:
        return Rescaled(self.times, load.value) if self.times and load.kind == "rate" else load.arrivals


@cache
def _sampling(max_tokens: int) -> SamplingParams:
    return SamplingParams(max_tokens, ignore_eos=True)


def drawn_demand(num_requests: int, prompt_lengths: str, output_lengths: str, seed: int) -> Demand:
    """Lengths drawn from distributions as `parse_lengths` reads them; ValueError says what is wrong."""
    require(1 <= num_requests <= MOST_REQUESTS, "num_requests", num_requests, f"1 to {MOST_REQUESTS:,}")
    prompts, outputs = parse_lengths(prompt_lengths), parse_lengths(output_lengths)
    _, prompt_stream, output_stream, _ = streams(seed)
    return Demand(
        tuple(prompts.draw(num_requests, prompt_stream).tolist()),
        tuple(outputs.draw(num_requests, output_stream).tolist()),
        f"prompts {prompts.words}, outputs {outputs.words}",
    )


def trace_demand(
    path: Path,
    choice: FormatChoice = AS_IT_LOOKS,
    scaling: Scaling = AS_RECORDED,
    count_tokens: CountTokens | None = None,
    with_times: bool = False,
) -> Demand:
    """The lengths of a trace; ValueError or OSError as `read_trace`.

    Args:
        choice: how the file is written.
        count_tokens: of the bundled tokenizer, for traces that hold texts.
        with_times: its arrivals too, which each rate then brings closer together or further apart.
    """
    rows = read_trace(path, choice, scaling, count_tokens, notes := Notes())
    prompts, outputs = tuple(row.prompt_tokens for row in rows), tuple(row.output_tokens for row in rows)
    words = describe_trace(path, rows, scaling, notes, with_times)
    if notes.has_texts:
        words += ", tokens as the bundled tokenizer counts them"
    if not with_times:
        return Demand(prompts, outputs, words)
    rate = _recorded_rate(rows)
    if rate is None:
        raise TraceError(f"{path} has all requests at one time, of which no rate can be made: let arrivals be drawn")
    times = tuple((row.arrival_s - rows[0].arrival_s) * rate for row in rows)
    return Demand(prompts, outputs, f"{words}, arrivals scaled from {rate:.3g}/s to each load", times)


def _recorded_rate(rows: Sequence[TraceRow]) -> float | None:
    """Requests/s from the first to the last; None where all come at once."""
    span = rows[-1].arrival_s - rows[0].arrival_s
    return (len(rows) - 1) / span if span > 0 else None
