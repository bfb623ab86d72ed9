"""The style sheet of the pages, with what it takes from the theme."""

from __future__ import annotations

import streamlit as st

from minibatch.paths import ASSETS
from minibatch.ui.shared.palette import Theme

_SHEET = ASSETS / "ui" / "compare.css"


def show_style(look: Theme) -> None:
    variables = f":root {{ --mb-scale: {look.scale}; --mb-surface: {look.surface} }}"
    st.html(f"<style>{_SHEET.read_text(encoding='utf-8')}\n{variables}</style>")
