"""The sidebar of a sweep: what is served on what, at which loads, and under which policies and knobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from minibatch.analysis.formats import plural, three_figures
from minibatch.analysis.registry.accelerators import load_accelerators
from minibatch.scheduling import DEFAULTS, POLICIES
from minibatch.ui.load.links import sweep_link, sweep_values
from minibatch.ui.load.plan import SweepPlan, Wanted, plan_of
from minibatch.ui.load.presets import SWEEP_PRESETS, SweepPreset, knob_starts
from minibatch.ui.load.requests import requests_form
from minibatch.ui.load.slo import judged_now
from minibatch.ui.shared.begins import begin_with, begins, choose, has_begun
from minibatch.ui.shared.choices import models_offered
from minibatch.ui.shared.kept_file import kept_file
from minibatch.ui.shared.knobs import knob_widget
from minibatch.ui.shared.link_values import LinkError
from minibatch.ui.shared.machine import MachineChoice, fewest_devices, numbers_of_devices
from minibatch.ui.shared.machine_form import ANOTHER, another_model, figures_html, published
from minibatch.ui.shared.notices import Notice, as_label, show
from minibatch.ui.shared.summary import sentence_case
from minibatch.ui.shared.uploads import MOST_BYTES
from minibatch.workload.demand import LoadKind

NEW, FILE = "New sweep", "Open a file"
NO_KNOB = "none"
_PAGE = "load"
_KINDS: dict[LoadKind, str] = {"rate": "requests/s", "users": "users (closed loop)"}
_FILE_HELP = (
    "A file of `python -m minibatch sweep` (Parquet). It is read, never run, and forgotten when this page closes."
)


@dataclass(frozen=True, slots=True)
class SweepForm:
    """What the sidebar says.

    Attributes:
        upload: name and bytes of a file to show in place of a sweep that is run here.
        wants_file: a file is wanted, whether or not there is one.
        plan: what would be run; None where `rejection` says why it can't be.
        pressed: start it now.
        problem: what is wrong with the link that led here.
    """

    upload: tuple[str, bytes] | None = None
    wants_file: bool = False
    plan: SweepPlan | None = None
    rejection: str = ""
    pressed: bool = False
    problem: Notice | None = None


def sweep_form() -> SweepForm:
    """Draw the sidebar and read it. The first time, the page's address says what it begins with."""
    trouble = _follow_link()
    with st.sidebar:
        if st.radio("Source", (NEW, FILE), key="sweep source", persist_state="session", horizontal=True) == FILE:
            size = MOST_BYTES >> 20
            file = kept_file("Sweep (.parquet)", "sweep file", help=_FILE_HELP, max_upload_size=size)
            return SweepForm(file, wants_file=True)
        wanted = _wanted()
        plan, rejection = None, ""
        try:
            plan = plan_of(wanted)
        except ValueError as error:
            rejection = str(error)
        if plan is not None:
            _foretell(plan, wanted.trace is not None)
        _link(wanted)
        pressed = st.button("Run", type="primary", width="stretch", key="run sweep")
        if rejection and not pressed:  # once it is pressed, that stands where the result would have been
            show(Notice(rejection, "warning"))
    return SweepForm(plan=plan, rejection=rejection, pressed=pressed, problem=trouble)


def _follow_link() -> Notice | None:
    """Note with what the address wants the widgets to begin, once; says what is wrong with it."""
    if has_begun(_PAGE):
        return None
    begin_with(_PAGE, {})
    try:
        begin_with(_PAGE, sweep_values(st.query_params.to_dict()))
    except LinkError as error:
        return Notice(f"This link can't be followed: {error}.", "warning")
    return None


def _foretell(plan: SweepPlan, is_trace: bool) -> None:
    """How much there is to run, and of a trace what was made of it."""
    demand = plan.spec.demand
    count = len(demand.prompt_tokens)
    st.caption(f"{plural(len(plan.points), 'point')} of {plural(count, 'request')} each, modelled.")
    if is_trace:
        prompts, outputs = (three_figures(sum(part) / count) for part in (demand.prompt_tokens, demand.output_tokens))
        mean = f"On average {prompts} prompt and {outputs} output tokens."
        st.caption(f"{as_label(sentence_case(demand.words))}. {mean}")
    if plan.advice:
        show(Notice(plan.advice, "warning"))


