"""The charts of a sweep: one number against the load, a line a policy, on one axis of load for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from minibatch.analysis.formats import three_figures
from minibatch.analysis.slo import Slo
from minibatch.analysis.sweeps.curves import Curve
from minibatch.ui.load.panels import THROUGHPUT, Panel, name_of, unit_of
from minibatch.ui.player.charts import DASHES
from minibatch.ui.shared.palette import Theme

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
PICK = "pick"
"""The selection of a chart: `curve` and `load` of the point that was clicked."""
HEIGHT, AROUND, MARGIN = 220, 85, 110
"""Of a plot, what title and axis add to it, and what the names of its lines take of its width, in pixels."""
FONT = "Source Sans, sans-serif"
"""The page's own."""
_LINE = 14
"""From one name to the next, at the least."""

Record = dict[str, Any]


def sweep_chart(
    curves: Sequence[Curve], panel: Panel, look: Theme, slo: Slo | None, loads: Sequence[float], knees: bool = True
) -> alt.LayerChart:
    """The chart of a panel.

    Args:
        loads: of the whole sweep, however far it is: the axis of all its charts.
        knees: mark them; of a sweep in progress they are unknown.
    """
    records = _records(curves, panel)
    against = _against(curves, panel, slo, loads)
    low, high = value_domain([*records, *against], panel)
    scale = alt.Scale(type=panel.scale, domain=[low, high], nice=False)
    ticks = {"values": log_ticks(low, high)} if panel.scale == "log" else {"tickCount": 5}
    y = alt.Y("value:Q", scale=scale, axis=_axis(format=",.9~g", minExtent=50, maxExtent=50, **ticks))
    x = _load_axis(unit_of(curves[0].rows), loads)
    policies = list(dict.fromkeys(curve.policy for curve in curves))
    dash = _told_apart(alt.StrokeDash, policies, [list(each) for each in DASHES])
    shape = _told_apart(alt.Shape, policies, list(SHAPES))
    base = alt.Chart(alt.Data(values=records))
    layers = [
        *_behind(against, look, x, y),
        base.mark_line(color=look.ink).encode(
            x, y, dash, detail="curve:N", order="load:Q",
            strokeWidth=alt.StrokeWidth("weight:Q", scale=None, legend=None),
        ),
        base.mark_point(filled=True, color=look.ink, size=60, opacity=1, cursor="pointer")
        .encode(x, y, shape, tooltip=_tooltip(curves, panel))
        .add_params(alt.selection_point(name=PICK, fields=["curve", "load"], on="click", empty=False)),
    ]  # fmt: skip
    if knees:
        ring = alt.Chart(alt.Data(values=[record for record in records if record["knee"]]))
        # For screen readers the knees stand in words; a mark without a point would have no name at all.
        marked = ring.mark_point(size=230, color=look.accent, strokeWidth=2, filled=False, aria=False)
        layers.append(marked.encode(x, y))
    ends = alt.Chart(alt.Data(values=_ends([*records, *against], panel, low, high)))
    layers.append(
        ends.mark_text(align="left", baseline="middle", dx=10, fontSize=13, limit=MARGIN - 12).encode(
            x, y, alt.Text("curve:N"), color=alt.condition("datum.against", alt.value(look.accent), alt.value(look.ink))
        )
    )
    title = alt.TitleParams(
        f"{panel.title} (modelled)", anchor="start", frame="group", color=look.ink, fontSize=15, fontWeight=600,
        offset=10,
    )  # fmt: skip
    chart = alt.LayerChart(layer=layers).properties(
        height=HEIGHT + AROUND, title=title, description=_description(curves, panel), background="transparent",
    )  # fmt: skip
    configured: alt.LayerChart = chart.configure(font=FONT).configure_view(stroke=None).configure_axis(
        labelColor=look.muted, titleColor=look.muted, gridColor=look.faint, domainColor=look.faint,
        tickColor=look.faint, labelFontSize=13, titleFontSize=13, titleFontWeight="normal", gridOpacity=0.6,
    )  # fmt: skip
    return configured


def load_domain(loads: Sequence[float]) -> tuple[float, float]:
    """The axis of all charts, so that they can be read one below the other."""
    return min(loads) / 1.12, max(loads) * 1.12


def value_domain(records: Sequence[Record], panel: Panel) -> tuple[float, float]:
    """From below the lowest value to above the highest, or from 0."""
    values = [record["value"] for record in records if record["value"] is not None]
    if panel.scale == "linear":
        return 0.0, panel.most or 1.08 * max(values, default=0.0) or 1.0
    return min(values, default=1.0) / 1.3, 1.3 * max(values, default=10.0)


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, and 2 and 5 of each where there are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 1000 else (1,)
    return [tick for power in powers for step in steps if low <= (tick := float(f"{step}e{power}")) <= high]


