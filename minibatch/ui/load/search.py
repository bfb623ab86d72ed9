"""The goodput frontier of a sweep, and the search for the highest load that meets the SLO."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import streamlit as st

from minibatch.analysis.formats import percent
from minibatch.analysis.slo import Slo
from minibatch.analysis.sweeps.curves import Curve
from minibatch.analysis.sweeps.search import Search
from minibatch.engine.sweep import Point
from minibatch.ui.load.job import LoadSearch, Sweep
from minibatch.ui.load.panels import name_of
from minibatch.ui.load.tables import frontier_html
from minibatch.ui.shared.engine_queue import POLL_S, submit
from minibatch.ui.shared.jobs import JobStatus, Ticket
from minibatch.ui.shared.notices import Notice, show

HIGHEST = 4.0
"""How many times the highest load of the sweep is the highest that is tried."""
_SEARCH = "sweep search"


def frontier_section(sweep: Sweep, curves: Sequence[Curve], slo: Slo | None, share: float) -> None:
    """The table, and the button or the search that it started."""
    if slo is None:
        return
    st.html("<h2>Goodput frontier</h2>")
    question = (sweep.key, slo, share)
    asked, work, ticket = st.session_state.get(_SEARCH, (None, None, None))
    found: Mapping[str, Search] = work.found if asked == question else {}
    st.html(frontier_html(curves, slo, found, share))
    if asked == question and not ticket.finished:
        _poll(ticket)
        return
    if asked == question and ticket.status is JobStatus.FAILED:
        show(Notice(ticket.error, "error"))
    st.button(
        f"Find the highest load at which {percent(share)} % meet the SLO", on_click=_start, key="find load",
        args=(question, sweep, curves, slo, share), disabled=asked == question and len(found) == len(curves),
    )  # fmt: skip


def _start(question: Hashable, sweep: Sweep, curves: Sequence[Curve], slo: Slo, share: float) -> None:
    _, _, latest = st.session_state.get(_SEARCH, (None, None, None))
    if latest:
        latest.cancel()
    starts = {}
    for curve in curves:
        row = curve.rows[0]
        starts[name_of(curve)] = Point(row.policy, row.load, row.config)
    highest = HIGHEST * max(curve.rows[-1].load.value for curve in curves)
    work = LoadSearch(sweep.spec, starts, highest, slo, share)
    st.session_state[_SEARCH] = (question, work, submit(work))


@st.fragment(run_every=POLL_S)
def _poll(ticket: Ticket) -> None:
    if ticket.finished:
        st.rerun()
    progress = ticket.progress
    words = "Getting ready" if progress is None else f"{progress.num_finished} of {progress.num_requests} found"
    st.progress(ticket.share_done, words)
    if st.button("Cancel", key="cancel search", disabled=ticket.cancelled):
        ticket.cancel()
