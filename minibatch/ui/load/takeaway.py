"""Export of a sweep: its results as the file that the command writes."""

from __future__ import annotations

import re
from functools import partial

import streamlit as st

from minibatch.analysis.slo import Slo
from minibatch.analysis.sweeps.definition import described
from minibatch.analysis.sweeps.file import sweep_bytes
from minibatch.ui.load.job import Sweep

_HELP = (
    "The file that `python -m minibatch sweep` writes. This page opens it again, and the command resumes it for the "
    "same requests, seed, model and device."
)


def take_away(sweep: Sweep, slo: Slo | None) -> None:
    """A button for the file, which is made when it is asked for."""
    name = re.sub(r"[^\w.-]+", "-", f"sweep-{sweep.spec.model}")
    st.html("<h2>Export</h2>")
    st.download_button(
        "Results (.parquet)", data=partial(results, sweep, slo), file_name=f"{name}.parquet",
        mime="application/vnd.apache.parquet", key="download sweep", on_click="ignore", help=_HELP,
    )  # fmt: skip


def results(sweep: Sweep, slo: Slo | None) -> bytes:
    """All points that there are, and the SLO that they are judged by."""
    return sweep_bytes(described(sweep.spec), sweep.found, slo)
