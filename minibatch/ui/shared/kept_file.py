"""A file uploader whose file stays while pages change: Streamlit forgets an uploader's file with its page."""

from __future__ import annotations

from html import escape
from typing import Any

import streamlit as st

File = tuple[str, bytes]
"""Name and content of an uploaded file."""


def kept_file(label: str, key: str, **settings: Any) -> File | None:
    """An uploader and the file that was chosen in it, in this visit to the page or an earlier one.

    Args:
        key: of the uploader.
        settings: of `st.file_uploader`.
    """
    st.file_uploader(label, key=key, on_change=_keep, args=(key,), **settings)
    kept: File | None = st.session_state.get(_kept_key(key))
    if kept is not None and st.session_state[key] is None:
        st.html(f"<p class='mb-watch'>{escape(kept[0])} is open.</p>")
        st.button("Close it", key=f"close {key}", on_click=_forget, args=(key,))
    return kept


def _keep(key: str) -> None:
    """The user chose a file, or removed the one that was chosen."""
    chosen = st.session_state[key]
    if chosen is None:
        _forget(key)
    else:
        st.session_state[_kept_key(key)] = (chosen.name, chosen.getvalue())


def _forget(key: str) -> None:
    st.session_state.pop(_kept_key(key), None)


def _kept_key(key: str) -> str:
    return f"kept {key}"
