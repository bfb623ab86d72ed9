"""The requests of a sweep as widgets: how many, how long, how they come."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from minibatch.ui.load.presets import SweepPreset
from minibatch.ui.load.trace import SweepTrace, trace_form
from minibatch.ui.shared.begins import begins
from minibatch.ui.shared.choices import MOST_REQUESTS
from minibatch.workload.demand import LoadKind
from minibatch.workload.lengths import LENGTH_FORMS

TRACE = "of a trace"
_LENGTHS = ("drawn", TRACE)
_AT_MOST = " From a trace, at most this many, from its start."


@dataclass(frozen=True, slots=True)
class SweepRequests:
    """What these widgets say, not yet checked; `trace` takes the place of lengths that are drawn."""

    num_requests: int
    prompt_lengths: str
    output_lengths: str
    burstiness: float
    think_s: float
    seed: int
    trace: SweepTrace | None = None


def requests_form(kind: LoadKind, preset: SweepPreset, name: str) -> SweepRequests:
    of_trace = st.radio("Lengths", _LENGTHS, horizontal=True, key="sweep lengths", persist_state="session") == TRACE
    key = f"sweep requests {name}"
    num_requests = st.number_input(
        "requests", value=begins(key, preset.num_requests), min_value=1, max_value=MOST_REQUESTS, step=50,
        key=key, persist_state="session",
        help=f"The same number at every load. More requests make smoother curves.{_AT_MOST * of_trace}",
    )  # fmt: skip
    prompts, outputs, trace = preset.prompt_lengths, preset.output_lengths, None
    if of_trace:
        trace = trace_form(kind, int(num_requests))
    else:
        prompts = _lengths("prompt lengths", prompts, name)
        outputs = _lengths("output lengths", outputs, name)
    burstiness, think_s = (1.0, 0.0) if trace and trace.with_times else _spacing(kind)
    seed = st.number_input(
        "seed", value=begins("sweep seed", 0), min_value=0, step=1, key="sweep seed", persist_state="session"
    )
    return SweepRequests(int(num_requests), prompts, outputs, burstiness, think_s, int(seed), trace)


def _lengths(label: str, start: str, preset: str) -> str:
    key = f"sweep {label} {preset}"
    return st.text_input(
        label, value=begins(key, start), key=key, persist_state="session", help=LENGTH_FORMS
    ).strip()  # fmt: skip


def _spacing(kind: LoadKind) -> tuple[float, float]:
    """Burstiness of requests/s, or seconds that a user thinks; the other as it is without."""
    if kind == "rate":
        return _number(
            "burstiness", "sweep burstiness", 1.0, "Of the gaps between requests: 1 is Poisson, less is burstier."
        ), 0.0
    return 1.0, _number("think time, s", "sweep think", 0.0, "From an answer to the next request.")


def _number(label: str, key: str, start: float, text: str) -> float:
    return float(
        st.number_input(label, value=begins(key, start), format="%.6g", key=key, persist_state="session", help=text)
    )
