"""Recordings as the bytes that the player reads: everything it shows comes from here.

The bytes are zlib-deflated: a line of JSON, and then every column of every run, one after the other,
in the order in which the JSON names them. A column is the differences between neighbouring values,
zigzag-encoded as LEB128 varints; most are 0 or 1, so that 3,000 iterations of 32 slots take little
more room than their durations.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from minibatch.analysis.exports.metrics_csv import metrics_csv
from minibatch.analysis.run_names import lanes
from minibatch.analysis.timeline import Timeline
from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import NOTHING_KEPT, NUMBERS, PREEMPTS_ITSELF, TEMPLATES
from minibatch.recording.schema import CODES, Column, Header, Recording
from minibatch.scheduling import POLICIES
from minibatch.scheduling.policy import rules_of
from minibatch.ui.player.charts import chart_specs
from minibatch.ui.player.policy_source import policy_sources
from minibatch.ui.shared.palette import REQUEST_COLOURS, REQUEST_INKS, Theme, theme
from minibatch.ui.shared.summary import rejected_in_words, title, watch

_ITERATION_COLUMNS = ("duration_ns", "executor_ns", "flops", "bytes_weights", "bytes_kv", "bytes_activations")
_ENTRY_COLUMNS = ("iteration", "slot", "request", "phase", "start", "tokens", "padding", "generated", "rejected")
_BLOCK_COLUMNS = ("iteration", "block", "request", "event")
_REASON_COLUMNS = ("iteration", "code", "request")


def pack(
    recordings: Sequence[Recording],
    options: Mapping[str, Any] | None = None,
    labels: Sequence[str] | None = None,
) -> bytes:
    """`recordings` and the player's `options` as bytes.

    Options, all of them optional: `id` (the same for the same run, however far it is), `live` (the run
    goes on), `start` (as `momentFrom` in assets/player/shell/share.js gives it), `autoplay`, `controls`
    ("none" shows the lanes alone), `scale` of the type, `title` and `watch` in place of the scenario's,
    `reveal` (scroll to it), `link` (parameters of the page that bring back this comparison; None where
    none do), `knobs` (those that a fork may change; see `fork_knobs`).

    Args:
        labels: names of the runs, where two have one policy; each engine of a run has a lane.
    """
    shared = _Shared()
    columns: list[bytes] = []
    head = {
        "title": title(recordings[0].header),
        "watch": " ".join(filter(None, (watch(recordings[0].header), rejected_in_words(recordings)))),
        "words": words(),
        "charts": chart_specs(),
        "sources": policy_sources({recording.header.policy for recording in recordings}),
        "csv": metrics_csv(recordings),
        "runs": [
            _run(recording, label, shared, columns)
            for label, recording in lanes(recordings, labels or _policies(recordings))
        ],
        "requests": shared.requests,
        "texts": shared.texts,
        "options": dict(options or {}),
    }
    return deflated(head, columns)


def deflated(head: Mapping[str, Any], columns: Iterable[bytes], level: int = 9) -> bytes:
    """The bytes of a payload."""
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return zlib.compress(text.encode() + b"\n" + b"".join(columns), level)


def words() -> dict[str, Any]:
    """What the player shares with Python: reasons and their sentences, phases, and the colours of requests."""
    return {
        "codes": [str(code) for code in CODES],
        "templates": {str(code): template for code, template in TEMPLATES.items()},
        "nothingKept": {str(code): template for code, template in NOTHING_KEPT.items()},
        "preemptsItself": {str(code): template for code, template in PREEMPTS_ITSELF.items()},
        "numbers": {str(code): names for code, names in NUMBERS.items()},
        "phases": [phase.name.lower() for phase in Phase],
        "colours": REQUEST_COLOURS,
        "inks": REQUEST_INKS,
        "themes": {kind: _theme(theme(kind)) for kind in ("light", "dark")},
    }


def _theme(look: Theme) -> dict[str, Any]:
    names = ("ink", "muted", "faint", "surface", "lane", "accent", "good", "bad")
    return {name: getattr(look, name) for name in names} | {"phases": dict(look.phases)}


class _Shared:
    """What several runs have in common, kept once."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.texts: list[Any] = []

    @staticmethod
    def index(kept: list[Any], value: Any) -> int:
        if value not in kept:
            kept.append(value)
        return kept.index(value)


