"""The Compare page: one workload under several policies, from a recording to its charts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from minibatch.analysis.summary import HEADLINES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui import jobs
from minibatch.ui.controls import Choice, RunForm, sidebar
from minibatch.ui.jobs import JobQueue, Status, Ticket
from minibatch.ui.lanes import lanes_chart
from minibatch.ui.ledger_bars import NAMES, ledger_chart, ledger_columns, request_time_rows, slot_time_rows
from minibatch.ui.metrics_table import metrics_frame, metrics_html
from minibatch.ui.notices import Notice, show
from minibatch.ui.palette import Theme, theme
from minibatch.ui.roofline import limits, roofline_chart
from minibatch.ui.sources import Shown, from_run
from minibatch.ui.summary import (
    clocks,
    header_html,
    intro_html,
    lane_html,
    ledger_legend_html,
    phases_html,
    progress_words,
    provenances,
    roofline_legend_html,
)
from minibatch.ui.texts import request_label, same_requests, texts_html

STYLE = Path(__file__).parents[2] / "assets" / "ui" / "compare.css"
RUN_SENTENCE = "The same requests, under each policy in turn."
NO_POLICY = Notice("Choose a policy in the sidebar.", "note")
NO_RUN = Notice("Choose a workload in the sidebar and press Run.", "note")
NOTHING_RECORDED = Notice("The run was cancelled before it recorded anything.", "note")
LARGE = 1.5
"""How much larger type is on a projector."""


def page() -> None:
    """Draw the page."""
    choice = sidebar()
    look = theme(st.context.theme.type, LARGE if choice.large else 1.0)
    st.html(f"<style>{STYLE.read_text(encoding='utf-8')}\n:root {{ --mb-scale: {look.scale} }}</style>")
    shown = _shown(choice)
    if shown is not None:
        shown = shown.only(choice.policies)
        if shown.recordings:
            comparison(shown, look)
        else:
            show(NO_POLICY)


def comparison(shown: Shown, look: Theme) -> None:
    """Every view of some recordings."""
    st.html(header_html(shown.recordings))
    _lanes(shown, look)
    _metrics(shown)
    _slot_time(shown, look)
    _roofline(shown, look)
    if same_requests(shown.recordings) and shown.recordings[0].requests:
        _one_request(shown, look)


def _shown(choice: Choice) -> Shown | None:
    if choice.form is None:
        if choice.problem:
            show(choice.problem)
        return choice.shown
    refusal = _start(choice.form) if choice.form.pressed else None
    ticket: Ticket | None = st.session_state.get("ticket")
    if refusal or ticket is None or not ticket.finished:
        st.html(intro_html("Run on this machine", RUN_SENTENCE))
    if refusal:
        show(refusal)
    elif ticket is None:
        show(NO_RUN)
    # A refusal stands alone, but a run that goes on must still be watched.
    if ticket is None or (refusal and ticket.finished):
        return None
    if not ticket.finished:
        _progress(ticket)
        return None
    return _result(ticket)


def _start(form: RunForm) -> Notice | None:
    """Start the run, or say why not."""
    latest: Ticket | None = st.session_state.get("ticket")
    if latest and latest.status is Status.FAILED:
        # What went wrong before is answered by pressing Run again.
        del st.session_state["ticket"]
    if not form.job["policies"]:
        return Notice("No policy is chosen: choose at least one in the sidebar.", "error")
    if form.job["scenario"] is None and not form.job["prompts"]:
        return Notice("No prompt is typed: write at least one in the sidebar.", "error")
    try:
        config = SchedulerConfig(**form.knobs)
    except ValueError as error:
        return Notice(str(error), "error")
    if latest:
        latest.cancel()
    st.session_state["ticket"] = _queue().submit(partial(jobs.run_on_engine, {**form.job, "config": config}))
    return None


@st.cache_resource(show_spinner=False)
def _queue() -> JobQueue:
    return JobQueue()


@st.fragment(run_every=0.5)
def _progress(ticket: Ticket) -> None:
    ticket.seen()
    if ticket.finished:
        st.rerun()
    ahead, progress = _queue().num_ahead(ticket), ticket.progress
    if ahead:
        words = f"Waiting for {ahead} other {'run' if ahead == 1 else 'runs'}"
    elif progress is None:
        words = "Loading the model"
    else:
        words = progress_words(progress.policy, progress.num_finished, progress.num_requests)
    st.progress(ticket.share_done, words)
    if st.button("Cancel", key="cancel", disabled=ticket.cancelled):
        ticket.cancel()


def _result(ticket: Ticket) -> Shown | None:
    if ticket.status is Status.FAILED:
        show(Notice(ticket.error, "error"))
        return None
    if not ticket.recordings:
        show(NOTHING_RECORDED)
        return None
    return from_run(ticket.key, ticket.recordings)


def _lanes(shown: Shown, look: Theme) -> None:
    end_ns = max(recording.end_ns for recording in shown.recordings)
    st.html(phases_html(look))
    for i, recording in enumerate(shown.recordings):
        left, right = st.columns([2, 7], gap="small")
        left.html(lane_html(recording))
        with right:
            last = i == len(shown.recordings) - 1
            _draw((shown.key, "lane", i, look), partial(lanes_chart, recording, end_ns, look, last))


def _metrics(shown: Shown) -> None:
    st.html("<h2>What each policy achieved</h2>")
    frame = _frame(shown.key, shown)
    caption = f"All numbers {provenances(shown.recordings)}. ● marks the best of a row."
    st.html(metrics_html(frame.loc[list(HEADLINES)], shown.policies, caption, grouped=False))
    with st.expander("Every metric"):
        st.html(metrics_html(frame, shown.policies, caption, grouped=True))


@st.cache_data(max_entries=32, show_spinner=False)
def _frame(key: str, _shown: Shown) -> pd.DataFrame:
    return metrics_frame(_shown.recordings)


def _slot_time(shown: Shown, look: Theme) -> None:
    rows = slot_time_rows(shown.recordings)
    if not rows:
        return
    st.html("<h2>Where the slots' time went</h2>")
    st.html(ledger_legend_html([(NAMES[name], look.phase(name)) for name in ledger_columns(rows)]))
    axis = f"seconds of a mean slot, {clocks(shown.recordings)}"
    _draw((shown.key, "slots", look), partial(ledger_chart, rows, axis, look))


def _roofline(shown: Shown, look: Theme) -> None:
    shared = limits(shown.recordings)
    if shared is None:
        return
    st.html("<h2>Roofline: what each iteration asked of the machine, and got</h2>")
    st.html(roofline_legend_html(shown.recordings))
    for column, recording in zip(st.columns(len(shown.recordings)), shown.recordings, strict=True):
        with column:
            st.html(f"<h3>{escape(recording.header.policy)}</h3>")
            key = (shown.key, "roofline", recording.header.policy, look)
            _draw(key, partial(roofline_chart, recording, shared, look))


def _one_request(shown: Shown, look: Theme) -> None:
    first = shown.recordings[0]
    st.html("<h2>One request</h2>")
    request_id = st.selectbox(
        "Request",
        range(len(first.requests)),
        format_func=lambda i: request_label(first, i),
        key=f"request {shown.key}",
    )
    rows = request_time_rows(shown.recordings, request_id)
    if rows:
        st.html(ledger_legend_html([(NAMES[name], look.phase(name)) for name in ledger_columns(rows)]))
        axis = f"seconds since r{request_id} arrived, {clocks(shown.recordings)}"
        _draw((shown.key, "request", request_id, look), partial(ledger_chart, rows, axis, look))
    st.html(texts_html(shown.recordings, request_id))


def _draw(key: tuple[Any, ...], make: Callable[[], alt.LayerChart]) -> None:
    st.vega_lite_chart(_spec(key, make), width="stretch", theme=None)


@st.cache_data(max_entries=256, show_spinner=False)
def _spec(key: tuple[Any, ...], _make: Callable[[], alt.LayerChart]) -> dict[str, Any]:
    """A chart as Vega-Lite, made once for each `key`: Altair takes longer than all the rest."""
    return _make().to_dict()
