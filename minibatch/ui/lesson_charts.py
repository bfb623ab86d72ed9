"""Charts of lessons as Vega-Lite: values are computed before, colours and type are left to the page's theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from minibatch.analysis.formats import three_figures
from minibatch.learning.blocks import Block
from minibatch.learning.words import localised

_HEIGHT = 260


def chart_spec(block: Block) -> dict[str, Any]:
    """The spec of a chart block."""
    rows = [{"series": s["name"], "x": x, "y": y} for s in block["series"] for x, y in s["points"]]
    base = alt.Chart(alt.Data(values=rows), width="container", height=_HEIGHT)
    kind = "N" if block["type"] == "bars" else "Q"
    axis = alt.Axis(labelAngle=0) if kind == "N" else alt.Undefined
    x = alt.X(f"x:{kind}", title=block["x"] or None, sort=None, scale=_scale("x" in block["log"], kind), axis=axis)
    y = alt.Y("y:Q", title=block["y"], scale=_scale("y" in block["log"], "Q"))
    several = len(block["series"]) > 1
    if block["type"] == "bars":
        marks = base.mark_bar().encode(x, y)
        if several:
            offset = [s["name"] for s in block["series"]]
            marks = marks.encode(alt.XOffset("series:N", sort=offset), alt.Opacity("series:N", sort=offset, title=None))
    elif block["type"] == "lines":
        marks = base.mark_line(point=True).encode(x, y)
        if several:
            marks = marks.encode(
                alt.StrokeDash(
                    "series:N", sort=None, title=None, legend=alt.Legend(symbolType="stroke", symbolSize=600)
                )
            )
    else:
        marks = base.mark_point(filled=True, size=70).encode(x, y)
        if several:
            marks = marks.encode(alt.Shape("series:N", sort=None, title=None))
    spec: dict[str, Any] = marks.to_dict(validate=False)
    return spec


def chart_table(block: Block, words: Mapping[str, str]) -> dict[str, Any]:
    """The same values as a table, in the language of `words`: the chart's text mirror."""

    def shown(value: float) -> str:
        return localised(three_figures(value), words)

    several = len(block["series"]) > 1
    rows = [
        [*([s["name"]] if several else []), x if isinstance(x, str) else shown(x), shown(y)]
        for s in block["series"]
        for x, y in s["points"]
    ]
    return {"columns": [*([""] if several else []), block["x"] or "", block["y"]], "rows": rows}


def _scale(is_log: bool, kind: str) -> Any:
    return alt.Scale(type="log") if is_log and kind == "Q" else alt.Undefined
