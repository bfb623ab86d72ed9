"""What the sidebar's widgets begin with: what the page's address says, or what they always begin with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

T = TypeVar("T")


def has_begun(page: str) -> bool:
    """Whether that page has read its address."""
    return page in st.session_state.get("begun", ())


def begin_with(page: str, values: Mapping[str, Any]) -> None:
    """Values by the keys of widgets. Never set as their state: a page that is clicked on while it loads loses that."""
    st.session_state["begun"] = {*st.session_state.get("begun", ()), page}
    st.session_state["begins"] = {**st.session_state.get("begins", {}), **values}


def begins(key: str, otherwise: Any) -> Any:
    """What the widget of that key begins with."""
    return st.session_state.get("begins", {}).get(key, otherwise)


def choose(
    label: str,
    options: Sequence[T],
    key: str,
    format_func: Callable[[T], str] = str,
    otherwise: T | None = None,
    help: str | None = None,
    state_key: str | None = None,
) -> T:
    """One of `options`: what the address says, `otherwise`, or the first.

    Args:
        state_key: the widget's own key, where that depends on what is offered.
    """
    wanted = begins(key, otherwise)
    first = options.index(wanted) if wanted in options else 0
    return st.selectbox(
        label, options, index=first, format_func=format_func, key=state_key or key, persist_state="session", help=help
    )


def number(label: str, key: str, otherwise: float, help: str | None = None) -> float:
    """Any number: its reader says in a sentence what it rejects."""
    start = float(begins(key, otherwise))
    return float(st.number_input(label, value=start, format="%.6g", key=key, persist_state="session", help=help))


def count(label: str, key: str, otherwise: int, most: int, help: str | None = None) -> int:
    """A whole number from 1."""
    start = begins(key, otherwise)
    return int(
        st.number_input(
            label, value=start, min_value=1, max_value=most, step=1, key=key, persist_state="session", help=help
        )
    )
