"""The page "Load": one workload at load after load, where each policy's knee is, and what binds past it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from minibatch.analysis.formats import plural
from minibatch.analysis.registry.claims import standings_explained
from minibatch.analysis.slo import Slo
from minibatch.analysis.sweeps.curves import Curve, curves_of
from minibatch.analysis.sweeps.file import SweepRow
from minibatch.ui.load.charts import PICK, sweep_chart
from minibatch.ui.load.form import SweepForm, sweep_form
from minibatch.ui.load.job import Memory, Sweep, remembered
from minibatch.ui.load.panels import FIRST, PANELS, Panel, preempted
from minibatch.ui.load.plan import SweepPlan
from minibatch.ui.load.point import pick, point_section
from minibatch.ui.load.search import frontier_section
from minibatch.ui.load.slo import slo_form
from minibatch.ui.load.source import open_sweep
from minibatch.ui.load.tables import alerts_html, alerts_of, alerts_title, knees_html, points_html
from minibatch.ui.load.takeaway import take_away
from minibatch.ui.shared.engine_queue import POLL_S, engine_queue, submit
from minibatch.ui.shared.jobs import JobStatus, Ticket
from minibatch.ui.shared.notices import Notice, show
from minibatch.ui.shared.palette import Theme, theme
from minibatch.ui.shared.style import show_style
from minibatch.workload.demand import Load

NO_SWEEP = Notice("Choose a workload in the sidebar and press Run.", "note")
NO_FILE = Notice("Choose a file of a sweep in the sidebar.", "note")
NOTHING_DONE = Notice("The sweep was cancelled before a point was done.", "note")
_SWEEP, _TICKET, _MEMORY = "sweep", "sweep ticket", "sweep memory"


def page() -> None:
    """Draw the page."""
    look = theme(st.context.theme.type)
    show_style(look)
    st.html("<h1 class='mb-brand'>Minibatch</h1>")
    st.html(
        "<div class='mb-head'><h1>Load</h1><p class='mb-watch'>The same requests at increasing load: where each "
        "policy stops keeping up, what limits it there, and how much of what it serves meets the SLO.</p></div>"
    )
    form = sweep_form()
    if form.problem:
        show(form.problem)
    if form.wants_file:
        _file(form, look)
    else:
        _new(form, look)


def _file(form: SweepForm, look: Theme) -> None:
    if form.upload is None:
        show(NO_FILE)
        return
    try:
        sweep = open_sweep(*form.upload)
    except (ValueError, OSError) as error:
        show(Notice(str(error), "warning"))
        return
    _results(sweep, look)


def _new(form: SweepForm, look: Theme) -> None:
    if form.pressed:
        if form.plan is None:
            show(Notice(form.rejection, "error"))
        else:
            _submit(form.plan)
    sweep: Sweep | None = st.session_state.get(_SWEEP)
    ticket: Ticket | None = st.session_state.get(_TICKET)
    if sweep is None:
        if not form.pressed:
            show(NO_SWEEP)
        return
    if ticket is not None and not ticket.finished:
        _poll(sweep, ticket, look)
        return
    if ticket is not None and ticket.status is JobStatus.FAILED:
        show(Notice(ticket.error, "error"))
    found = len(sweep.found)
    if found < len(sweep.points) and found:
        show(Notice(f"{found} of {len(sweep.points)} points are done; Run computes the rest.", "note"))
    if found:
        _results(sweep, look)
    elif ticket is None or ticket.status is not JobStatus.FAILED:
        show(NOTHING_DONE)


def _submit(plan: SweepPlan) -> None:
    """Run what this session has not run yet."""
    latest: Ticket | None = st.session_state.pop(_TICKET, None)
    if latest:
        latest.cancel()
    memory: Memory = st.session_state.setdefault(_MEMORY, {})
    sweep = st.session_state[_SWEEP] = remembered(memory, plan.spec, plan.points)
    if sweep.missing:
        st.session_state[_TICKET] = submit(sweep)


@st.fragment(run_every=3 * POLL_S)
def _poll(sweep: Sweep, ticket: Ticket, look: Theme) -> None:
    """A sweep in progress, and what is known until now."""
    if ticket.finished:
        st.rerun()
    ahead, progress = engine_queue().num_ahead(ticket), ticket.progress
    if ahead:
        words = f"Waiting for {ahead} other {'run' if ahead == 1 else 'runs'}"
    elif progress is None:
        words = "Getting ready"
    else:
        words = f"{progress.num_finished} of {progress.num_requests} points"
    if ticket.cancelled:
        words = f"Cancelling: {words}, those that have begun will finish"
    st.progress(ticket.share_done, words)
    st.button("Cancel", key="cancel sweep", disabled=ticket.cancelled, on_click=ticket.cancel)
    if sweep.found:
        _results(sweep, look, live=True)


# -- what it came to ------------------------------------------------------------------------------


def _results(sweep: Sweep, look: Theme, live: bool = False) -> None:
    rows = _of_one_kind(sweep.found)
    st.html(f"<p class='mb-of'>{escape(modelled_on(sweep, rows))}</p>")
    slo, share = slo_form(sweep.slo)
    try:
        curves = curves_of(rows, slo)
    except ValueError as error:
        show(Notice(f"These points make no curve: {error}.", "warning"))
        return
    loads = [point.load.value for point in sweep.points if _kind(point.load) == _kind(rows[0].load)]
    _charts(f"{sweep.key} {[row.key for row in rows]}", curves, loads, slo, look, live)
    if live:
        return
    point_section(sweep, curves, look)
    st.html(f"<h2>Where it ends, and why</h2>{knees_html(curves)}")
    frontier_section(sweep, curves, slo, share)
    if found := alerts_of(curves, slo):
        title = alerts_title(found, sum(len(curve.rows) for curve in curves))
        st.html("<h2>Alerts</h2>")
        st.expander(title).html(alerts_html(found))
    st.html("<h2>Every point</h2>")
    st.html(points_html(curves, slo))
    take_away(sweep, slo)


def _of_one_kind(rows: Sequence[SweepRow]) -> list[SweepRow]:
    """Rows with one axis of load: a file may hold several."""
    kinds = list(dict.fromkeys(_kind(row.load) for row in rows))
    if len(kinds) == 1:
        return list(rows)
    chosen = st.selectbox("Load", kinds, key="sweep kind of load", persist_state="session")
    return [row for row in rows if _kind(row.load) == chosen]


def _kind(load: Load) -> str:
    """What loads of one axis have in common."""
    if load.kind == "users":
        return f"users, think time {load.think_s:g} s"
    return f"requests/s, burstiness {load.burstiness:g}"


def modelled_on(sweep: Sweep, rows: Sequence[SweepRow]) -> str:
    """What all numbers are of."""
    spec, config = sweep.spec, rows[0].config
    knobs = ", ".join(
        f"{name} {getattr(config, name):,}"
        for name in ("max_num_seqs", "max_num_batched_tokens", "num_kv_blocks")
        if len({getattr(row.config, name) for row in rows}) == 1
    )
    count = plural(len(spec.demand.prompt_tokens), "request")
    served = spec.demand.words if count in spec.demand.words else f"{count}, {spec.demand.words}"
    return (
        f"All numbers modelled on {spec.ceilings.device}, model {spec.model} in {spec.ceilings.dtype}: "
        f"at every load {served}, seed {spec.seed}; {knobs}. {standings_explained(spec.ceilings.device)}".strip()
    )


def _charts(
    key: str, curves: Sequence[Curve], loads: Sequence[float], slo: Slo | None, look: Theme, live: bool
) -> None:
    offered = [panel for panel in PANELS if slo or panel.name not in ("goodput", "SLO met")]
    names = [panel.name for panel in offered]
    # Where many are preempted, that is what there is to see.
    thrashes = any((preempted(row) or 0.0) >= 1 for curve in curves for row in curve.rows)
    first = (*FIRST, "preempted", "KV") if thrashes else FIRST
    chosen = st.pills(
        "Charts", names, selection_mode="multi", default=[name for name in first if name in names],
        key=f"sweep charts {slo is not None} {thrashes}", persist_state="session",
    )  # fmt: skip
    shown = [panel for panel in offered if panel.name in chosen]
    for left in range(0, len(shown), 2):
        for column, panel in zip(st.columns(2), shown[left : left + 2], strict=False):
            with column:
                spec = _spec(f"{key} {slo} {panel.name} {live}", look, curves, panel, slo, loads, not live)
                _chart(spec, panel, live)


def _chart(spec: dict[str, Any], panel: Panel, live: bool) -> None:
    if live:
        st.vega_lite_chart(spec, theme=None, key=f"sweep live {panel.name}")
        return
    widget = f"sweep chart {panel.name}"
    st.vega_lite_chart(spec, theme=None, key=widget, on_select=partial(pick, widget), selection_mode=PICK)


@st.cache_data(max_entries=64, show_spinner=False)
def _spec(
    key: str,
    look: Theme,
    _curves: Sequence[Curve],
    _panel: Panel,
    _slo: Slo | None,
    _loads: Sequence[float],
    _knees: bool,
) -> dict[str, Any]:
    """A chart takes a tenth of a second to write down."""
    spec: dict[str, Any] = sweep_chart(_curves, _panel, look, _slo, _loads, _knees).to_dict(validate=False)
    return spec
