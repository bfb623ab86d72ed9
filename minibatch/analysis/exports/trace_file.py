"""A trace for Perfetto as a file: how large it will be, and writing it without holding it in memory."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from typing import Any, BinaryIO, cast

import numpy as np

from minibatch.analysis.exports.perfetto import trace_events
from minibatch.analysis.exports.trace_window import WHOLE, TraceWindow
from minibatch.analysis.segments import count_segments
from minibatch.recording.engine_recordings import engine_recordings
from minibatch.recording.schema import Header, Recording

MOST_BYTES = 500_000_000
"""Of JSON that Perfetto's page opens well: 900 MB crash it (github.com/google/perfetto/issues/99)."""

_BATCH = 1024
"""Events that are written at a time."""
_ITERATION, _SEGMENT, _ASYNC, _DECISION, _COUNTER, _THREAD = 360, 240, 100, 180, 90, 160
"""Bytes of JSON of an iteration's slice, a slot's, half of an async span, and so on: means over a modelled run."""

_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Written:
    """How many events a trace has, and bytes of JSON (before it is packed)."""

    events: int
    size: int


def trace_json(recordings: Sequence[Recording], *, packed: bool = False) -> bytes:
    """The trace of `recordings` as `write_trace` writes it."""
    file = io.BytesIO()
    write_trace(file, recordings, packed=packed)
    return file.getvalue()


def write_trace(
    file: BinaryIO, recordings: Sequence[Recording], window: TraceWindow = WHOLE, *, packed: bool = False
) -> Written:
    """Write `trace_events` in ASCII, and gzipped if it is to be `packed`, which Perfetto opens as it is.

    It holds no "<", so that a prompt does nothing even inside a page.
    """
    if packed:
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as inner:
            return write_trace(cast(BinaryIO, inner), recordings, window)
    num_events = size = 0
    events = trace_events(recordings, window)
    rest = {
        "displayTimeUnit": "ms",
        "otherData": {"producer": "minibatch", "runs": [_header(recording.header) for recording in recordings]},
    }
    size += file.write(b'{"traceEvents":[')
    while batch := list(islice(events, _BATCH)):
        size += file.write(b"," if num_events else b"")
        size += file.write(_ascii(batch)[1:-1])
        num_events += len(batch)
    size += file.write(b"]," + _ascii(rest)[1:])
    return Written(num_events, size)


def expected_bytes(recordings: Sequence[Recording]) -> int:
    """About how many bytes of JSON the whole trace has, from the numbers of rows alone."""
    return sum(map(_expected_bytes, chain.from_iterable(map(engine_recordings, recordings))))


def _expected_bytes(recording: Recording) -> int:
    requests, segments = len(recording.requests), count_segments(recording)
    texts = sum(len(_encode((request.prompt, "".join(request.pieces)))) for request in recording.requests)
    changes = len(np.unique(recording.blocks["iteration"])) + min(recording.num_iterations, 4 * requests)
    return (
        _THREAD * (recording.num_slots + 2)
        + _ITERATION * recording.num_iterations
        + _SEGMENT * segments
        + _DECISION * 3 * requests
        + 2 * _ASYNC * (requests + segments)
        + _COUNTER * changes
        + texts
    )


def _ascii(value: Any) -> bytes:
    return _encode(value).replace("<", "\\u003c").encode("ascii")


def _header(header: Header) -> dict[str, Any]:
    """As JSON, the forks in a row, the latest first: one in another would nest as deep as there are forks."""
    forks = [{name: value for name, value in fork.items() if name != "earlier"} for fork in header.forks()]
    return asdict(replace(header, fork=None)) | {"fork": forks}
