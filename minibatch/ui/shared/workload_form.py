"""What to serve, as widgets: a scenario, typed prompts, drawn requests or a trace."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from minibatch.ui.shared.begins import begins, choose, count
from minibatch.ui.shared.choices import DRAWN, TRACE, TYPED
from minibatch.ui.shared.traffic_form import TrafficChoice, drawn_form, trace_form
from minibatch.workload.scenarios import SCENARIOS

EXAMPLE = "Once upon a time there was a fox\nThe old woman opened the door and\nOne winter morning"
_TITLES = {name: scenario.title for name, scenario in SCENARIOS.items()} | {
    TYPED: "Type your own prompts", DRAWN: "Drawn at random", TRACE: "A trace of a real service",
}  # fmt: skip
_MOST_TOKENS = 1 << 30


@dataclass(frozen=True, slots=True)
class WorkloadChoice:
    """What these widgets say.

    Attributes:
        name: a scenario, or what stands in its place (`choices`).
        traffic: of drawn requests and traces; None for the others.
    """

    name: str
    prompts: tuple[str, ...] = ()
    max_tokens: int = 64
    traffic: TrafficChoice | None = field(default=None)

    @property
    def missing(self) -> str:
        """What is still missing, as a sentence, or ""."""
        if self.name == TYPED and not self.prompts:
            return "No prompt is typed: write at least one in the sidebar."
        if self.name == TRACE and self.traffic and not self.traffic.upload and not self.traffic.problem:
            return "No trace is chosen: upload a file in the sidebar."
        return ""


def workload_form() -> WorkloadChoice:
    name = choose("Workload", list(_TITLES), "scenario", _TITLES.__getitem__)
    if name == DRAWN:
        return WorkloadChoice(name, traffic=drawn_form())
    if name == TRACE:
        return WorkloadChoice(name, traffic=trace_form())
    if name != TYPED:
        st.caption(SCENARIOS[name].watch)
        return WorkloadChoice(name)
    text = st.text_area(
        "Prompts, one a line", value=begins("prompts", EXAMPLE), height=140, key="prompts", persist_state="session"
    )
    prompts = tuple(line.strip() for line in text.splitlines() if line.strip())
    return WorkloadChoice(name, prompts, count("max_tokens", "max_tokens", 64, _MOST_TOKENS))
