"""The sidebar of a sweep: what is served on what, at which loads, and under which policies and knobs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import streamlit as st

from minibatch.analysis.accelerators import load_accelerators
from minibatch.analysis.formats import plural, three_figures
from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.choices import MOST_REQUESTS, models_offered
from minibatch.ui.knobs import knob_widget
from minibatch.ui.machine import Machine, fewest_devices, numbers_of_devices
from minibatch.ui.machine_form import figures_html, published
from minibatch.ui.notices import Notice, as_label, show
from minibatch.ui.summary import sentence_case
from minibatch.ui.sweep_plan import Plan, Wanted, plan_of
from minibatch.ui.sweep_presets import SWEEP_PRESETS, SweepPreset
from minibatch.ui.sweep_trace import trace_form
from minibatch.ui.uploads import MOST_BYTES
from minibatch.workload.demand import LoadKind
from minibatch.workload.lengths import LENGTH_FORMS

NEW, FILE = "New sweep", "Open a file"
NO_KNOB = "none"
TRACE = "of a trace"
_LENGTHS = ("drawn", TRACE)
_AT_MOST = " Of a trace there are at most so many, from the start on."
_POOL = 4096
"""Most KV blocks that the form begins with: the player draws every one."""
_KINDS: dict[LoadKind, str] = {"rate": "requests/s", "users": "users who wait"}
_FILE_HELP = (
    "What `python -m minibatch sweep` wrote (Parquet). It is read and never run, and is forgotten with this page."
)


@dataclass(frozen=True, slots=True)
class SweepForm:
    """What the sidebar says.

    Attributes:
        upload: name and bytes of a file to show in place of a sweep that is run here.
        wants_file: a file is wanted, whether or not there is one.
        plan: what would be run; None where `refusal` says why it can't be.
        pressed: start it now.
    """

    upload: tuple[str, bytes] | None = None
    wants_file: bool = False
    plan: Plan | None = None
    refusal: str = ""
    pressed: bool = False


def sweep_form() -> SweepForm:
    """Draw the sidebar and read it."""
    with st.sidebar:
        if st.radio("Source", (NEW, FILE), key="sweep source", persist_state="session", horizontal=True) == FILE:
            file = st.file_uploader(
                "Sweep (.parquet)", key="sweep file", help=_FILE_HELP, max_upload_size=MOST_BYTES >> 20
            )
            return SweepForm(None if file is None else (file.name, file.getvalue()), wants_file=True)
        wanted = _wanted()
        plan, refusal = None, ""
        try:
            plan = plan_of(wanted)
        except ValueError as error:
            refusal = str(error)
        if plan is not None:
            _foretell(plan, wanted.trace is not None)
        pressed = st.button("Run", type="primary", width="stretch", key="run sweep")
        if refusal and not pressed:  # once it is pressed, that stands where the result would have been
            show(Notice(refusal, "warning"))
    return SweepForm(plan=plan, refusal=refusal, pressed=pressed)


def _foretell(plan: Plan, is_trace: bool) -> None:
    """How much there is to run, and of a trace what was made of it."""
    demand = plan.study.demand
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
    name = st.selectbox(
        "Begin with", list(titles), format_func=titles.__getitem__, key="sweep preset", persist_state="session"
    )
    preset = SWEEP_PRESETS[name]
    st.caption(preset.watch)
    kind: LoadKind = st.radio(
        "Load", list(_KINDS), format_func=_KINDS.__getitem__, horizontal=True,
        key="sweep kind", persist_state="session",
        help="Requests/s come whether or not they are served. A user sends the next request after the last answer.",
    )  # fmt: skip
    loads = st.text_input(
        "Loads", value=preset.loads[kind], key=f"sweep loads {kind} {name}", persist_state="session",
        help="With spaces between them. Each is a run of its own.",
    )  # fmt: skip
    policies = st.multiselect(
        "Policies", list(POLICIES), default=list(POLICIES), key="sweep policies", persist_state="session"
    )
    machine = _machine(preset, name)
    with st.expander("Requests"):
        of_trace = st.radio("Lengths", _LENGTHS, horizontal=True, key="sweep lengths", persist_state="session") == TRACE
        num_requests = st.number_input(
            "requests", value=preset.num_requests, min_value=1, max_value=MOST_REQUESTS, step=50,
            key=f"sweep requests {name}", persist_state="session",
            help=f"At every load the same. More of them make steadier curves.{_AT_MOST * of_trace}",
        )  # fmt: skip
        prompts, outputs, trace = preset.prompt_lengths, preset.output_lengths, None
        if of_trace:
            trace = trace_form(kind, int(num_requests))
        else:
            prompts = _lengths("prompt lengths", prompts, name)
            outputs = _lengths("output lengths", outputs, name)
        burstiness, think_s = (1.0, 0.0) if trace and trace.with_times else _spacing(kind)
        seed = st.number_input("seed", value=0, min_value=0, step=1, key="sweep seed", persist_state="session")
    with st.expander("Knobs"):
        knobs = _knobs(preset, name, machine)
    varied, values = _varied(knobs)
    return Wanted(
        machine, int(num_requests), prompts, outputs, int(seed), tuple(p for p in POLICIES if p in policies), kind,
        loads, burstiness, think_s, knobs, varied, values, trace,
    )  # fmt: skip


def _lengths(label: str, start: str, preset: str) -> str:
    return st.text_input(
        label, value=start, key=f"sweep {label} {preset}", persist_state="session", help=LENGTH_FORMS
    ).strip()


def _spacing(kind: LoadKind) -> tuple[float, float]:
    """Burstiness of requests/s, or seconds that a user thinks; the other as it is without."""
    if kind == "rate":
        text = "Of the gaps between requests: 1 is Poisson, less is burstier."
        return float(
            st.number_input(
                "burstiness", value=1.0, format="%.6g", key="sweep burstiness", persist_state="session", help=text
            )
        ), 0.0
    text = "From an answer to the next request."
    return 1.0, float(
        st.number_input(
            "think time, s", value=0.0, format="%.6g", key="sweep think", persist_state="session", help=text
        )
    )


def _machine(preset: SweepPreset, name: str) -> Machine:
    titles = {known: sheet.title for known, sheet in load_accelerators().items()}
    accelerator = st.selectbox(
        "Accelerator", list(titles), index=list(titles).index(preset.accelerator), format_func=titles.__getitem__,
        key=f"sweep accelerator {name}", persist_state="session",
    )  # fmt: skip
    models = models_offered("modelled")
    model = st.selectbox(
        "Model", models, index=models.index(preset.model), key=f"sweep model {name}", persist_state="session"
    )
    allowed = numbers_of_devices(model)
    num_devices = st.selectbox(
        "Tensor-parallel devices", allowed, index=allowed.index(fewest_devices(accelerator, model)),
        key=f"sweep devices {accelerator} {model}", persist_state="session",
    )  # fmt: skip
    machine = Machine(model, "modelled", accelerator, num_devices)
    with st.expander("Figures of the device and the model"):
        st.html(figures_html(published(machine), "Of each device, as published" if num_devices > 1 else "As published"))
    return machine


def _knobs(preset: SweepPreset, name: str, machine: Machine) -> dict[str, Any]:
    """Every knob but the length of the longest request, which the lengths decide."""
    starts = {knob.name: knob.default for knob in fields(SchedulerConfig) if knob.name != "max_model_len"}
    fit = machine.kv_blocks(SchedulerConfig().block_size)
    starts["num_kv_blocks"] = min(fit or _POOL, _POOL)  # of what does not fit, the check says so
    starts |= preset.knobs
    return {knob: knob_widget(knob, start, f"sweep {knob} {name} {machine.key}") for knob, start in starts.items()}


def _varied(knobs: dict[str, Any]) -> tuple[str, str]:
    """A knob that takes several values, and those as typed; "" where none does."""
    knob = st.selectbox(
        "Knob to vary", [NO_KNOB, *knobs], help="A curve for each of its values.",
        key="sweep varied", persist_state="session",
    )  # fmt: skip
    if knob == NO_KNOB:
        return "", ""
    start = knobs[knob]
    around = f"{start} {2 * start}" if isinstance(start, int) and not isinstance(start, bool) else str(start).lower()
    return knob, st.text_input(f"values of {knob}", value=around, key=f"sweep values {knob}", persist_state="session")
