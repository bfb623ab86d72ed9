"""The page "Published results": what others published beside what the schedulers come to on the roofline model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from minibatch.analysis.formats import plural
from minibatch.analysis.reproduce import EXPERIMENTS, Experiment
from minibatch.analysis.reproduce.result import Reproduction, StoppedError, Watch
from minibatch.recording.schema import Recording
from minibatch.ui.published.chart import WIDTH, chart_of, reasons_html, table_html
from minibatch.ui.shared.engine_queue import POLL_S, engine_queue, submit
from minibatch.ui.shared.jobs import Done, JobStatus, Progress, Ticket
from minibatch.ui.shared.notices import Notice, show
from minibatch.ui.shared.palette import Theme, theme
from minibatch.ui.shared.style import show_style

COMMAND = "python -m minibatch reproduce"
_RUN = "reproduction run"
_FOUND = "reproductions"


@dataclass(slots=True, eq=False)
class ReproduceWork:
    """An experiment for the queue; `found` is what it came to, None until then and where it was stopped."""

    experiment: Experiment
    seed: int
    found: Reproduction | None = None

    def __call__(
        self, *, on_progress: Callable[[Progress], None], should_stop: Callable[[], bool], on_snapshot: object
    ) -> list[Recording]:
        watch = Watch(lambda share: on_progress(Done(round(1000 * share), 1000)), should_stop)
        with suppress(StoppedError):
            self.found = self.experiment.run(self.seed, watch)
        return []


@dataclass(frozen=True, slots=True)
class _Running:
    work: ReproduceWork
    ticket: Ticket


def page() -> None:
    """Draw the page."""
    look = theme(st.context.theme.type)
    show_style(look)
    st.html("<h1 class='mb-brand'>Minibatch</h1>")
    st.html(
        "<div class='mb-head'><h1>Published results</h1><p class='mb-watch'>Published measurements beside what "
        "the same policies reach here, on a roofline model of the same machines.</p></div>"
    )
    left, right = st.columns((4, 1))
    name = left.selectbox("Experiment", list(EXPERIMENTS), format_func=lambda each: EXPERIMENTS[each].title)
    seed = int(right.number_input(
        "seed", value=0, min_value=0, step=1, key="reproduce seed", persist_state="session",
        help="For lengths and arrivals. Another seed shows how much of a difference is chance.",
    ))  # fmt: skip
    _control(EXPERIMENTS[name], seed)
    found = _remembered().get((name, seed))
    if found is not None:
        _show(found, look)


def _remembered() -> dict[tuple[str, int], Reproduction]:
    """What this session has run, by name and seed; equal seeds give equal numbers, so each is run once."""
    found: dict[tuple[str, int], Reproduction] = st.session_state.setdefault(_FOUND, {})
    return found


def _control(experiment: Experiment, seed: int) -> None:
    """The button, or how far the experiment is that it started."""
    running: _Running | None = st.session_state.get(_RUN)
    if running is not None and not running.ticket.finished:
        _poll(running)
        return
    if running is not None:
        _take(running)
    if (experiment.name, seed) not in _remembered():
        st.button("Run", type="primary", on_click=_start, args=(experiment, seed), key="reproduce")
        command = f"{COMMAND} {experiment.name}{f' --seed {seed}' if seed else ''}"
        show(Notice(f"It takes up to a minute. `{command}` prints the same.", "note"))


def _take(running: _Running) -> None:
    """Remember what a run came to, or say why it failed."""
    if running.ticket.status is JobStatus.FAILED:
        show(Notice(running.ticket.error, "error"))
    elif running.work.found is not None:
        _remembered()[running.work.experiment.name, running.work.seed] = running.work.found


def _start(experiment: Experiment, seed: int) -> None:
    work = ReproduceWork(experiment, seed)
    st.session_state[_RUN] = _Running(work, submit(work))


@st.fragment(run_every=POLL_S)
def _poll(running: _Running) -> None:
    ticket = running.ticket
    if ticket.finished:
        st.rerun()
    ahead = engine_queue().num_ahead(ticket)
    words = f"Waiting for {plural(ahead, 'other run')}" if ahead else f"Running {running.work.experiment.title}"
    st.progress(ticket.share_done, words)
    if st.button("Cancel", key="cancel reproduction", disabled=ticket.cancelled):
        ticket.cancel()


def _show(found: Reproduction, look: Theme) -> None:
    st.html(f"<p>{escape(found.compared)}</p>{table_html(found)}")
    chart: Any = chart_of(found, look)
    st.container(width=WIDTH).altair_chart(chart, theme=None)
    st.html(reasons_html(found))
