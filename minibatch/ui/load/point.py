"""One point of a sweep in the player: run once more with all its iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from minibatch.analysis.formats import plural
from minibatch.analysis.sweeps.curves import Curve
from minibatch.analysis.sweeps.file import SweepRow
from minibatch.engine.sweep import Point, SweepSpec
from minibatch.recording.schema import Recording
from minibatch.ui.load.charts import PICK
from minibatch.ui.load.job import Record, Sweep
from minibatch.ui.load.panels import name_of, unit_of
from minibatch.ui.player.component import show_player
from minibatch.ui.player.payload import pack
from minibatch.ui.shared.engine_queue import POLL_S, engine_queue, submit
from minibatch.ui.shared.jobs import JobStatus, Ticket
from minibatch.ui.shared.notices import Notice, show
from minibatch.ui.shared.palette import Theme

MOST_ITERATIONS, MOST_REQUESTS = 20_000, 3_000
"""Of a recording that the player takes in a breath."""
_CHOSEN, _FIRST, _TICKET = "sweep point", "sweep first requests", "sweep record"


def pick(key: str) -> None:
    """Note the point that was clicked in the chart called `key`."""
    if picked := st.session_state[key].selection[PICK]:
        _choose(str(picked[0]["curve"]), float(picked[0]["load"]))


def _choose(curve: str, load: float) -> None:
    st.session_state[_CHOSEN] = (curve, load)
    st.session_state[_FIRST] = False


def _take_first() -> None:
    st.session_state[_FIRST] = True


def point_section(sweep: Sweep, curves: Sequence[Curve], look: Theme) -> None:
    """The choice of a point without clicking one, and its player."""
    st.caption("A ring marks the knee of a line. Click a point to play its run, or choose it here.")
    names = {name_of(curve): curve for curve in curves}
    left, middle, right = st.columns((2, 1, 1), vertical_alignment="bottom")
    name = left.selectbox("Policy", list(names), index=len(names) - 1, key="sweep curve", persist_state="session")
    loads, knee = [row.load.value for row in names[name].rows], names[name].knee.index
    load = middle.selectbox(
        unit_of(names[name].rows), loads, index=len(loads) - 1 if knee is None else knee, format_func="{:g}".format,
        key=f"sweep load {name}",
    )  # fmt: skip
    if right.button("Open in the player", key="open point", width="stretch"):
        _choose(name, load)
    chosen = st.session_state.get(_CHOSEN)
    row = None if chosen is None else _row(names.get(chosen[0]), chosen[1])
    if row is not None:
        _open(sweep.spec, row, look)


def _row(curve: Curve | None, load: float) -> SweepRow | None:
    rows = [] if curve is None else [row for row in curve.rows if row.load.value == load]
    return rows[0] if rows else None


def _open(spec: SweepSpec, row: SweepRow, look: Theme) -> None:
    point = Point(row.policy, row.load, row.config)
    requests, iterations = len(spec.demand.prompt_tokens), int(row.metrics["num_iterations"] or 0)
    if iterations > MOST_ITERATIONS or requests > MOST_REQUESTS:
        first = first_requests(requests, iterations)
        if not st.session_state.get(_FIRST):
            which, long = f"{point.policy} at {point.load.value:g} {unit_of([row])}", plural(iterations, "iteration")
            words = f"{which} takes {long} for {plural(requests, 'request')}, too many to play: see its beginning."
            show(Notice(words, "note"))
            st.button(f"Open the first {plural(first, 'request')}", on_click=_take_first, key="open first")
            return
        spec = shortened(spec, first)
    _play(spec, point, unit_of([row]), look)


def first_requests(requests: int, iterations: int) -> int:
    """How many of the first requests the player takes well: with half of what it could, for the run thins out late."""
    most = min(requests, MOST_REQUESTS)
    return max(1, most if not iterations else min(most, requests * MOST_ITERATIONS // (2 * iterations)))


def shortened(spec: SweepSpec, num_requests: int) -> SweepSpec:
    """The spec with its first requests alone."""
    return replace(spec, demand=spec.demand.first(num_requests))


def _play(spec: SweepSpec, point: Point, unit: str, look: Theme) -> None:
    """The player, or how it comes to be."""
    work, title = Record(spec, point), f"{point.policy} at {point.load.value:g} {unit}"
    known, ticket = st.session_state.get(_TICKET, (None, None))
    if known != work:
        ticket = submit(work)
        st.session_state[_TICKET] = (work, ticket)
    if not ticket.finished:
        _poll(ticket)
    elif ticket.status is JobStatus.FAILED:
        show(Notice(ticket.error, "error"))
    elif ticket.recordings:
        show_player(_packed(ticket.key, title, ticket.recordings[0], look.scale), "sweep player")


@st.cache_resource(max_entries=4, show_spinner=False)
def _packed(key: str, title: str, _recording: Recording, scale: float) -> bytes:
    return pack([_recording], {"id": key, "scale": scale, "autoplay": True, "reveal": True, "title": title})


@st.fragment(run_every=POLL_S)
def _poll(ticket: Ticket) -> None:
    if ticket.finished:
        st.rerun()
    st.progress(0.0, "Waiting for another run" if engine_queue().num_ahead(ticket) else "Recording every iteration")
