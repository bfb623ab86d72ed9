"""The sidebar: which recording to show, or what to run on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import streamlit as st

from minibatch.recording.schema import Clock
from minibatch.recording.storage import RecordingError
from minibatch.scheduling import POLICIES
from minibatch.ui import sources
from minibatch.ui.choices import MODELS, RUN, SOURCES, TYPED
from minibatch.ui.knobs import knob_key, knob_widgets
from minibatch.ui.links import LinkError, knob_preset, recording_link, run_link, widget_values
from minibatch.ui.notices import Notice
from minibatch.ui.sources import Shown
from minibatch.ui.summary import title
from minibatch.workload.scenarios import SCENARIOS

ANOTHER = "another one"
EXAMPLE = "Once upon a time there was a fox\nThe old woman opened the door and\nOne winter morning"
NO_RECORDINGS = Notice("There are no bundled recordings yet: make them with python -m minibatch record.", "warning")
NO_FILE = Notice("Choose a recording file in the sidebar.", "note")


@dataclass(frozen=True, slots=True)
class RunForm:
    """What a run would be.

    Attributes:
        job: the fields of the engine's `Job` but its config, by name.
        knobs: the fields of `SchedulerConfig`, not yet checked.
        pressed: start it now.
        link: parameters of an address that brings it back; None where none can.
    """

    job: dict[str, Any]
    knobs: dict[str, Any]
    pressed: bool
    link: dict[str, str] | None


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
        source = st.radio("Source", SOURCES, index=SOURCES.index(_begins("source", SOURCES[0])), key="source")
        shown, problem, form, link = None, None, None, None
        policies: tuple[str, ...] = ()
        if source == RUN:
            policies = _policies(tuple(POLICIES))
            form = _run_form(policies)
        else:
            shown, problem = _bundled() if source == "Recorded" else _upload()
            if shown is not None:
                policies = _policies(shown.policies)
                if source == "Recorded":
                    link = recording_link(st.session_state["recording"], policies, shown.policies)
        large = st.toggle("Large type", key="large", help="For a projector: readable from the back row.")
    return Choice(policies, large, link, shown, trouble or problem, form)


def _follow_link() -> Notice | None:
    """Note with what the address wants the widgets to begin, once; says what is wrong with it."""
    if "begins" in st.session_state:
        return None
    st.session_state["begins"] = {}
    parameters = st.query_params.to_dict()
    try:
        values = widget_values(parameters, sources.bundled_files(sources.recordings_folder()))
    except LinkError as error:
        return Notice(f"This link can't be followed: {error}.", "warning")
    st.session_state["begins"] = values | {"policies": parameters.get("policies", "").split(",") if values else []}
    st.session_state["run at once"] = values.get("source") == RUN
    return None


def _begins(key: str, otherwise: Any) -> Any:
    """What a widget begins with. Never set as its state: a page that is clicked on while it loads loses that."""
    return st.session_state["begins"].get(key, otherwise)


def _policies(names: Sequence[str]) -> tuple[str, ...]:
    """Some of `names`. The choice holds from one recording to the next while they have the same policies."""
    key = f"policies {names}"
    wanted = [name for name in _begins("policies", []) if name in names]
    chosen = st.multiselect("Policies", names, default=wanted or list(names), key=key)
    return tuple(name for name in names if name in chosen)


def _bundled() -> tuple[Shown | None, Notice | None]:
    files = sources.bundled_files(sources.recordings_folder())
    if not files:
        return None, NO_RECORDINGS
    labels = _file_labels(files)
    first = _begins("recording", files[0])
    index = files.index(first) if first in files else 0
    path = st.selectbox("Recording", files, index=index, format_func=labels.__getitem__, key="recording")
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
    file = st.file_uploader("Recording file (.mbr)", key="upload")
    if file is None:
        return None, NO_FILE
    try:
        return sources.open_upload(file.getvalue(), file.name), None
    except RecordingError as error:
        return None, Notice(str(error), "warning")


def _run_form(policies: tuple[str, ...]) -> RunForm:
    scenario = _choose("Workload", [*SCENARIOS, TYPED], "scenario", format_func=_scenario_label)
    typed = scenario == TYPED
    prompts: tuple[str, ...] = ()
    max_tokens = 64
    if typed:
        text = st.text_area("Prompts, one a line", value=_begins("prompts", EXAMPLE), height=140, key="prompts")
        prompts = tuple(line.strip() for line in text.splitlines() if line.strip())
        max_tokens = st.number_input(
            "max_tokens", value=_begins("max_tokens", 64), min_value=1, step=1, key="max_tokens"
        )
    else:
        st.caption(SCENARIOS[scenario].watch)
    model = _choose("Model", [*MODELS, ANOTHER], "model")
    if model == ANOTHER:
        model = st.text_input("Hub name or local folder", key="model name").strip()
    clocks = get_args(Clock)
    clock = st.radio("Durations", clocks, index=clocks.index(_begins("clock", clocks[0])), horizontal=True, key="clock")
    left, right = st.columns(2)
    seed = left.number_input("seed", value=_begins("seed", 0), min_value=0, step=1, key="seed")
    warmth = _begins("temperature", 0.7)
    temperature = right.number_input("temperature", value=warmth, min_value=0.0, step=0.1, key="temperature")
    preset = knob_preset(scenario)
    with st.expander("Knobs"):
        knobs = knob_widgets(
            scenario, {name: _begins(knob_key(scenario, name), value) for name, value in preset.items()}
        )
    pressed = st.button("Run", type="primary", width="stretch", key="run") or st.session_state.pop("run at once", False)
    job = {
        "policies": policies,
        "scenario": None if typed else scenario,
        "prompts": prompts,
        "max_tokens": int(max_tokens),
        "model": model,
        "clock": clock,
        "seed": int(seed),
        "temperature": float(temperature),
    }
    return RunForm(job, knobs, pressed, run_link(job, knobs))


def _choose(label: str, options: list[str], key: str, format_func: Callable[[str], str] = str) -> str:
    first = options.index(_begins(key, options[0]))
    return st.selectbox(label, options, index=first, format_func=format_func, key=key)


def _scenario_label(name: str) -> str:
    return "Type your own prompts" if name == TYPED else SCENARIOS[name].title
