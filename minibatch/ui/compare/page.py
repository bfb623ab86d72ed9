"""The Compare page: one workload under several policies, from a recording or a run to its player."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from minibatch.analysis.load_advice import too_little_load
from minibatch.recording.storage import RecordingError
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.compare.controls import Choice, RunForm, sidebar
from minibatch.ui.compare.forks import fork_run, show_fork
from minibatch.ui.compare.ledger_bars import NAMES, ledger_bars_html, ledger_columns, slot_time_rows
from minibatch.ui.compare.links import start_of
from minibatch.ui.compare.metrics_table import metrics_frame, metrics_html, shown_first
from minibatch.ui.compare.takeaway import downloads
from minibatch.ui.player.component import parts_of, show_player
from minibatch.ui.player.live_payload import LivePayload
from minibatch.ui.player.payload import pack
from minibatch.ui.shared import jobs
from minibatch.ui.shared.engine_queue import POLL_S, engine_queue, submit
from minibatch.ui.shared.jobs import JobStatus, Ticket
from minibatch.ui.shared.knobs import fork_knobs
from minibatch.ui.shared.notices import Notice, show
from minibatch.ui.shared.palette import Theme, theme
from minibatch.ui.shared.sources import Shown, from_run, open_file, recordings_folder
from minibatch.ui.shared.style import show_style
from minibatch.ui.shared.summary import (
    clocks,
    intro_html,
    ledger_legend_html,
    progress_words,
    provenances,
    rejected_in_words,
)

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
    show_style(look)
    st.html("<h1 class='mb-brand'>Minibatch</h1>")
    if choice.problem:
        show(choice.problem)
    if choice.form is not None:
        _run(choice, choice.form, look)
    elif choice.shown is not None:
        _comparison(choice.shown.only(choice.policies), choice.link, look)


def _comparison(shown: Shown, link: Mapping[str, str] | None, look: Theme) -> None:
    """The player of some recordings, and the tables that go with it."""
    if not shown.recordings:
        show(NO_POLICY)
        return
    above = st.container()
    _player(shown, {"link": link, **_start(shown.name)}, look)
    with above:
        _fork_rejection(shown)
    _details(shown, look)


def _player(shown: Shown, options: Mapping[str, Any], look: Theme) -> None:
    """The player, always in one place, so that the browser keeps it from one recording to the next."""
    given = {"id": shown.name, "scale": look.scale, **options, "knobs": fork_knobs()}
    steps = tuple(recording.num_iterations for recording in shown.recordings)
    data = _packed((shown.key, repr(given), steps), shown, given)
    wish = show_player(data, "player")
    if wish:
        _ask(shown, wish)


@st.cache_resource(max_entries=16, show_spinner=False)
def _packed(key: tuple[Any, ...], _shown: Shown, _options: Mapping[str, Any]) -> bytes:
    return pack(_shown.recordings, _options)


@st.cache_resource(max_entries=8, show_spinner=False)
def _live(run: str, policies: tuple[str, ...]) -> LivePayload:
    return LivePayload(f"{run}:{','.join(policies)}", policies)


def _start(name: str) -> dict[str, Any]:
    """Where the player begins: where the link says, for the recording that it leads to."""
    if "linked" not in st.session_state:
        st.session_state["linked"] = (name, start_of(st.query_params.to_dict()))
    linked, start = st.session_state["linked"]
    if linked != name:
        st.query_params.clear()  # the address told of something else
    if linked != name or not start:
        return {"autoplay": True}
    return {"start": start}


def _details(shown: Shown, look: Theme) -> None:
    _fork(shown, look)
    _metrics(shown)
    _slot_time(shown, look)
    away = st.expander("Export", key="export", on_change="rerun")
    if away.open:
        with away:
            downloads(shown)


# -- a new run ------------------------------------------------------------------------------------


def _run(choice: Choice, form: RunForm, look: Theme) -> None:
    rejection = _submit(form) if form.pressed else None
    ticket: Ticket | None = st.session_state.get("ticket")
    if rejection:
        show(rejection)
    # A rejection stands alone, but a run that goes on must still be watched.
    if ticket is None or (rejection and ticket.finished):
        st.html(intro_html("A new run", RUN_SENTENCE))
        if not rejection:
            show(NO_RUN)
            _recorded_before(form, choice.policies, look)
        return
    if ticket.status is JobStatus.FAILED:
        show(Notice(ticket.error, "error"))
        return
    if ticket.finished and not ticket.recordings:
        show(NOTHING_RECORDED)
        return
    if not ticket.finished:
        _poll(ticket, choice.policies, form.link, look)
        return
    shown = from_run(ticket.key, ticket.recordings).only(choice.policies)
    # The player stands where it stood in `_poll`, below the place of the progress, so the browser keeps it.
    with st.container():
        above = st.container()
        if shown.recordings:
            _player(shown, {"link": form.link, **_start(shown.name)}, look)
            with above:
                _fork_rejection(shown)
    if shown.recordings:
        _details(shown, look)
    else:
        show(NO_POLICY)


def _recorded_before(form: RunForm, policies: tuple[str, ...], look: Theme) -> None:
    """What came of the scenario that is chosen when it was recorded, if it was."""
    path = recordings_folder() / f"{form.job['scenario']}.mbr"
    if not path.exists():
        return
    with suppress(OSError, RecordingError):  # the page of recordings says what is wrong with it
        shown = open_file(path).only(policies)
        if shown.recordings:
            st.html(f"<p>Recorded earlier, with the preset's knobs, {provenances(shown.recordings)}:</p>")
            _slot_time(shown, look)


def _submit(form: RunForm) -> Notice | None:
    """Start the run, or say why not."""
    latest: Ticket | None = st.session_state.get("ticket")
    if latest and latest.status is JobStatus.FAILED:
        # What went wrong before is answered by pressing Run again.
        del st.session_state["ticket"]
    if not form.job["policies"]:
        return Notice("No policy is chosen: choose at least one in the sidebar.", "error")
    if form.rejection:
        return Notice(form.rejection, "error")
    if latest:
        latest.cancel()
    job = {**form.job, "config": SchedulerConfig(**form.knobs)}
    st.session_state["ticket"] = submit(partial(jobs.run_on_engine, job))
    return None


@st.fragment(run_every=POLL_S)
def _poll(ticket: Ticket, policies: tuple[str, ...], link: Mapping[str, str] | None, look: Theme) -> None:
    """A run in progress: how far it is, and the player of what is recorded until now."""
    if ticket.finished:
        st.rerun()
    with st.container():
        _progress(ticket, "cancel")
    live = _live(ticket.key, policies)
    live.extend(ticket.parts)
    if not live.num_parts:
        return
    options: dict[str, Any] = {"id": ticket.key, "scale": look.scale, "link": link, "live": True}
    if "linked" not in st.session_state and start_of(st.query_params.to_dict()):
        options["id"] = f"{ticket.key} live"  # the result is another run to the player, which goes where the link says
    show_player(live.since(parts_of(live.stream, "player"), options), "player")


def _progress(ticket: Ticket, key: str) -> None:
    ahead, progress = engine_queue().num_ahead(ticket), ticket.progress
    if ahead:
        words = f"Waiting for {ahead} other {'run' if ahead == 1 else 'runs'}"
    elif progress is None:
        words = "Getting ready"
    else:
        words = progress_words(progress.policy, progress.num_finished, progress.num_requests)
    st.progress(ticket.share_done, words)
    if st.button("Cancel", key=key, disabled=ticket.cancelled):
        ticket.cancel()


# -- what if --------------------------------------------------------------------------------------


def _ask(shown: Shown, wish: Mapping[str, Any]) -> None:
    """Queue the rerun that the player asks for; one that is still going makes way."""
    _, _, latest = st.session_state.get("fork", (None, None, None))
    if latest:
        latest.cancel()
    run = fork_run(shown, wish)
    st.session_state["fork"] = (shown.name, run, submit(run))


def _fork(shown: Shown, look: Theme) -> None:
    """The rerun that goes on, and the last one that was done, if they are of these recordings."""
    name, run, ticket = st.session_state.get("fork", (None, None, None))
    if name == shown.name and not ticket.finished:
        _poll_fork(ticket)
    elif name == shown.name and ticket.status is JobStatus.DONE:
        st.session_state["forked"] = (name, run, ticket.key)
    name, run, key = st.session_state.get("forked", (None, None, None))
    if name == shown.name:
        show_fork(run, key, look)


def _fork_rejection(shown: Shown) -> None:
    """Why the rerun that was asked for last can't be, said where the asker looks."""
    name, _, ticket = st.session_state.get("fork", (None, None, None))
    if name == shown.name and ticket.status is JobStatus.FAILED:
        show(Notice(ticket.error, "error"))


