"""Measured against modelled steps as a chart, and the same in tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from minibatch.analysis.formats import duration, percent, plural
from minibatch.roofline.calibration_store import Calibration
from minibatch.roofline.step_samples import KINDS
from minibatch.ui.shared.palette import Theme

CLOSE = 0.1
"""Half the width of the band around the diagonal, as a share of the measured time."""

SHAPES = ("circle", "triangle-up", "square")
"""Of decode, prefill and mixed steps, as in the player's roofline."""

NUM_WORST = 5

WIDTH = 720
"""Of the chart, pixels: wider, its diagonal would lie flat."""


def steps_frame(fitted: Calibration) -> pd.DataFrame:
    """A row a step that was held out: its kind and words, milliseconds measured and modelled, and the relative error.

    `error` is modelled / measured - 1.
    """
    rows = []
    for sample, modelled_ns in zip(fitted.held_out, fitted.modelled_ns().tolist(), strict=True):
        rows.append(
            {
                "kind": sample.kind,
                "step": sample.words,
                "measured": sample.measured_ns / 1e6,
                "modelled": modelled_ns / 1e6,
                "error": modelled_ns / sample.measured_ns - 1,
            }
        )
    return pd.DataFrame(rows)


def truth_chart(frame: pd.DataFrame, look: Theme) -> alt.LayerChart:
    """A point a step, log by log, with the line on which both agree and a band of ±10 % around it."""
    low, high = _domain(frame)
    ends = pd.DataFrame({"modelled": [low, high]})
    ends["same"] = ends["modelled"]
    ends["least"], ends["most"] = ends["modelled"] / (1 + CLOSE), ends["modelled"] / (1 - CLOSE)
    scale = alt.Scale(type="log", domain=[low, high], nice=False, clamp=False)
    x = alt.X("modelled:Q", scale=scale, axis=_axis("modelled, ms", titleAnchor="end"))
    up = {"titleAngle": 0, "titleAnchor": "start", "titleAlign": "left", "titleBaseline": "bottom", "titleY": -8}
    axis = _axis("measured, ms", **up)
    lines = alt.Chart(ends)
    band = lines.mark_area(color=look.muted, opacity=0.18, clip=True).encode(
        x, alt.Y("least:Q", scale=scale, axis=axis), alt.Y2("most:Q")
    )
    same = lines.mark_line(color=look.muted, strokeWidth=1, clip=True).encode(x, alt.Y("same:Q", scale=scale))
    colours = [look.phase("decode"), look.phase("prefill"), look.ink]
    points = (
        alt.Chart(frame)
        .mark_point(filled=True, size=look.px(55), opacity=0.85)
        .encode(
            x,
            alt.Y("measured:Q", scale=scale),
            alt.Shape("kind:N", scale=alt.Scale(domain=list(KINDS), range=list(SHAPES)), legend=_legend(look)),
            alt.Color("kind:N", scale=alt.Scale(domain=list(KINDS), range=colours), legend=_legend(look)),
            tooltip=[
                alt.Tooltip("step:N"),
                alt.Tooltip("measured:Q", title="measured, ms", format=".3~r"),
                alt.Tooltip("modelled:Q", title="modelled, ms", format=".3~r"),
                alt.Tooltip("error:Q", title="modelled / measured - 1", format="+.1%"),
            ],
        )
    )
    chart: alt.LayerChart = (
        alt.layer(band, same, points)
        .properties(height=look.px(WIDTH * 0.7), description=_description(frame), background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=look.muted, titleColor=look.ink, gridColor=look.faint, domainColor=look.faint,
            tickColor=look.faint, labelFontSize=look.px(12), titleFontSize=look.px(13), titleFontWeight="normal",
        )
        .configure_legend(labelColor=look.ink, labelFontSize=look.px(13), symbolSize=look.px(70))
    )  # fmt: skip
    return chart


def _domain(frame: pd.DataFrame) -> tuple[float, float]:
    times = np.concatenate([frame["measured"], frame["modelled"]])
    return float(times.min() / 1.3), float(times.max() * 1.3)


def _axis(title: str, **rest: Any) -> alt.Axis:
    return alt.Axis(title=title, format="~r", tickCount=5, labelFlush=False, **rest)


def _legend(look: Theme) -> alt.Legend:
    return alt.Legend(title=None, orient="bottom-right", offset=look.px(12))


def _description(frame: pd.DataFrame) -> str:
    close = int((frame["error"].abs() <= CLOSE).sum())
    return (
        f"Measured against modelled time of {plural(len(frame), 'step')}, both on logarithmic axes. "
        f"{close} of them lie within {CLOSE:.0%} of each other."
    )


def errors_html(fitted: Calibration) -> str:
    """A row a kind of step: how many were held out and how far modelled times are from measured ones."""
    rows = [
        (name, f"{error.count:,}", f"{percent(error.median)} %", f"{percent(error.p90)} %")
        for name, error in fitted.errors().items()
    ]
    caption = (
        f"Errors of modelled against measured time. Repeated measurements of the same step differ by "
        f"{percent(fitted.spread)} % (half the interquartile range, median over steps)."
    )
    return _table(("steps held out", "median error", "90 % of them below"), rows, caption)


def worst_html(frame: pd.DataFrame) -> str:
    """The five steps with the largest errors, what they were, and both times."""
    order = frame["error"].abs().sort_values(ascending=False, kind="stable").index[:NUM_WORST]
    rows = [
        (row["step"], duration(row["measured"] * 1e6), duration(row["modelled"] * 1e6), _signed(row["error"]))
        for _, row in frame.loc[order].iterrows()
    ]
    return _table(("measured", "modelled", "error"), rows, "Modelled / measured - 1, the largest first.")


def _signed(error: float) -> str:
    return f"{'+' if error >= 0 else '−'}{percent(abs(error))} %"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    titles = "".join(f"<th scope='col'>{escape(title)}</th>" for title in head)
    body = "".join(
        f"<tr><th scope='row'>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    return (
        f"<div class='mb-scroll' tabindex='0'><table class='mb-metrics'><caption>{escape(caption)}</caption>"
        f"<thead><tr><th></th>{titles}</tr></thead><tbody>{body}</tbody></table></div>"
    )
