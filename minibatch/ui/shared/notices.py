"""What the page has to say in a sentence: plain text, whatever is in it, but for `commands`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Literal

import streamlit as st

Kind = Literal["note", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A message. It may quote files and models: `st.error` and its like would take it for Markdown.

    Attributes:
        kind: "note" says what to do next, "warning" why there is nothing to show, "error" what failed.
    """

    text: str
    kind: Kind


def notice_html(notice: Notice) -> str:
    role = "status" if notice.kind == "note" else "alert"
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(notice.text))
    return f"<div class='mb-notice mb-notice-{notice.kind}' role='{role}'>{text}</div>"


def show(notice: Notice) -> None:
    st.html(notice_html(notice))


def as_label(text: str) -> str:
    """`text` as a widget's label, which Streamlit takes for Markdown, shows it as it is."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)
