"""An uploaded trace for a sweep: its lengths, and its arrivals at every load."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from minibatch.model.bundled_tokenizer import count_tokens
from minibatch.ui.shared.traffic_form import trace_file
from minibatch.ui.shared.uploads import Upload
from minibatch.workload.demand import Demand, LoadKind, trace_demand
from minibatch.workload.traces import AS_IT_LOOKS, FormatChoice, Scaling

OWN, DRAWN = "the trace's", "drawn"
_TIMES_HELP = (
    "The trace's: all gaps between its requests are scaled by one factor, so that the mean rate is each of the loads. "
    "Drawn: random, as for drawn lengths."
)


@dataclass(frozen=True, slots=True)
class SweepTrace:
    """What these widgets say, not yet checked.

    Attributes:
        upload: None where there is none (yet); `problem` says why, "" where none was uploaded.
        written: how the file is written.
        with_times: its arrivals count as well as its lengths.
    """

    upload: Upload | None = None
    problem: str = ""
    written: FormatChoice = AS_IT_LOOKS
    num_requests: int | None = None
    start_s: float = 0.0
    length_scale: float = 1.0
    with_times: bool = True

    @property
    def demand(self) -> Demand:
        """What it asks for; ValueError says what is wrong with it, or that there is none."""
        if self.upload is None:
            raise ValueError(self.problem or "No trace is chosen: upload a file in the sidebar, under Requests.")
        scaling = Scaling(length_scale=self.length_scale, start_s=self.start_s, num_requests=self.num_requests)
        return _read(self.upload.digest, self.upload.name, self.written, scaling, self.with_times, self.upload)


@st.cache_data(max_entries=8, show_spinner=False)
def _read(digest: str, name: str, written: FormatChoice, scaling: Scaling, with_times: bool, _upload: Upload) -> Demand:
    with _upload.as_file() as path:
        return trace_demand(path, written, scaling, count_tokens, with_times)


def trace_form(kind: LoadKind, num_requests: int) -> SweepTrace:
    """The file, which part of it, and how it is changed."""
    upload, problem, written = trace_file("sweep trace", "sweep trace format")
    left, right = st.columns(2)
    start_s = left.number_input(
        "start, s", value=0.0, format="%.6g", key="sweep trace start", persist_state="session",
        help="Seconds to leave out at the beginning.",
    )  # fmt: skip
    scale = right.number_input(
        "length scale", value=1.0, format="%.6g", key="sweep trace scale", persist_state="session",
        help="Factor of all prompts and outputs.",
    )  # fmt: skip
    times = DRAWN
    if kind == "rate":
        times = st.radio(
            "Arrivals", (OWN, DRAWN), horizontal=True, key="sweep trace times", persist_state="session",
            help=_TIMES_HELP,
        )  # fmt: skip
    else:
        st.caption("Only the lengths of the trace are used: in a closed loop users send when they are answered.")
    return SweepTrace(upload, problem, written, num_requests, float(start_s), float(scale), times == OWN)
