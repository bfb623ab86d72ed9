"""The charts beside the lanes, as Vega-Lite without data: the browser fills them from the recordings.

A spec is the same for every recording and theme, so that it is sent once. What differs is filled in by
assets/player/charts/plot.js: rows of the named sources, values of the parameters, `{words}` in titles,
and the look of each named style. Points and lines that move with the playhead are drawn over the chart.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import altair as alt

KINDS = ("decode", "prefill", "mixed")
SHAPES = ("circle", "triangle-up", "square")

DASHES = ((1, 0), (7, 3), (2, 2), (10, 3, 2, 3), (4, 4))
"""Of the lines of up to five runs: policies are told apart by name and pattern, colour belongs to requests."""


@cache
def chart_specs() -> dict[str, dict[str, Any]]:
    """The charts by name: "roofline", "tokens" and "durations".

    Not validated here, where the first visitor waits: the tests do that.
    """
    charts = {"roofline": _roofline(), "tokens": _tokens(), "durations": _durations()}
    return {name: chart.to_dict(validate=False) for name, chart in charts.items()}


def _roofline() -> alt.LayerChart:
    """What each iteration asks of the machine, and what it gets, under the two ceilings."""
    x = alt.X(
        "intensity:Q",
        scale=_scale("x", "log"),
        axis=_x_axis("intensity, FLOP/byte (counted)", values=alt.ExprRef("x_ticks"), format="~r"),
    )
    y = alt.Y(
        "gflops:Q",
        scale=_scale("y", "log"),
        axis=_y_axis("FLOP/s ({clock})", values=alt.ExprRef("y_ticks"), labelExpr="format(datum.value * 1e9, '~s')"),
    )
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=list(KINDS), range=list(SHAPES)), legend=None)
    layers = [
        _source("points").mark_point(style="iteration", filled=True).encode(x, y, shape),
        _source("ridges").mark_rule(style="ridge").encode(x, y, y2="top:Q"),
        _source("roofs").mark_line(style="roof", clip=True).encode(x, y, detail="roof:N", order="intensity:Q"),
    ]
    return _layered(layers, "x_ticks", "y_ticks")


def _tokens() -> alt.LayerChart:
    """Tokens written by every run until each moment."""
    dash = alt.StrokeDash(
        "run:O",
        scale=alt.Scale(domain=list(range(len(DASHES))), range=[list(dash) for dash in DASHES]),
        legend=None,
    )
    x = alt.X("x:Q", scale=_scale("x"), axis=_x_axis("{axis}", tickCount=6, format=",.9~g"))
    y = alt.Y("tokens:Q", scale=_scale("y"), axis=_y_axis("tokens", values=alt.ExprRef("y_ticks"), format=",d"))
    return _layered([_source("written").mark_line(style="whole").encode(x, y, dash, order="x:Q")], "y_ticks")


def _durations() -> alt.LayerChart:
    """How long each iteration of one run takes, and the part of it that stalls somebody."""
    x = alt.X("x:Q", scale=_scale("x"), axis=_x_axis("{axis}", tickCount=6, format=",.9~g"))
    y = alt.Y("ms:Q", scale=_scale("y"), axis=_y_axis("ms ({clock})", tickCount=4, format=",.9~g"))
    steps = _source("steps")
    return _layered(
        [
            steps.mark_bar(style="step").encode(x, y, x2="x2:Q", y2=alt.datum(0)),
            steps.mark_bar(style="stall").encode(x, y, x2="x2:Q", y2="unstalled:Q"),
        ]
    )


def _source(name: str) -> alt.Chart:
    return alt.Chart(alt.Data(name=name))


def _scale(axis: str, kind: Literal["linear", "log"] = "linear") -> alt.Scale:
    """A scale whose domain is the parameter `x_domain` or `y_domain`."""
    return alt.Scale(type=kind, domain=alt.ExprRef(f"{axis}_domain"), nice=False)


def _x_axis(title: str, **rest: Any) -> alt.Axis:
    return alt.Axis(title=title, titleAnchor="end", labelFlush=False, **rest)


def _y_axis(title: str, **rest: Any) -> alt.Axis:
    """An axis with its title above it, where it reads without turning the head."""
    return alt.Axis(title=title, titleAngle=0, titleAnchor="start", titleAlign="left", titleBaseline="bottom", **rest)


def _layered(layers: list[alt.Chart], *ticks: str) -> alt.LayerChart:
    """Layers as a chart that keeps its margins, so that charts above each other share their axis."""
    params = [alt.param(name=name, value=[1, 10]) for name in ("x_domain", "y_domain", *ticks)]
    return alt.LayerChart(layer=layers, autosize="none").add_params(*params)
