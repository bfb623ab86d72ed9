"""The knobs of a run as widgets, one for each field of `SchedulerConfig`."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st

from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import KNOB_HELP, SchedulerConfig
from minibatch.ui.shared.begins import begins
from minibatch.ui.shared.machine import MachineChoice
from minibatch.ui.shared.presets import knob_preset


def knob_key(workload: str, machine: MachineChoice, name: str) -> str:
    """The key of a knob's widget: each workload keeps its own on each machine."""
    return " ".join(["knob", workload, *([machine.key] if machine.key else []), name])


def knob_widgets(workload: str, machine: MachineChoice) -> dict[str, Any]:
    """Every knob by name. A workload keeps its own values, which start as the address says, or from its preset."""
    preset = knob_preset(workload, machine)
    keys = {name: knob_key(workload, machine, name) for name in get_type_hints(SchedulerConfig)}
    return {name: knob_widget(name, begins(key, preset[name]), key) for name, key in keys.items()}


def fork_knobs() -> dict[str, dict[str, Any]]:
    """What "What if" can change: by name its kind, its choices where it has some, and its line of help."""
    from minibatch.engine.fork import KNOBS

    kinds = get_type_hints(SchedulerConfig)
    knobs: dict[str, dict[str, Any]] = {}
    for name in KNOBS:
        kind = kinds.get(name)
        choices = tuple(POLICIES) if name == "policy" else get_args(kind) if get_origin(kind) is Literal else None
        knobs[name] = {
            "kind": "int" if kind is int else "float" if kind is float else "choice",
            "choices": (True, False) if kind is bool else choices,
            "help": KNOB_HELP.get(name, "the policy that schedules from here on"),
        }
    return knobs


def knob_widget(name: str, start: Any, key: str) -> Any:
    """One knob, a field of `SchedulerConfig`, and what it is set to."""
    kind, text = get_type_hints(SchedulerConfig)[name], KNOB_HELP[name]
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return st.selectbox(name, choices, index=choices.index(start), key=key, persist_state="session", help=text)
    if kind is bool:
        return st.checkbox(name, value=start, key=key, persist_state="session", help=text)
    if kind is int:
        # No limits here: SchedulerConfig says in a sentence what it rejects.
        return st.number_input(name, value=start, step=1, key=key, persist_state="session", help=text)
    return st.number_input(
        name, value=float(start), step=0.01, format="%.3g", key=key, persist_state="session", help=text
    )