def _policies(recordings: Sequence[Recording]) -> list[str]:
    return [recording.header.policy for recording in recordings]


def _run(recording: Recording, label: str, shared: _Shared, columns: list[bytes]) -> dict[str, Any]:
    requests = [
        [recording.arrived_ns(i), request.num_prompt_tokens, request.max_tokens, request.prompt]
        for i, request in enumerate(recording.requests)
    ]
    return {
        **run_fields(recording.header, label),
        "requests": shared.index(shared.requests, requests),
        "texts": shared.index(shared.texts, [request.pieces for request in recording.requests]),
        "finish": [request.finish_reason for request in recording.requests],
        "aborted": [request.aborted_ns for request in recording.requests],
        "columns": pack_columns(recording, columns),
    }


def pack_columns(recording: Recording, columns: list[bytes]) -> dict[str, int]:
    """Append all columns of a run; returns their lengths by name."""
    return {name: _column(values, columns) for name, values in _columns(recording)}


def run_fields(header: Header, label: str) -> dict[str, Any]:
    """What the player is told of a run beside its rows."""
    policy = POLICIES.get(header.policy)
    return {
        "label": label,
        "policy": header.policy,
        "summary": policy.summary if policy else "",
        "clock": header.clock,
        "device": header.device,
        "model": header.model,
        "dtype": header.dtype,
        "scenario": header.scenario,
        "seed": header.seed,
        "complete": header.complete,
        "returns": rules_of(policy).returns.name.lower() if policy else "head",
        "budget": header.token_budget,
        "config": dict(header.config),
        "slots": header.largest("max_num_seqs"),
        "numBlocks": header.largest("num_kv_blocks"),
        "ceilings": _ceilings(header),
        "fork": dict(header.fork) if header.fork else None,
    }


def _ceilings(header: Header) -> dict[str, Any] | None:
    """The device's ceilings; "this machine" was the one of the recording, which need not be the reader's."""
    if not header.ceilings:
        return None
    source = str(header.ceilings["source"]).replace("on this machine", f"on {header.device}")
    return {**header.ceilings, "source": source}


def _columns(recording: Recording) -> Iterable[tuple[str, Column]]:
    """(name, values) of all columns. Entries go by slot and then by time, where neighbours are alike."""
    iterations, entries = recording.iterations, recording.entries
    start, end = iterations["start_ns"], recording.end_of_iteration_ns
    yield "gap_ns", start - np.concatenate([[0], end[:-1]]).astype(np.int64)[: len(start)]
    for name in _ITERATION_COLUMNS:
        yield name, iterations[name]
    yield "stretch_ns", Timeline(recording).stretch_ns
    order = np.lexsort((entries["iteration"], entries["slot"]))
    for name in _ENTRY_COLUMNS:
        yield f"entries.{name}", entries[name][order]
    for name in _BLOCK_COLUMNS:
        yield f"blocks.{name}", recording.blocks[name]
    for name in _REASON_COLUMNS:
        yield f"reasons.{name}", recording.reasons[name]
    yield "reasons.numbers", np.array([n for row in recording.reason_numbers for n in row], dtype=np.int64)


def _column(values: Column, columns: list[bytes]) -> int:
    """Append a column; returns the number of its values."""
    columns.append(varints(np.diff(values, prepend=0)))
    return len(values)


def varints(values: Column) -> bytes:
    """Whole numbers below 2**53 in magnitude as zigzag LEB128: seven bits a byte, the lowest first."""
    zigzag = ((values << 1) ^ (values >> 63)).astype(np.uint64)
    lengths = np.ones(len(values), dtype=np.int64)
    for bits in range(7, 56, 7):
        lengths += zigzag >= np.uint64(1 << bits)
    out = np.zeros(int(lengths.sum()), dtype=np.uint8)
    first = np.cumsum(lengths) - lengths
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        seven = (zigzag[rows] >> np.uint64(7 * place)) & np.uint64(127)
        more = np.where(lengths[rows] > place + 1, 128, 0).astype(np.uint64)
        out[first[rows] + place] = seven | more
    return out.tobytes()
