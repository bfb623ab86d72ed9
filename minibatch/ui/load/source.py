"""A sweep from an uploaded file, read and checked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from minibatch.analysis.sweeps.definition import spec_of
from minibatch.analysis.sweeps.file import SweepRow, read_sweep
from minibatch.engine.sweep import Point
from minibatch.ui.load.job import Sweep
from minibatch.ui.shared.uploads import Upload, upload_of

MOST_ROWS = 5000
NUMBERS = (
    "offered", "served", "duration", "completed", "request_throughput", "output_throughput", "mean_queue_time_ms",
    "p99_ttft_ms", "p99_tpot_ms", "p99_itl_ms", "mean_e2el_ms", "p99_queue_time_ms", "num_preemptions",
    "num_iterations", "mean_kv_cache_usage", "busy", "share_slots", "share_kv_blocks", "share_token_budget",
    "share_batch", "share_compute",
)  # fmt: skip
"""What the page reads of a row's metrics."""


def open_sweep(name: str, data: bytes) -> Sweep:
    """The sweep in a file. ValueError says in a sentence what is wrong with it."""
    upload = upload_of(name, data)
    return _read(upload.digest, upload)


@st.cache_resource(max_entries=8, show_spinner=False)
def _read(digest: str, _upload: Upload) -> Sweep:
    with _upload.as_file() as path:
        saved = read_sweep(path)
    rows = saved.rows
    if not rows:
        raise ValueError(f"{_upload.name} is a sweep without a point: run it again")
    if len(rows) > MOST_ROWS:
        raise ValueError(f"{_upload.name} has {len(rows):,} points, and this page shows at most {MOST_ROWS:,}")
    try:
        spec = spec_of(saved.spec)
        _check(rows)
    except (TypeError, KeyError, AttributeError, ValueError):
        raise ValueError(
            f"{_upload.name} is damaged, or another program wrote it: its numbers make no sense as a sweep"
        ) from None
    by_point = {Point(row.policy, row.load, row.config): row for row in rows}
    return Sweep(digest, spec, tuple(by_point), by_point, saved.slo)


def _check(rows: Sequence[SweepRow]) -> None:
    """ValueError or KeyError unless all that the page reads is a number, or nothing where nothing ran."""
    for row in rows:
        for name in NUMBERS:
            value = row.metrics[name]
            if value is not None and not (isinstance(value, int | float) and math.isfinite(value)):
                raise ValueError(f"{name} is no number")
        for column in row.lists.values():
            if column.ndim != 1 or (len(column) and column.dtype.kind not in "if"):
                raise ValueError("a column of times is none")
        if not len(row.lists["ttft_ns"]) == len(row.lists["tpot_ns"]) == len(row.lists["e2el_ns"]):
            raise ValueError("latencies of different requests")
        if len(row.lists["ttft_ns"]) > len(row.lists["arrival_ns"]):
            raise ValueError("more answers than requests")
