"""Published and modelled figures of an experiment as a chart and as a table."""

from __future__ import annotations

from html import escape
from typing import Any

import altair as alt

from minibatch.analysis.formats import NOTHING, three_figures
from minibatch.analysis.registry.claims import standings_explained
from minibatch.analysis.reproduce.result import OFF_EXPLAINED, Chart, Reproduction, ResultRow
from minibatch.ui.load.charts import FONT
from minibatch.ui.player.charts import DASHES
from minibatch.ui.shared.palette import Theme

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
HEIGHT = 320
"""Of curves with their axes, in pixels."""
_LINE = 17
"""Of the legend below them."""
_ROOM = 80
"""Behind the longest bar, for its number."""
WIDTH = 860
"""Of any chart, in pixels."""
_STANDINGS = ("published", "modelled")


def chart_of(found: Reproduction, look: Theme) -> alt.LayerChart:
    """Curves on two logarithmic axes where the experiment has some, else a pair of bars a row."""
    chart = _bars(found, look) if found.chart is None else _curves(found.chart, look)
    configured: alt.LayerChart = (
        chart.properties(description=_description(found), background="transparent")
        .configure(font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=look.muted, titleColor=look.ink, gridColor=look.faint, domainColor=look.faint,
            tickColor=look.faint, labelFontSize=look.px(12), titleFontSize=look.px(13), titleFontWeight="normal",
        )
        .configure_legend(labelColor=look.ink, labelFontSize=look.px(13), labelLimit=0, symbolSize=look.px(80))
    )  # fmt: skip
    return configured


def _curves(chart: Chart, look: Theme) -> alt.LayerChart:
    """Modelled curves are lines with a mark at each run; published figures are larger, hollow marks."""
    labels = {f"{curve.name} ({curve.standing})": curve for curve in chart.curves}
    names = sorted({curve.name for curve in chart.curves})
    place = {label: names.index(curve.name) for label, curve in labels.items()}
    up: dict[str, Any] = {"titleAngle": 0, "titleAnchor": "start", "titleAlign": "left", "titleY": -10}
    scale = alt.Scale(type="log", nice=False, padding=14)
    bottom = alt.Axis(title=chart.x, titleAnchor="end", format="~r", tickCount=6, grid=False)
    x = alt.X("x:Q", scale=scale, axis=bottom)
    y = alt.Y("y:Q", scale=scale, axis=alt.Axis(title=chart.y, format="~r", tickCount=5, **up))
    shapes = alt.Scale(domain=list(labels), range=[SHAPES[place[label] % len(SHAPES)] for label in labels])
    tooltip = [
        alt.Tooltip("curve:N", title=" "),
        alt.Tooltip("x:Q", title=chart.x, format=",.3~r"),
        alt.Tooltip("y:Q", title=chart.y, format=",.3~r"),
    ]

    def source(*chosen: str) -> alt.Chart:
        points = [{"curve": label, "x": x, "y": y} for label in chosen for x, y in labels[label].points]
        return alt.Chart(alt.Data(values=points))

    modelled = [label for label, curve in labels.items() if curve.standing == "modelled"]
    published = [label for label in labels if label not in modelled]
    legend = alt.Legend(title=None, orient="bottom", columns=1, values=modelled)
    shape = alt.Shape("curve:N", scale=shapes, legend=legend)
    lines = [
        source(label)
        .mark_line(color=look.ink, strokeWidth=1.5, strokeDash=list(DASHES[place[label] % len(DASHES)]))
        .encode(x, y)
        for label in modelled
    ]
    runs = source(*modelled).mark_point(filled=True, color=look.ink, opacity=1, size=look.px(50))
    figures = source(*published).mark_point(
        filled=False, color=look.accent, opacity=1, strokeWidth=2, size=look.px(170)
    )
    marks = [marks.encode(x, y, shape, tooltip=tooltip) for marks in (runs, figures)]
    words = source(*published).mark_text(align="right", dx=-14, color=look.ink, fontSize=look.px(12))
    height = look.px(HEIGHT + _LINE * len(modelled))
    return alt.LayerChart(layer=[*lines, *marks, words.encode(x, y, alt.Text("curve:N"))]).properties(height=height)


