"""The player as a Streamlit component."""

from __future__ import annotations

from typing import Any

import streamlit as st

from minibatch.ui.player.bundle import component_script, styles


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    return st.components.v2.component("minibatch.player", html="<div></div>\n", css=styles(), js=component_script())


def show_player(data: bytes, key: str) -> dict[str, Any] | None:
    """Mount the player, or give the one called `key` other data. Returns what "What if" asks for, once."""
    result = _component()(data=data, key=key, on_fork_change=lambda: None)
    wish: dict[str, Any] | None = result.fork
    return wish
