"""The SLO that a sweep is judged by, as widgets. Nothing is run again for another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import streamlit as st

from minibatch.analysis.slo import Slo
from minibatch.ui.shared.begins import begins
from minibatch.ui.shared.notices import Notice, show

SHARE = 90.0
"""Of the requests, in %, that must meet the SLO by default."""
_LIMITS = (("ttft", "TTFT, ms at most", 500.0), ("tpot", "TPOT, ms at most", 50.0), ("e2el", "E2E, ms at most", None))
_STARTS = {name: start for name, _, start in _LIMITS}
WORDS = {
    "SLO": "service level objective, the limits that each request must keep",
    "goodput": "requests/s that meet all of them",
    "TTFT": "time to first token, from arrival",
    "TPOT": "time per output token, the mean after the first",
    "ITL": "inter-token latency, every gap between two tokens",
    "E2E": "end-to-end latency, from arrival to the last token",
    "p99": "99 of 100 take no longer",
}
"""What the page calls things, spelled out."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What the widgets say: limits in ms by the names of `Slo`, not yet checked, and a share in %."""

    limits: Mapping[str, float | None]
    share: float


def judged_now() -> Judged:
    """What they say, or will begin with where they are not on the page (yet)."""
    limits = {name: st.session_state.get(_key(name), begins(_key(name), start)) for name, start in _STARTS.items()}
    return Judged(limits, st.session_state.get("sweep share", begins("sweep share", SHARE)))


def slo_form(kept: Slo | None = None) -> tuple[Slo | None, float]:
    """The SLO, and the share of requests that must meet it, 0 to 1.

    Args:
        kept: what the widgets begin with, where a file has it.
    """
    columns = st.container(key="slo").columns(4)
    limits = {}
    for column, (name, label, start) in zip(columns, _LIMITS, strict=False):
        first = begins(_key(name), start) if kept is None else getattr(kept, f"{name}_ms")
        limits[f"{name}_ms"] = column.number_input(
            label, value=first, step=10.0, format="%.6g", placeholder="no limit", key=_key(name, kept),
            persist_state="session",
        )  # fmt: skip
    share = columns[3].number_input(
        "met by, % of requests", value=begins("sweep share", SHARE), min_value=1.0, max_value=100.0, step=1.0,
        format="%.6g", key="sweep share", persist_state="session",
        help="For the search of the highest load that meets the SLO. Goodput counts each request by itself.",
    )  # fmt: skip
    spelled = "; ".join(f"<b>{word}</b>: {escape(meaning)}" for word, meaning in WORDS.items())
    st.html(f"<p class='mb-of'>{spelled}.</p>")
    try:
        slo = Slo(**limits)
    except ValueError as error:
        show(Notice(f"{error}", "warning"))
        return None, share / 100
    if slo == kept:
        st.caption("These limits are from the file.")
    return slo, share / 100


def _key(name: str, kept: Slo | None = None) -> str:
    """Each SLO that a file brings has widgets of its own, which begin with it."""
    return f"sweep {name}_ms" if kept is None else f"sweep {name}_ms {kept.words}"
