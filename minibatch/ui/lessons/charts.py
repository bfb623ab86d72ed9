"""Charts of lessons as Vega-Lite: values are computed before, colours and type are left to the page's theme."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping
from typing import Any

import altair as alt

from minibatch.analysis.formats import three_figures
from minibatch.learning.blocks import Block
from minibatch.learning.words import localised

_HEIGHT = 260
_DASHES = ((1, 0), (9, 4), (2, 3), (10, 3, 2, 3))
_MOST_TICKS = 8
_CHARACTERS = 36
"""That fit below a chart side by side on a phone."""
_LINE = 18
_BAR, _GAP = 26, 14
"""Heights of a bar that lies, and between groups of them, CSS pixels."""


def chart_spec(block: Block) -> dict[str, Any]:
    """The spec of a chart block."""
    rows = [{"series": s["name"], "x": x, "y": y} for s in block["series"] for x, y in s["points"]]
    base = alt.Chart(alt.Data(values=rows), width="container", height=_HEIGHT)
    make = {"bars": _bars, "lines": _lines, "points": _points}[block["type"]]
    spec: dict[str, Any] = make(base, block, [row["x"] for row in rows], [row["y"] for row in rows]).to_dict(
        validate=False
    )
    return spec


def _bars(base: alt.Chart, block: Block, xs: list[Any], ys: list[float]) -> alt.Chart:
    """Standing, or lying where the names would not fit side by side on a phone."""
    names, series = list(dict.fromkeys(xs)), [s["name"] for s in block["series"]]
    lies = sum(map(len, names)) > _CHARACTERS
    lines = {name: textwrap.wrap(name, _LINE) for name in names}
    labels = alt.Axis(labelAngle=0, labelExpr=f"{json.dumps(lines)}[datum.value]", title=block["x"] or None)
    if lies:
        values = alt.X("y:Q", title=block["y"])
        marks = base.mark_bar().encode(values, alt.Y("x:N", sort=None, axis=labels))
        marks = marks.properties(height=_BAR * len(xs) + _GAP * len(names))
    else:
        marks = base.mark_bar().encode(alt.X("x:N", sort=None, axis=labels), _y(block, ys))
    if len(series) < 2:
        return marks
    offset = alt.YOffset("series:N", sort=series) if lies else alt.XOffset("series:N", sort=series)
    return marks.encode(offset, alt.Opacity("series:N", sort=series, title=None))


def _lines(base: alt.Chart, block: Block, xs: list[Any], ys: list[float]) -> alt.Chart:
    """A dash and a shade for each series, both in the legend."""
    marks = base.mark_line(point=True).encode(_x(block, xs), _y(block, ys))
    if len(block["series"]) < 2:
        return marks
    legend = alt.Legend(title=None, symbolType="M-1,0L1,0", symbolSize=500)
    dashes = alt.Scale(range=[list(dash) for dash in _DASHES])
    return marks.encode(
        alt.StrokeDash("series:N", sort=None, scale=dashes, legend=legend),
        alt.Color("series:N", sort=None, legend=legend),
    )


def _points(base: alt.Chart, block: Block, xs: list[Any], ys: list[float]) -> alt.Chart:
    marks = base.mark_point(filled=True, size=70).encode(_x(block, xs), _y(block, ys))
    if len(block["series"]) < 2:
        return marks
    return marks.encode(alt.Shape("series:N", sort=None, title=None), alt.Color("series:N", sort=None, title=None))


def _x(block: Block, xs: list[float]) -> alt.X:
    scale, axis = _axis("x" in block["log"], xs)
    return alt.X("x:Q", title=block["x"] or None, scale=scale, axis=axis)


def _y(block: Block, ys: list[float]) -> alt.Y:
    scale, axis = _axis("y" in block["log"], ys)
    return alt.Y("y:Q", title=block["y"], scale=scale, axis=axis)


def _axis(is_log: bool, values: list[float]) -> tuple[Any, Any]:
    """Scale and axis of a channel; logarithmic ones end at 1, 2 or 5 times a power of ten."""
    if not is_log:
        return alt.Undefined, alt.Undefined
    ticks = log_ticks(min(values), max(values))
    scale = alt.Scale(type="log", domain=[ticks[0], ticks[-1]], nice=False)
    labelled = ticks if len(ticks) <= _MOST_TICKS else [tick for tick in ticks if math.log10(tick) % 1 < 1e-9]
    return scale, alt.Axis(values=labelled)


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten, from the last that is not above `low` to the first that is not below `high`."""
    steps = [
        float(f"{digit}e{power}")
        for power in range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 2)
        for digit in (1, 2, 5)
    ]
    first = max(step for step in steps if step <= low)
    last = min(step for step in steps if step >= high and step > first)
    return [step for step in steps if first <= step <= last]


def chart_table(block: Block, words: Mapping[str, str]) -> dict[str, Any]:
    """The same values as a table, in the language of `words`: the chart's text mirror."""
    several = len(block["series"]) > 1
    rows = [
        [
            *([s["name"]] if several else []),
            x if isinstance(x, str) else localised(_place(x), words),
            localised(three_figures(y), words),
        ]
        for s in block["series"]
        for x, y in s["points"]
    ]
    return {"columns": [*([""] if several else []), block["x"] or "", block["y"]], "rows": rows}


def _place(x: float) -> str:
    """Where a value stands: a whole number is a setting or a count, and nothing of it is rounded."""
    return f"{x:,.0f}" if x == int(x) else three_figures(x)
