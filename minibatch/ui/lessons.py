"""The pages Lessons and Interview: what assets/lessons shows, in a component."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from minibatch.learning.lesson import FOLDER, file_of
from minibatch.ui.lesson_document import (
    Document,
    document_bytes,
    index_document,
    last_change,
    lesson_document,
    lesson_folder,
)
from minibatch.ui.notices import Notice, show
from minibatch.ui.player.bundle import lesson_component_script, lesson_styles
from minibatch.ui.room_document import room_document


def page() -> None:
    """One lesson, or the list of them."""
    parameters = st.query_params.to_dict()
    wanted, language = parameters.get("lesson", ""), parameters.get("language", "en")
    if not re.fullmatch("[a-z]{2,3}", language):
        language = "en"
    folder = lesson_folder(wanted)
    if folder is None:
        if wanted:
            show(Notice(f"There is no lesson {wanted!r}.", "warning"))
        _show_index(language)
        return
    if not file_of(folder, language).exists():
        language = "en"
    with st.spinner("Running what the lesson shows"):
        data, problems = _lesson(str(folder), language, last_change(folder, language))
    for problem in problems:
        show(Notice(problem, "error"))
    if data is None:
        _show_index(language)
    else:
        _mount(data, f"lesson {wanted} {language}")


def interview_page() -> None:
    """The interview room."""
    with st.spinner("Running what the room shows"):
        data = _room()
    _mount(data, "room")


@st.cache_resource(max_entries=32, show_spinner=False)
def _lesson(folder: str, language: str, changed: float) -> tuple[bytes | None, list[str]]:
    document, problems = lesson_document(Path(folder), language, _link, FOLDER)
    return (None if document is None else _packed(document)), [str(problem) for problem in problems]


@st.cache_resource(max_entries=1, show_spinner=False)
def _room() -> bytes:
    return _packed(room_document(_link))


def _show_index(language: str) -> None:
    document = index_document(language)
    if language not in document["languages"]:
        document = index_document()
    _mount(_packed(document), f"index {document['language']}")


def _packed(document: Document) -> bytes:
    links = {"index": "lessons", "room": "interview"}
    return zlib.compress(document_bytes(document | {"links": links}), 6)


def _link(kind: str, name: str, language: str) -> str:
    if kind == "room":
        return "interview"
    if kind == "run":
        return f"./?{name}"
    parameters = {"lesson": name} if kind == "lesson" else {}
    return f"lessons?{urlencode(parameters | ({} if language == 'en' else {'language': language}))}".rstrip("?")


def _mount(data: bytes, key: str) -> None:
    def follow() -> None:
        """A link to another lesson: the page stays, its address and what it shows change."""
        wish = st.session_state[key].go or {}
        st.query_params.from_dict({name: str(wish[name]) for name in ("lesson", "language") if name in wish})

    _component()(data=data, key=key, on_go_change=follow)


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    return st.components.v2.component(
        "minibatch.lesson", html="<div></div>\n", css=lesson_styles(), js=lesson_component_script()
    )
