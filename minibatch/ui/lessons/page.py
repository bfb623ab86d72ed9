"""The pages Lessons and Interview: what assets/lessons shows, in a component."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from minibatch.learning.lesson import file_of
from minibatch.paths import LESSONS
from minibatch.ui.lessons.document import (
    Document,
    document_bytes,
    index_document,
    last_change,
    lesson_document,
    lesson_folder,
)
from minibatch.ui.lessons.room_document import room_document
from minibatch.ui.player.bundle import lesson_component_script, lesson_styles
from minibatch.ui.shared.notices import Notice, show

_LANGUAGE = re.compile("[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
"""Codes as they stand in names of files: de, pt-BR."""


def page() -> None:
    """One lesson, or the list of them; always in one component, so that the browser never holds two of them."""
    parameters = st.query_params.to_dict()
    language = parameters.get("language", "en")
    if not _LANGUAGE.fullmatch(language):
        language = "en"
    with st.spinner("Preparing the lesson's runs"):
        data, notices = _wanted(parameters.get("lesson", ""), language)
    for notice in notices:
        show(notice)
    _mount(data, "lessons")


def _wanted(lesson_id: str, language: str) -> tuple[bytes, list[Notice]]:
    """A lesson; where there is none, or it is broken, the list of those there are."""
    folder = lesson_folder(lesson_id, LESSONS)
    if folder is None:
        missing = [Notice(f"There is no lesson {lesson_id!r}.", "warning")] if lesson_id else []
        return _index(language), missing
    chosen = language if file_of(folder, language).exists() else "en"
    data, problems = _lesson(str(folder), chosen, last_change(folder, chosen))
    return data or _index(language), [Notice(problem, "error") for problem in problems]


def interview_page() -> None:
    """The interview room."""
    with st.spinner("Preparing the interview room's runs"):
        data = _room()
    _mount(data, "room")


@st.cache_resource(max_entries=32, show_spinner=False)
def _lesson(folder: str, language: str, changed: float) -> tuple[bytes | None, list[str]]:
    document, problems = lesson_document(Path(folder), language, _link, LESSONS)
    return (None if document is None else _packed(document)), [str(problem) for problem in problems]


@st.cache_resource(max_entries=1, show_spinner=False)
def _room() -> bytes:
    return _packed(room_document(_link))


def _index(language: str) -> bytes:
    document = index_document(language, LESSONS)
    return _packed(document if language in document["languages"] else index_document(root=LESSONS))


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