def _wanted() -> Wanted:
    titles = {name: preset.title for name, preset in SWEEP_PRESETS.items()}
    name = choose("Begin with", list(titles), "sweep preset", titles.__getitem__)
    preset = SWEEP_PRESETS[name]
    st.caption(preset.watch)
    kinds = list(_KINDS)
    kind: LoadKind = st.radio(
        "Load", kinds, index=kinds.index(begins("sweep kind", kinds[0])), format_func=_KINDS.__getitem__,
        horizontal=True, key="sweep kind", persist_state="session",
        help="Requests/s arrive whether or not they are served. A user sends the next request after the last answer.",
    )  # fmt: skip
    key = f"sweep loads {kind} {name}"
    loads = st.text_input(
        "Loads", value=begins(key, preset.loads[kind]), key=key, persist_state="session",
        help="Separated by spaces. Each load is a separate run.",
    )  # fmt: skip
    policies = st.multiselect(
        "Policies", list(POLICIES), default=begins("sweep policies", list(DEFAULTS)), key="sweep policies",
        persist_state="session",
    )  # fmt: skip
    machine = _machine(preset, name)
    with st.expander("Requests"):
        requests = requests_form(kind, preset, name)
    with st.expander("Knobs"):
        knobs = _knobs(name, machine)
    varied, values = _varied(knobs)
    return Wanted(
        machine, requests.num_requests, requests.prompt_lengths, requests.output_lengths, requests.seed,
        tuple(p for p in POLICIES if p in policies), kind, loads, requests.burstiness, requests.think_s, knobs,
        varied, values, requests.trace, name,
    )  # fmt: skip


def _machine(preset: SweepPreset, name: str) -> MachineChoice:
    titles = {known: sheet.title for known, sheet in load_accelerators().items()}
    accelerator = choose(
        "Accelerator", list(titles), f"sweep accelerator {name}", titles.__getitem__, otherwise=preset.accelerator
    )
    model = choose("Model", [*models_offered("modelled"), ANOTHER], f"sweep model {name}", otherwise=preset.model)
    if model == ANOTHER:
        model = another_model(f"sweep another {name}", "modelled")
    num_devices = choose(
        "Tensor-parallel devices", numbers_of_devices(model), f"sweep devices {accelerator} {model}",
        otherwise=fewest_devices(accelerator, model),
    )  # fmt: skip
    machine = MachineChoice(model, "modelled", accelerator, num_devices)
    with st.expander("Figures of the device and the model"):
        st.html(figures_html(published(machine), "Of each device, as published" if num_devices > 1 else "As published"))
    return machine


def _knobs(name: str, machine: MachineChoice) -> dict[str, Any]:
    """Every knob but the length of the longest request."""
    keys = {knob: f"sweep {knob} {name} {machine.key}" for knob in knob_starts(name, machine)}
    return {
        knob: knob_widget(knob, begins(keys[knob], start), keys[knob])
        for knob, start in knob_starts(name, machine).items()
    }


def _varied(knobs: dict[str, Any]) -> tuple[str, str]:
    """A knob that takes several values, and those as typed; "" where none does."""
    knob = choose("Knob to vary", [NO_KNOB, *knobs], "sweep varied", help="One curve for each value.")
    if knob == NO_KNOB:
        return "", ""
    start, key = knobs[knob], f"sweep values {knob}"
    around = f"{start} {2 * start}" if isinstance(start, int) and not isinstance(start, bool) else str(start).lower()
    return knob, st.text_input(f"values of {knob}", value=begins(key, around), key=key, persist_state="session")


def _link(wanted: Wanted) -> None:
    """What brings this form back."""
    with st.expander("Link"):
        link = sweep_link(wanted, judged_now())
        if link is None:
            st.caption("A link can't hold a trace: that is your file.")
            return
        st.caption("It brings back this form. The sweep runs again and gives the same numbers.")
        address = (st.context.url or "").partition("?")[0]
        st.code(f"{address}?{urlencode(link)}", language=None, wrap_lines=True)