def _records(curves: Sequence[Curve], panel: Panel) -> list[Record]:
    weights = _weights(curves)
    records = []
    for curve in curves:
        for place, row in enumerate(curve.rows):
            value = panel.value(curve, place)
            if value is not None and panel.scale == "log" and value <= 0:
                value = None
            records.append(
                {
                    "curve": name_of(curve),
                    "policy": curve.policy,
                    "load": row.load.value,
                    "value": value,
                    "words": three_figures(value),
                    "weight": weights[name_of(curve)],
                    "knee": place == curve.knee.index and value is not None,
                }
            )
    return records


def _weights(curves: Sequence[Curve]) -> dict[str, float]:
    """Widths of the lines: of one policy the heavier, the later its knobs come."""
    count: dict[str, int] = {}
    weights = {}
    for curve in curves:
        count[curve.policy] = count.get(curve.policy, 0) + 1
        weights[name_of(curve)] = 0.8 + 0.7 * count[curve.policy]
    return weights


def _against(curves: Sequence[Curve], panel: Panel, slo: Slo | None, loads: Sequence[float]) -> list[Record]:
    """The line that the others are held against: all that is offered, or a limit."""
    limit = getattr(slo, panel.limit) if slo and panel.limit else None
    if panel.name == THROUGHPUT and unit_of(curves[0].rows) == "requests/s":
        # Served and offered are counted over the same arrivals: by chance a run may have more or fewer than its rate.
        rows = max((curve.rows for curve in curves), key=len)
        values = {row.load.value: float(row.metrics["offered"] or row.load.value) for row in rows}
        name = "offered"
    elif limit is not None:
        values, name = dict.fromkeys(load_domain(loads), limit), f"SLO {limit:,g} ms"
    else:
        return []
    return [{"curve": name, "load": load, "value": value, "against": True} for load, value in values.items()]


def _behind(against: list[Record], look: Theme, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    line = alt.Chart(alt.Data(values=against)).mark_line(color=look.accent, strokeWidth=1)
    return [line.encode(x, y)] if against else []


def _ends(records: Sequence[Record], panel: Panel, low: float, high: float) -> list[Record]:
    """Where each line's name stands: at its end, or as near as the others leave room."""

    def up(value: float) -> float:
        if panel.scale == "linear":
            return HEIGHT * (value - low) / (high - low)
        return HEIGHT * math.log(value / low) / math.log(high / low)

    def down(pixels: float) -> float:
        share = pixels / HEIGHT
        return low + share * (high - low) if panel.scale == "linear" else low * (high / low) ** share

    last = {record["curve"]: record for record in records if record["value"] is not None}
    end = max((record["load"] for record in last.values()), default=1.0)
    rising = sorted(last.values(), key=lambda record: record["value"])
    places: list[float] = []
    for record in rising:
        places.append(max(up(record["value"]), places[-1] + _LINE if places else 0.0))
    above = HEIGHT + _LINE / 2
    for place in reversed(range(len(places))):  # and back down, where they would stand above the plot
        places[place] = min(places[place], above - _LINE)
        above = places[place]
    return [{**record, "value": down(place), "load": end} for record, place in zip(rising, places, strict=True)]


def _load_axis(unit: str, loads: Sequence[float]) -> alt.X:
    title = "offered, requests/s" if unit == "requests/s" else unit
    return alt.X(
        "load:Q",
        scale=alt.Scale(
            type="log", domain=list(load_domain(loads)), range=[0, alt.ExprRef(f"width - {MARGIN}")], nice=False
        ),
        axis=_axis(
            values=sorted(set(loads)), format="~g", title=title, titleAnchor="end", grid=False, labelOverlap="greedy"
        ),
    )


def _axis(**given: Any) -> alt.Axis:
    return alt.Axis(**{"title": None, "labelFlush": False, "domain": False, "ticks": False, "labelPadding": 6, **given})


def _told_apart(channel: Any, policies: Sequence[str], looks: Sequence[Any]) -> Any:
    """Policies by pattern or shape: colour belongs to requests."""
    some = [looks[place % len(looks)] for place in range(len(policies))]
    return channel("policy:N", scale=alt.Scale(domain=list(policies), range=some), legend=None)


def _tooltip(curves: Sequence[Curve], panel: Panel) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("curve:N", title="policy"),
        alt.Tooltip("load:Q", title=unit_of(curves[0].rows), format="~g"),
        alt.Tooltip("words:N", title=panel.title),
    ]


def _description(curves: Sequence[Curve], panel: Panel) -> str:
    ends = (
        f"{name_of(curve)} from {three_figures(panel.value(curve, 0))} to "
        f"{three_figures(panel.value(curve, len(curve.rows) - 1))}"
        for curve in curves
    )
    return f"{panel.title}, against {unit_of(curves[0].rows)}, lowest to highest load: {'; '.join(ends)}. All modelled."
