"""Export of a comparison as files."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import streamlit as st

from minibatch.analysis.exports.metrics_csv import metrics_csv, requests_csv
from minibatch.analysis.exports.trace_file import MOST_BYTES, expected_bytes, trace_json
from minibatch.recording.storage import dumps
from minibatch.ui.player.page import page_html
from minibatch.ui.shared.sources import Shown

_LARGE = 20_000_000
"""Bytes of JSON from which a trace is gzipped."""
_File = tuple[str, str, str, Callable[[Shown], bytes | str]]
_FILES: tuple[_File, ...] = (
    ("Page that plays offline", "html", "text/html", lambda shown: page_html(shown.recordings)),
    ("Trace for Perfetto", "trace.json", "application/json", lambda shown: trace_json(shown.recordings)),
    ("Metrics", "csv", "text/csv", lambda shown: metrics_csv(shown.recordings)),
    ("Requests", "requests.csv", "text/csv", lambda shown: requests_csv(shown.recordings)),
    ("Recording", "mbr", "application/octet-stream", lambda shown: dumps(shown.recordings)),
)
_PACKED: _File = (
    "Trace for Perfetto",
    "trace.json.gz",
    "application/gzip",
    lambda shown: trace_json(shown.recordings, packed=True),
)


def downloads(shown: Shown) -> None:
    """A button for each kind of file; each is made when it is asked for."""
    name = re.sub(r"[^\w.-]+", "-", shown.recordings[0].header.scenario) or "comparison"
    trace_bytes = expected_bytes(shown.recordings)
    packed = trace_bytes > _LARGE
    with st.container(horizontal=True):
        for file in _FILES:
            label, ending, kind, make = _PACKED if packed and file[1] == "trace.json" else file
            st.download_button(
                f"{label} (.{ending})",
                data=partial(make, shown),
                file_name=f"{name}.{ending}",
                mime=kind,
                key=f"download {ending}",
                on_click="ignore",
            )
    st.caption(_trace_size(trace_bytes, packed))


def _trace_size(num_bytes: int, packed: bool) -> str:
    """About how large the trace is, and what to do where it is too large for Perfetto's page."""
    said = f"The trace has about {max(0.1, num_bytes / 1e6):,.1f} MB of JSON"
    if packed:
        said += ", gzipped; Perfetto opens it as it is"
    if num_bytes > MOST_BYTES:
        said += (
            f", but more than {MOST_BYTES / 1e6:.0f} MB may be too much for its page: save the recording and write a "
            "part of it with `python -m minibatch export FILE --to perfetto --from-s 0 --to-s 60`"
        )
    return said + "."
