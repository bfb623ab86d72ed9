"""The knobs of a run as widgets, one for each field of `SchedulerConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st

from minibatch.scheduling.config import KNOB_HELP, SchedulerConfig


def knob_widgets(scenario: str, preset: Mapping[str, Any]) -> dict[str, Any]:
    """Every knob by name. A scenario keeps its own values, which start from `preset`."""
    kinds = get_type_hints(SchedulerConfig)
    values = {}
    for knob in fields(SchedulerConfig):
        start = preset.get(knob.name, knob.default)
        values[knob.name] = _widget(knob.name, kinds[knob.name], start, f"knob {scenario} {knob.name}")
    return values


def _widget(name: str, kind: Any, start: Any, key: str) -> Any:
    text = KNOB_HELP[name]
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return st.selectbox(name, choices, index=choices.index(start), key=key, help=text)
    if kind is bool:
        return st.checkbox(name, value=start, key=key, help=text)
    if kind is int:
        # No limits here: SchedulerConfig says in a sentence what it refuses.
        return st.number_input(name, value=start, step=1, key=key, help=text)
    return st.number_input(name, value=float(start), step=0.01, format="%.3g", key=key, help=text)
