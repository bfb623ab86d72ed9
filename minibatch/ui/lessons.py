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
    if not wanted:
        _show(index_document(), "index")
        return
    folder = lesson_folder(wanted)
    if folder is None:
        show(Notice(f"There is no lesson {wanted!r}.", "warning"))
        _show(index_document(), "index")
        return
    if not re.fullmatch("[a-z]{2,3}", language) or not file_of(folder, language).exists():
        language = "en"
    with st.spinner("Running what the lesson shows"):
        data, problems = _lesson(str(folder), language, last_change(folder, language))
    for problem in problems:
        show(Notice(problem, "error"))
    if data is None:
        _show(index_document(), "index")
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


def _show(document: Document, key: str) -> None:
    _mount(_packed(document), key)


def _packed(document: Document) -> bytes:
    links = {"index": "lessons", "room": "interview", "lesson": "lessons?lesson="}
    return zlib.compress(document_bytes(document | {"links": links}), 6)


def _link(kind: str, name: str) -> str:
    places = {"lesson": f"lessons?{urlencode({'lesson': name})}", "room": "interview", "run": f"./?{name}"}
    return places.get(kind, "lessons")


def _mount(data: bytes, key: str) -> None:
    _component()(data=data, key=key)


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    return st.components.v2.component(
        "minibatch.lesson", html="<div></div>\n", css=lesson_styles(), js=lesson_component_script()
    )
