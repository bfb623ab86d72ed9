"""The player as a Streamlit component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from minibatch.ui.player.bundle import component_script, styles


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    return st.components.v2.component("minibatch.player", html="<div></div>\n", css=styles(), js=component_script())


def parts_of(stream: str, key: str) -> int:
    """How many parts of a run in progress the player called `key` says that it has (see live_payload.py)."""
    state = st.session_state.get(key)
    have = state.get("have") if isinstance(state, Mapping) else None
    if not isinstance(have, Mapping) or have.get("stream") != stream:
        return 0
    parts = have.get("parts")
    return max(0, parts) if isinstance(parts, int) else 0


def show_player(data: bytes, key: str) -> dict[str, Any] | None:
    """Mount the player, or give the one called `key` other data. Returns what "What if" asks for, once."""
    result = _component()(data=data, key=key, on_fork_change=lambda: None, on_have_change=lambda: None)
    wish: dict[str, Any] | None = result.fork
    return wish
