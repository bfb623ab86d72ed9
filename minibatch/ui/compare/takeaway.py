"""Export of a comparison as files."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import streamlit as st

from minibatch.analysis.exports.metrics_csv import metrics_csv, requests_csv
from minibatch.analysis.exports.perfetto import trace_json
from minibatch.recording.storage import dumps
from minibatch.ui.player.page import page_html
from minibatch.ui.shared.sources import Shown

_FILES: tuple[tuple[str, str, str, Callable[[Shown], bytes | str]], ...] = (
    ("Page that plays offline", "html", "text/html", lambda shown: page_html(shown.recordings)),
    ("Trace for Perfetto", "trace.json", "application/json", lambda shown: trace_json(shown.recordings)),
    ("Metrics", "csv", "text/csv", lambda shown: metrics_csv(shown.recordings)),
    ("Requests", "requests.csv", "text/csv", lambda shown: requests_csv(shown.recordings)),
    ("Recording", "mbr", "application/octet-stream", lambda shown: dumps(shown.recordings)),
)


def downloads(shown: Shown) -> None:
    """A button for each kind of file; each is made when it is asked for."""
    name = re.sub(r"[^\w.-]+", "-", shown.recordings[0].header.scenario) or "comparison"
    with st.container(horizontal=True):
        for label, ending, kind, make in _FILES:
            st.download_button(
                f"{label} (.{ending})",
                data=partial(make, shown),
                file_name=f"{name}.{ending}",
                mime=kind,
                key=f"download {ending}",
                on_click="ignore",
            )