@st.fragment(run_every=POLL_S)
def _poll_fork(ticket: Ticket) -> None:
    if ticket.finished:
        st.rerun()
    _progress(ticket, "cancel fork")


# -- below the player -----------------------------------------------------------------------------


def _metrics(shown: Shown) -> None:
    st.html("<h2>What each policy achieved</h2>")
    frame = _frame(shown.key, shown)
    idle = too_little_load(shown.recordings)
    marks = f"{idle}." if idle else "● marks the best of a row."
    caption = f"All numbers {provenances(shown.recordings)}. {marks}"
    caption = " ".join(filter(None, (caption, rejected_in_words(shown.recordings))))
    st.html(metrics_html(frame.loc[shown_first(frame, shown.policies)], shown.policies, caption, grouped=False))
    every = st.expander("Every metric", key="every metric", on_change="rerun")
    if every.open:  # closed, it would only hold up the player
        every.html(metrics_html(frame, shown.policies, caption, grouped=True))


@st.cache_data(max_entries=32, show_spinner=False)
def _frame(key: str, _shown: Shown) -> pd.DataFrame:
    return metrics_frame(_shown.recordings)


def _slot_time(shown: Shown, look: Theme) -> None:
    rows = slot_time_rows(shown.recordings)
    if not rows:
        return
    st.html("<h2>Where the slots' time went</h2>")
    st.html(ledger_legend_html([(NAMES[name], look.phase(name)) for name in ledger_columns(rows)]))
    st.html(ledger_bars_html(rows, f"Slot time, mean over all slots, {clocks(shown.recordings)}.", look))