def _bars(found: Reproduction, look: Theme) -> alt.LayerChart:
    """A pair of bars a row below its name, which a phone has no room for beside them."""
    rows = _compared(found)
    unit = rows[0].unit
    values = [(row.what, row.published.value if row.published else 0.0, row.modelled or 0.0) for row in rows]
    records = [
        {"row": what, "standing": standing, "value": value, "words": f"{three_figures(value)} {unit}"}
        for what, *pair in values
        for standing, value in zip(_STANDINGS, pair, strict=True)
    ]
    names = [{"row": what, "standing": "name"} for what, *_ in values]
    most = max(max(pair) for _, *pair in values)
    scale = alt.Scale(domain=[0, most], range=[0, alt.ExprRef(f"width - {look.px(_ROOM)}")], nice=False)
    y = alt.Y("row:N", sort=[row.what for row in rows], axis=None)
    part = alt.YOffset("standing:N", scale=alt.Scale(domain=["name", *_STANDINGS]))
    x = alt.X("value:Q", scale=scale, axis=alt.Axis(title=unit, titleAnchor="end", tickCount=5, grid=False))
    fill = alt.Color(
        "standing:N",
        scale=alt.Scale(domain=list(_STANDINGS), range=[look.muted, look.accent]),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    base = alt.Chart(alt.Data(values=records)).encode(y, part, x)
    text: dict[str, Any] = {"align": "left", "color": look.ink, "fontSize": look.px(12)}
    layers = [
        base.mark_bar().encode(fill, tooltip=["row:N", "standing:N", "words:N"]),
        base.mark_text(dx=5, **text).encode(alt.Text("words:N")),
        alt.Chart(alt.Data(values=names)).mark_text(**text).encode(y, part, alt.Text("row:N"), x=alt.value(0)),
    ]
    return alt.LayerChart(layer=layers).properties(height=look.px(70 * len(rows) + 70))


def _compared(found: Reproduction) -> list[ResultRow]:
    """The rows with both figures in the unit of the first of them: those that share an axis."""
    both = [row for row in found.rows if row.ratio is not None]
    return [row for row in both if row.unit == both[0].unit]


def _description(found: Reproduction) -> str:
    pairs = [f"{row.what}: published {row.published_words}, modelled {row.modelled_words}" for row in _compared(found)]
    return f"{found.title}. {'; '.join(pairs)}."


def table_html(found: Reproduction) -> str:
    """A row a comparison: published, modelled, and one over the other; its publisher shows on hovering."""
    titles = ("published", "modelled", "modelled / published")
    head = "".join(f"<th scope='col'>{title}</th>" for title in titles)
    body = "".join(_row(row) for row in found.rows)
    sources = dict.fromkeys(
        claim.source_in_words for row in found.rows if row.published for claim in row.published.claims
    )
    caption = f"Published by {'; '.join(sources)}. Modelled on {found.machine}. ● {OFF_EXPLAINED}."
    meant = standings_explained(f"{caption} {' '.join(row.published_words for row in found.rows)}")
    caption = f"{caption} {meant}".strip()
    return (
        "<div class='mb-scroll' tabindex='0'><table class='mb-metrics mb-published'>"
        f"<caption>{escape(caption)}</caption><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: ResultRow) -> str:
    source = f" title='{escape(row.published.source, quote=True)}'" if row.published else ""
    ratio = NOTHING if row.ratio is None else three_figures(row.ratio)
    mark = f"<span title='{OFF_EXPLAINED}'>●</span>" if row.is_off else ""
    return (
        f"<tr><th scope='row'>{escape(row.what)}</th><td{source}>{escape(row.published_words)}</td>"
        f"<td>{escape(row.modelled_words)}</td><td class='{'mb-best' if row.is_off else ''}'>{mark}{ratio}</td></tr>"
    )


def reasons_html(found: Reproduction) -> str:
    """Where figures are more than 30 % apart or missing, and why; what was assumed."""
    verdicts = [(row.what, row.verdict) for row in found.rows if row.verdict]
    said = "".join(f"<li>{escape(what)}: {escape(verdict)}</li>" for what, verdict in verdicts)
    title = "Where they differ by more than 30 %, and what is not modelled"
    differ = f"<h2>{title}</h2><ul>{said}</ul>" if verdicts else "<p>All figures are within 30 % of each other.</p>"
    assumed = "".join(f"<li>{escape(assumption)}</li>" for assumption in found.assumptions)
    return f"{differ}<h2>Assumptions</h2><ul>{assumed}</ul>"
