"""The roofline: what each iteration asked of the machine, and what it got."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from minibatch.analysis.formats import three_figures
from minibatch.analysis.timeline import Timeline
from minibatch.recording.schema import Phase, Recording
from minibatch.ui.frame import framed, table
from minibatch.ui.palette import Theme

KINDS = ("decode", "prefill", "mixed")
SHAPES = ("circle", "triangle-up", "square")


@dataclass(frozen=True, slots=True)
class Limits:
    """The axes that the charts of several recordings share: FLOP/byte and GFLOP/s, low and high."""

    intensity: tuple[float, float]
    gflops: tuple[float, float]


def roofline_points(recording: Recording) -> list[dict[str, Any]]:
    """One point an iteration that computed anything: intensity, GFLOP/s achieved, and its kind."""
    timeline, columns = Timeline(recording), recording.iterations
    moved = columns["bytes_weights"] + columns["bytes_kv"] + columns["bytes_activations"]
    flops, time_ns = columns["flops"], columns["executor_ns"]
    prefill, decode = timeline.tokens_of(Phase.PREFILL), timeline.tokens_of(Phase.DECODE)
    points = []
    for i in np.flatnonzero((flops > 0) & (moved > 0) & (time_ns > 0)).tolist():
        kind = "mixed" if prefill[i] and decode[i] else "prefill" if prefill[i] else "decode"
        points.append(
            {
                "intensity": float(f"{flops[i] / moved[i]:.4g}"),
                "gflops": float(f"{flops[i] / time_ns[i]:.4g}"),
                "kind": kind,
                "iteration": i,
                "tokens": int(prefill[i] + decode[i]),
            }
        )
    return points


def limits(recordings: Sequence[Recording]) -> Limits | None:
    """Axes that hold every point and the ridge of every recording; None if none computed anything."""
    points = [point for recording in recordings for point in roofline_points(recording)]
    if not points:
        return None
    intensity = [point["intensity"] for point in points]
    gflops = [point["gflops"] for point in points]
    for recording in recordings:
        if ceilings := recording.header.ceilings:
            intensity.append(ceilings["flops_per_s"] / ceilings["bytes_per_s"] * 2)
            gflops.append(ceilings["flops_per_s"] / 1e9 * 1.5)
    return Limits((min(intensity) / 1.5, max(intensity) * 1.5), (min(gflops) / 1.5, max(gflops) * 1.1))


def roofline_chart(recording: Recording, shared: Limits, theme: Theme) -> alt.LayerChart:
    """One recording's iterations under the ceilings of its device, where those are known."""
    x = alt.X(
        "intensity:Q",
        scale=alt.Scale(type="log", domain=list(shared.intensity), nice=False),
        axis=alt.Axis(title="intensity, FLOP/byte (counted)", values=_decades(shared.intensity), format="~g"),
    )
    y = alt.Y(
        "gflops:Q",
        scale=alt.Scale(type="log", domain=list(shared.gflops), nice=False),
        axis=alt.Axis(title=f"GFLOP/s ({recording.header.clock})", values=_decades(shared.gflops), format="~g"),
    )
    points = (
        table(roofline_points(recording))
        .mark_point(filled=True, size=theme.px(26), opacity=0.5, color=theme.accent, strokeWidth=0)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("kind:N", scale=alt.Scale(domain=list(KINDS), range=list(SHAPES)), legend=None),
            tooltip=[
                alt.Tooltip("iteration:Q", title="iteration"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("tokens:Q", format=","),
                alt.Tooltip("intensity:Q", title="FLOP/byte", format=".3"),
                alt.Tooltip("gflops:Q", title=f"GFLOP/s {recording.header.clock}", format=".3"),
            ],
        )
    )
    layers = [*_ceilings(recording, shared, x, y, theme), points]
    return framed(layers, theme.px(250), theme)


def _ceilings(recording: Recording, shared: Limits, x: alt.X, y: alt.Y, theme: Theme) -> list[alt.Chart]:
    ceilings = recording.header.ceilings
    if not ceilings:
        return []
    peak, bandwidth = ceilings["flops_per_s"] / 1e9, ceilings["bytes_per_s"] / 1e9
    ridge = peak / bandwidth
    low = max(shared.intensity[0], shared.gflops[0] / bandwidth)
    corners = [(low, low * bandwidth), (ridge, peak), (shared.intensity[1], peak)]
    line = table([{"intensity": i, "gflops": g} for i, g in corners])
    label = {"intensity": shared.intensity[1], "gflops": peak, "text": f"{three_figures(peak)} GFLOP/s"}
    slope = low**0.28 * ridge**0.72
    slant = {"intensity": slope, "gflops": slope * bandwidth, "text": f"{three_figures(bandwidth)} GB/s"}
    foot = {
        "intensity": ridge,
        "gflops": shared.gflops[0],
        "top": peak,
        "text": f"ridge {three_figures(ridge)}",
    }
    return [
        line.mark_line(color=theme.ink, strokeWidth=theme.px(1.6), tooltip=None).encode(x=x, y=y),
        table([foot]).mark_rule(color=theme.muted, strokeDash=[2, 3], tooltip=None).encode(x=x, y=y, y2="top:Q"),
        _label(label, x, y, theme.ink, theme, dx=0, dy=-9),
        _label(slant, x, y, theme.ink, theme, dx=-8, dy=-4),
        _label(foot, x, y, theme.muted, theme, dx=-5, dy=-8),
    ]


def _label(row: dict[str, Any], x: alt.X, y: alt.Y, colour: str, theme: Theme, dx: float, dy: float) -> alt.Chart:
    """The text of a row, ending at its place but for `dx` and `dy` pixels."""
    text = table([row]).mark_text(
        align="right",
        dx=theme.px(dx),
        dy=theme.px(dy),
        fontWeight=600 if colour == theme.ink else 400,
        color=colour,
        tooltip=None,
    )
    return text.encode(x=x, y=y, text="text:N")


def _decades(span: tuple[float, float]) -> list[float]:
    """The powers of ten inside a span."""
    low, high = math.ceil(math.log10(span[0])), math.floor(math.log10(span[1]))
    return [10.0**exponent for exponent in range(low, high + 1)]
