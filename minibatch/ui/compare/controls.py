"""The sidebar: which recording to show, or what to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from minibatch.recording.storage import RecordingError
from minibatch.scheduling import DEFAULTS, POLICIES
from minibatch.ui.compare.links import recording_link, run_link, widget_values
from minibatch.ui.compare.outlook import Outlook, foresee
from minibatch.ui.shared import sources
from minibatch.ui.shared.begins import begin_with, begins, has_begun
from minibatch.ui.shared.choices import RUN, SOURCES
from minibatch.ui.shared.kept_file import kept_file
from minibatch.ui.shared.knobs import knob_widgets
from minibatch.ui.shared.link_values import LinkError
from minibatch.ui.shared.machine_form import machine_form
from minibatch.ui.shared.notices import Notice, as_label, show
from minibatch.ui.shared.sources import Shown
from minibatch.ui.shared.summary import title
from minibatch.ui.shared.workload_form import workload_form
from minibatch.workload.scenarios import SCENARIOS

NO_RECORDINGS = Notice("There are no bundled recordings yet: make them with python -m minibatch record.", "warning")
NO_FILE = Notice("Choose a recording file in the sidebar.", "note")
_PAGE = "compare"


@dataclass(frozen=True, slots=True)
class RunForm:
    """What a run would be.

    Attributes:
        job: what `engine_job` makes a `Job` of, but its config: the fields of `Job` that the page offers, with
            `accelerator` and `num_devices` in place of shape and ceilings, and a `TrafficChoice` as `traffic`.
        knobs: the fields of `SchedulerConfig`; sound unless there is a rejection.
        pressed: start it now.
        link: parameters of an address that brings it back; None where none can.
        rejection: why it can't start, a sentence; "" where nothing is known to be wrong.
    """

    job: dict[str, Any]
    knobs: dict[str, Any]
    pressed: bool
    link: dict[str, str] | None
    rejection: str


@dataclass(frozen=True, slots=True)
class Choice:
    """What the sidebar says.

    Attributes:
        shown: the recording to show; None where there is none (yet), or where the form's run is wanted.
        problem: why there is none.
        form: the run, if that is the source.
        policies: those to show or to run; of a recording its own, whether this program knows them or not.
        large: type for a projector.
        link: parameters of an address that brings the recording back; None where none can.
    """

    policies: tuple[str, ...]
    large: bool
    link: dict[str, str] | None = None
    shown: Shown | None = None
    problem: Notice | None = None
    form: RunForm | None = None


def sidebar() -> Choice:
    """Draw the sidebar and read it. The first time, the page's address says what it begins with."""
    trouble = _follow_link()
    with st.sidebar:
        source = st.segmented_control(
            "Source", SOURCES, default=begins("source", SOURCES[0]), required=True,
            key="source", persist_state="session",
        )  # fmt: skip
        shown, problem, form, link = None, None, None, None
        policies: tuple[str, ...] = ()
        if source == RUN:
            policies = _policies(tuple(POLICIES), DEFAULTS)
            form = _run_form(policies)
        else:
            shown, problem = _bundled() if source == "Recorded" else _upload()
            if shown is not None:
                policies = _policies(shown.policies, shown.policies)
                if source == "Recorded":
                    link = recording_link(st.session_state["recording"], policies, shown.policies)
        large = st.toggle("Large type", key="large", persist_state="session")
    return Choice(policies, large, link, shown, trouble or problem, form)


def _follow_link() -> Notice | None:
    """Note with what the address wants the widgets to begin, once; says what is wrong with it."""
    if has_begun(_PAGE):
        return None
    begin_with(_PAGE, {})
    parameters = st.query_params.to_dict()
    try:
        values = widget_values(parameters, sources.bundled_files(sources.recordings_folder()))
    except LinkError as error:
        return Notice(f"This link can't be followed: {error}.", "warning")
    begin_with(_PAGE, values | {"policies": parameters.get("policies", "").split(",") if values else []})
    st.session_state["run at once"] = values.get("source") == RUN
    return None


def _policies(names: Sequence[str], first: Sequence[str]) -> tuple[str, ...]:
    """Some of `names`, at the beginning `first`; kept from one recording to the next while they have the same."""
    key = f"policies {names}"
    wanted = [name for name in begins("policies", []) if name in names]
    chosen = st.pills(
        "Policies", names, default=wanted or list(first), selection_mode="multi", format_func=as_label,
        key=key, persist_state="session",
    )  # fmt: skip
    return tuple(name for name in names if name in chosen)


def _bundled() -> tuple[Shown | None, Notice | None]:
    files = sources.bundled_files(sources.recordings_folder())
    if not files:
        return None, NO_RECORDINGS
    labels = _file_labels(files)
    first = begins("recording", files[0])
    index = files.index(first) if first in files else 0
    path = st.radio(
        "Recording", files, index=index, format_func=lambda file: as_label(labels[file]),
        key="recording", persist_state="session",
    )  # fmt: skip
    try:
        return sources.open_file(path), None
    except (OSError, RecordingError) as error:
        return None, Notice(str(error), "warning")


def _file_labels(files: Sequence[Path]) -> dict[Path, str]:
    """Short, to fit the sidebar: a title, and the clock and device only where a title comes twice."""
    titles, places = {}, {}
    for path in files:
        try:
            header = sources.open_file(path).recordings[0].header
        except (OSError, RecordingError):
            titles[path], places[path] = path.name, ""
        else:
            titles[path], places[path] = title(header), f" ({header.clock}, {header.device})"
    named = list(titles.values())
    return {path: name + (places[path] if named.count(name) > 1 else "") for path, name in titles.items()}


def _upload() -> tuple[Shown | None, Notice | None]:
    file = kept_file("Recording file (.mbr)", "upload")
    if file is None:
        return None, NO_FILE
    name, data = file
    try:
        return sources.open_upload(data, name), None
    except RecordingError as error:
        return None, Notice(str(error), "warning")


def _run_form(policies: tuple[str, ...]) -> RunForm:
    workload = workload_form()
    machine = machine_form()
    left, right = st.columns(2)
    seed = left.number_input("seed", value=begins("seed", 0), min_value=0, step=1, key="seed", persist_state="session")
    warmth = begins("temperature", 0.7)
    temperature = right.number_input(
        "temperature", value=warmth, min_value=0.0, step=0.1, key="temperature", persist_state="session"
    )
    with st.expander("Knobs"):
        knobs = knob_widgets(workload.name, machine)
    job = {
        "policies": policies,
        "scenario": workload.name if workload.name in SCENARIOS else None,
        "prompts": workload.prompts,
        "traffic": workload.traffic,
        "max_tokens": workload.max_tokens,
        "model": machine.model,
        "clock": machine.clock,
        "accelerator": machine.accelerator,
        "num_devices": machine.num_devices,
        "seed": int(seed),
        "temperature": float(temperature),
    }
    outlook = foresee(workload, machine, knobs, int(seed))
    above = st.container()
    pressed = st.button("Run", type="primary", width="stretch", key="run") or st.session_state.pop("run at once", False)
    with above:
        _say(outlook, pressed)
    return RunForm(job, knobs, pressed, run_link(job, knobs), workload.missing or outlook.rejection)


def _say(outlook: Outlook, pressed: bool) -> None:
    """What is known of the run, where it is started from. Once it is rejected, that stands where it would have been."""
    if outlook.words:
        st.caption(outlook.words)
    if outlook.advice:
        show(Notice(outlook.advice, "warning"))
    if outlook.rejection and not pressed:
        show(Notice(outlook.rejection, "warning"))
