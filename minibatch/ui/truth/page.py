"""The page "How true is this?": modelled steps beside measured ones that the model was not fitted to."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

import streamlit as st

from minibatch.analysis.formats import percent, plural
from minibatch.recording.schema import Recording
from minibatch.roofline.calibration_store import (
    Calibration,
    CalibrationError,
    calibration_files,
    load_calibration,
    save_calibration,
)
from minibatch.ui.shared.engine_queue import POLL_S, engine_queue, submit
from minibatch.ui.shared.jobs import Done, JobStatus, Progress, Ticket
from minibatch.ui.shared.notices import Notice, show
from minibatch.ui.shared.palette import Theme, theme
from minibatch.ui.shared.style import show_style
from minibatch.ui.truth.chart import WIDTH, errors_html, steps_frame, truth_chart, worst_html

COMMAND = "python -m minibatch calibrate"
NOTHING_YET = Notice(
    f"Nothing is calibrated on this machine yet: run `{COMMAND}`, or press the button. It takes about a minute.", "note"
)
LEFT_OUT = (
    "The model knows an iteration by its totals alone: tokens, context, sequences. It leaves out how contexts differ "
    "within a batch, that some sizes of matrices suit the kernels better than others, what the caches still hold "
    "from the iteration before, and whatever else the machine was doing."
)
BARE = (
    "An accelerator by its data sheet is not calibrated: its modelled times are those of a bare roofline, in which "
    "every kernel reaches its ceiling and nothing else takes time. A real engine takes longer. Trust the shape of "
    "such curves, and read their times as the best case."
)
_TICKET = "calibration ticket"


def page() -> None:
    """Draw the page."""
    look = theme(st.context.theme.type)
    show_style(look)
    st.html("<h1 class='mb-brand'>Minibatch</h1>")
    st.html(
        "<div class='mb-head'><h1>How true is this?</h1><p class='mb-watch'>Modelled durations come from a formula. "
        "Here it is compared with steps of the real engine that were held out of the fit.</p></div>"
    )
    st.html(f"<p class='mb-watch'>{BARE}</p>")
    found = _remembered()
    _calibration()
    if not found:
        show(NOTHING_YET)
        return
    _truth(st.selectbox("Calibration", found, format_func=_words) if len(found) > 1 else found[0], look)


def _remembered() -> list[Calibration]:
    """Every calibration that can be read; of the others the page says what is wrong."""
    found = []
    for path in calibration_files():
        try:
            found.append(_loaded(path, path.stat().st_mtime_ns))
        except (OSError, CalibrationError) as error:
            show(Notice(str(error), "warning"))
    return found


@st.cache_data(max_entries=32, show_spinner=False)
def _loaded(path: Path, changed: int) -> Calibration:
    return load_calibration(path)


def _words(fitted: Calibration) -> str:
    return f"{fitted.model} on {fitted.ceilings.device}, {fitted.ceilings.dtype}"


def _truth(fitted: Calibration, look: Theme) -> None:
    frame, error = steps_frame(fitted), fitted.errors()["all"]
    held_out = plural(error.count, "step")
    st.html(
        f"<p>Model {escape(_words(fitted))}: modelled times of {held_out} held out differ from measured ones by "
        f"{percent(error.median)} % in the median. The formula was fitted to {fitted.num_fitted:,} other measured "
        "steps. On the line both agree; in the band they are within 10 %.</p>"
    )
    st.container(width=WIDTH).altair_chart(truth_chart(frame, look), theme=None)
    st.html(f"<h2>Errors by kind of step</h2>{errors_html(fitted)}")
    st.html(f"<h2>Largest errors</h2>{worst_html(frame)}")
    st.html(f"<h2>What it leaves out</h2><p class='mb-watch'>{LEFT_OUT}</p>")


# -- calibrating here -----------------------------------------------------------------------------


def calibrate_bundled(
    *, on_progress: Callable[[Progress], None], should_stop: Callable[[], bool], on_snapshot: Callable[..., None]
) -> list[Recording]:
    """Work for the queue: calibrate the bundled model, and remember it unless it was stopped."""
    # Only the worker imports the engine: opening the app must not import torch.
    from minibatch.engine.step_timing import calibrate

    fitted = calibrate(progress=lambda done: on_progress(Done(round(1000 * done), 1000)), should_stop=should_stop)
    if fitted is not None:
        save_calibration(fitted)
    return []


def _calibration() -> None:
    """The button, or how far the calibration is that it started."""
    ticket: Ticket | None = st.session_state.get(_TICKET)
    if ticket is not None and not ticket.finished:
        _poll(ticket)
        return
    if ticket is not None and ticket.status is JobStatus.FAILED:
        show(Notice(ticket.error, "error"))
    st.button("Calibrate the bundled model on this machine", on_click=_start, key="calibrate")


def _start() -> None:
    st.session_state[_TICKET] = submit(calibrate_bundled)


@st.fragment(run_every=POLL_S)
def _poll(ticket: Ticket) -> None:
    if ticket.finished:
        st.rerun()
    ahead = engine_queue().num_ahead(ticket)
    words = f"Waiting for {plural(ahead, 'other run')}" if ahead else "Measuring steps of the bundled model"
    st.progress(ticket.share_done, words)
    if st.button("Cancel", key="cancel calibration", disabled=ticket.cancelled):
        ticket.cancel()
