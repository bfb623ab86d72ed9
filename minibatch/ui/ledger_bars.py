"""Where the slots' time went, as one stacked bar a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from minibatch.analysis.formats import duration, percent
from minibatch.analysis.ledger import SLOT_COLUMNS, slot_ledger
from minibatch.analysis.timeline import Timeline
from minibatch.recording.schema import Recording
from minibatch.ui.frame import framed, table
from minibatch.ui.palette import Theme
from minibatch.workload.request import NANOSECONDS

NAMES = {
    "queue": "queue",
    "prefill": "prefill",
    "decode": "decode",
    "preempted": "preempted",
    "stalled": "stalled",
    "padding": "padding",
    "idle_waiting": "idle, requests wait",
    "idle_empty": "idle, nobody waits",
}
"""What each column of a ledger is called."""


def slot_time_rows(recordings: Sequence[Recording]) -> list[dict[str, Any]]:
    """The mean slot's seconds by policy and column; each policy's sum to its run's length."""
    rows = []
    for recording in recordings:
        ledger = slot_ledger(Timeline(recording))
        values = {name: int(ledger[name].sum()) / recording.num_slots for name in SLOT_COLUMNS}
        rows += _stack(recording, values, SLOT_COLUMNS)
    return rows


def ledger_columns(rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """The columns in which any time went, in the order of the bars: what a legend must name."""
    return tuple(name for name in NAMES if any(row["column"] == name for row in rows))


def ledger_chart(rows: Sequence[dict[str, Any]], title: str, theme: Theme) -> alt.LayerChart:
    """Stacked bars on one axis of seconds. `title` names the axis and says measured or modelled."""
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    end = max((row["end"] for row in rows), default=0) or 1.0
    x = alt.X(
        "start:Q",
        scale=alt.Scale(domain=[0, end], nice=False),
        axis=alt.Axis(
            title=title,
            grid=False,
            domain=False,
            tickCount=6,
            labelFlush=True,
            labelExpr="format(datum.value, '~g') + ' s'",
            titleAnchor="start",
        ),
    )
    y = alt.Y(
        "policy:N",
        sort=policies,
        axis=alt.Axis(
            title=None,
            domain=False,
            ticks=False,
            labelFontSize=theme.px(13),
            labelColor=theme.ink,
            labelPadding=8,
        ),
        scale=alt.Scale(paddingInner=0.3, paddingOuter=0.1),
    )
    values = [{**row, "ink": ink_on(theme.phase(row["column"]))} for row in rows]
    base = table(values)
    names = {"policy": "policy", "name": "time", "words": "lasted"}
    tooltip = [alt.Tooltip(f"{field}:N", title=words) for field, words in names.items()]
    fills = alt.Color("column:N", scale=_colours(rows, theme), legend=None)
    bars = base.mark_bar(stroke=theme.surface, strokeWidth=1).encode(
        x=x,
        x2="end",
        y=y,
        color=fills,
        tooltip=tooltip,
    )
    shares = (
        base.transform_filter(
            f"(datum.end - datum.start) * width / {end!r} > {theme.scale!r} * (7 * length(datum.label) + 6)"
        )
        .mark_text(align="left", dx=theme.px(6), fontSize=theme.px(12), fontWeight=600)
        .encode(x=x, y=y, text="label:N", color=alt.Color("ink:N", scale=None), tooltip=tooltip)
    )
    height = theme.px(34) * len(policies) + theme.px(44)
    return framed([bars, shares], height, theme)


def ink_on(fill: str) -> str:
    """Black or white, whichever reads better on `fill`."""
    red, green, blue = (int(fill[i : i + 2], 16) for i in (1, 3, 5))
    return "#111418" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#FFFFFF"


def _stack(recording: Recording, values: dict[str, float], order: Sequence[str]) -> list[dict[str, Any]]:
    rows, start = [], 0.0
    total = sum(values.values())
    for name in order:
        if not values[name]:
            continue
        share = f"{percent(values[name] / total)} %"
        end = start + values[name] / NANOSECONDS
        rows.append(
            {
                "policy": recording.header.policy,
                "column": name,
                "name": NAMES[name],
                "start": start,
                "end": end,
                "label": f"{name.split('_')[0]} {share}",
                "words": f"{duration(values[name])} {recording.header.clock}, {share}",
            }
        )
        start = end
    return rows


def _colours(rows: Sequence[dict[str, Any]], theme: Theme) -> alt.Scale:
    names = ledger_columns(rows)
    return alt.Scale(domain=list(names), range=[theme.phase(name) for name in names])
