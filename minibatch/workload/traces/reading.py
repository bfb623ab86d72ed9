"""A trace from its file to requests in seconds and tokens: a window of it, faster or slower, shorter or longer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from minibatch.workload.request import LONGEST_S, LONGEST_TOKENS, MOST_REQUESTS
from minibatch.workload.specs import require
from minibatch.workload.traces.file import TraceFile, open_trace
from minibatch.workload.traces.formats import AS_IT_LOOKS, FORMATS, FormatChoice
from minibatch.workload.traces.notes import Notes
from minibatch.workload.traces.row import CountTokens, TraceError, TraceFormat, TraceRow
from minibatch.workload.words import plural


@dataclass(frozen=True, slots=True)
class Scaling:
    """Which part of a trace, and how it is changed.

    Attributes:
        speed: how many times faster requests arrive than recorded.
        length_scale: factor of every prompt and output, rounded to whole tokens, at least 1.
        start_s: seconds of the recorded time to leave out at the beginning.
        num_requests: most requests from there on; None reads all.
    """

    speed: float = 1.0
    length_scale: float = 1.0
    start_s: float = 0.0
    num_requests: int | None = None

    def __post_init__(self) -> None:
        require(1e-6 <= self.speed <= 1e6, "speed", self.speed, "0.000001 to 1,000,000")
        require(1e-6 <= self.length_scale <= 1e3, "length_scale", self.length_scale, "0.000001 to 1,000")
        require(0 <= self.start_s < 1e15, "start_s", self.start_s, "0 or more seconds")
        wanted = 1 if self.num_requests is None else self.num_requests
        require(1 <= wanted <= MOST_REQUESTS, "num_requests", wanted, f"1 to {MOST_REQUESTS:,}")

    @property
    def words(self) -> list[str]:
        """What is changed, a phrase for each."""
        faster = f"{self.speed:g}x faster" if self.speed > 1 else f"{1 / self.speed:g}x slower"
        return [
            *([f"from {self.start_s:g} s on"] if self.start_s else []),
            *([faster] if self.speed != 1 else []),
            *([f"lengths x {self.length_scale:g}"] if self.length_scale != 1 else []),
        ]


AS_RECORDED = Scaling()


def read_trace(
    path: Path,
    choice: FormatChoice = AS_IT_LOOKS,
    scaling: Scaling = AS_RECORDED,
    count_tokens: CountTokens | None = None,
    notes: Notes | None = None,
) -> list[TraceRow]:
    """The requests of a trace in order of arrival, in seconds from the start of the window.

    Args:
        choice: how the file is written.
        count_tokens: how many tokens a text has, for traces that hold texts.
        notes: takes what was decided and left out.

    Raises:
        TraceError: the file is no such trace, or not a sound one; a sentence says where and what to do.
        ValueError: there is no such format, or it leaves no such choice.
        OSError: the file can't be read.
    """
    name, known, why = choice.of(path)
    file: TraceFile | None = None
    try:
        with open_trace(path) as file:
            file.notes = notes or file.notes
            file.notes.trace_format, file.notes.why = name, why
            rows = list(_window(_in_order(known, file, count_tokens), scaling))
    except ValueError as error:
        line = f", line {file.line}:" if file is not None and file.line else ":"
        raise TraceError(f"{path}{line} {error}") from error
    if not rows:
        late = f" from {scaling.start_s:g} s on" if scaling.start_s else ""
        raise TraceError(f"{path} holds no requests{late}: choose another part or another file")
    return rows


def describe_trace(path: Path, rows: list[TraceRow], scaling: Scaling, notes: Notes, with_times: bool = True) -> str:
    """What `rows` are, with all that was changed, as in "Azure trace conv.csv, 100 requests over 60 s, 2x faster".

    Args:
        notes: what was decided and left out, filled by `read_trace`.
        with_times: the span from the first arrival to the last and the unit of times are said, as they are where
            these times are used.
    """
    name = path.name.encode(errors="replace").decode()
    span_s = rows[-1].arrival_s - rows[0].arrival_s
    over = f" over {span_s:,.4g} s" if span_s and with_times else ""
    count = plural(len(rows), "request") + over
    return ", ".join([f"{FORMATS[notes.trace_format].title} {name}", count, *scaling.words, *notes.words(with_times)])


def _in_order(known: TraceFormat, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
    """Rows as recorded, times from the trace's start; ValueError for one that is earlier than the one before."""
    start_s: float | None = None if known.from_first else 0.0
    last_s = 0.0
    for row in known.rows(file, count_tokens):
        start_s = row.arrival_s if start_s is None else start_s
        arrival_s = row.arrival_s - start_s
        if arrival_s < last_s:
            raise ValueError(f"it arrives {last_s - arrival_s:g} s before the request above: sort the file by time")
        last_s = arrival_s
        yield replace(row, arrival_s=arrival_s)


def _window(rows: Iterator[TraceRow], scaling: Scaling) -> Iterator[TraceRow]:
    """The window's rows, scaled; ValueError where they go on for too long."""
    count = 0
    for row in rows:
        if row.arrival_s < scaling.start_s:
            continue
        arrival_s = (row.arrival_s - scaling.start_s) / scaling.speed
        if arrival_s > LONGEST_S:
            raise ValueError(
                f"it arrives after {arrival_s:,.0f} s, and a run has {LONGEST_S:,}: "
                "give num_requests, or a higher speed"
            )
        if count == MOST_REQUESTS:
            raise ValueError(f"more than {MOST_REQUESTS:,} requests: give num_requests")
        count += 1
        prompt, output = (_scaled(length, scaling.length_scale) for length in (row.prompt_tokens, row.output_tokens))
        # Hashes are of blocks of the recorded length.
        yield TraceRow(arrival_s, prompt, output, row.hash_ids if scaling.length_scale == 1 else ())
        if count == scaling.num_requests:
            return


def _scaled(length: int, scale: float) -> int:
    return min(max(1, round(length * scale)), LONGEST_TOKENS)
