"""One policy's slot timeline: a row a slot, a colour a request, on the time axis that all policies share."""

from __future__ import annotations

from typing import Any

import altair as alt

from minibatch.analysis.formats import duration, plural, seconds
from minibatch.analysis.segments import Segment, labelled, slot_segments
from minibatch.recording.schema import Phase, Recording
from minibatch.ui.frame import framed, table
from minibatch.ui.palette import Theme, request_colour, request_ink
from minibatch.workload.request import NANOSECONDS

HEADROOM = 20
"""Pixels above the slots, for the word "done"."""

PLAIN = {
    Phase.PREFILL: "its prompt is computed",
    Phase.DECODE: "it gets one token in every iteration",
    Phase.PADDING: "it has finished, and its batch has not",
    Phase.STALLED: "it gets no token",
}
"""What a phase means, where the recording gives no reason."""


def lanes_chart(recording: Recording, end_ns: int, theme: Theme, with_axis: bool = False) -> alt.LayerChart:
    """The timeline of one recording from 0 to `end_ns`, which the charts above and below share.

    `with_axis` adds the time axis, once for a stack of them.
    """
    segments, seconds_shown = slot_segments(recording), end_ns / NANOSECONDS or 1.0
    slots = recording.num_slots
    # Type grows for a projector, rows hardly: all lanes must stay in one view.
    row = max(7.0, min(16.0, 176 / slots)) * theme.scale**0.3
    above = theme.px(HEADROOM) / row
    x = _time_axis(recording, seconds_shown, with_axis)
    scale = alt.Scale(domain=[-above, slots], reverse=True, nice=False, zero=False)
    y = alt.Y("top:Q", scale=scale, axis=None)
    place = {"x": x, "x2": "end", "y": y, "y2": "bottom"}

    ground = table(_ground(recording))
    names = (
        table(_names(recording, segments))
        # Only Vega knows how wide the chart is, so it decides which labels fit.
        .transform_filter(f"datum.length * width / {seconds_shown!r} > {theme.scale!r} * (7 * length(datum.label) + 6)")
        .mark_text(align="right", dx=-theme.px(4), fontSize=min(theme.px(12), row * 0.86), fontWeight=600)
        .encode(x=x, y=y, text="label:N", color=alt.Color("ink:N", scale=None), tooltip=_tooltip())
    )
    layers = [
        ground.mark_rect(fill=theme.lane, tooltip=None).encode(**place),
        _work([_bar(recording, segment) for segment in segments], place, theme),
        names,
        *_finish(recording, seconds_shown, above, x, y, theme),
    ]
    height = round(row * (slots + above)) + theme.px(42 if with_axis else 6)
    return framed(layers, height, theme)


def _work(bars: list[dict[str, Any]], place: dict[str, Any], theme: Theme) -> alt.LayerChart:
    """What slots do, each phase in its own fill. A layer of its own, because its parts share one table."""
    base = table(bars).encode(**place, tooltip=_tooltip())
    fill, outline = alt.Color("colour:N", scale=None), alt.Stroke("colour:N", scale=None)

    def of(phase: Phase) -> alt.Chart:
        return base.transform_filter(f"datum.phase == '{phase.name.lower()}'")

    grey, line = "rgba(128,134,144,0.12)", "rgba(128,134,144,0.55)"
    parts = [
        of(Phase.DECODE).mark_rect().encode(color=fill),
        of(Phase.PREFILL).mark_rect().encode(color=fill),
        of(Phase.PREFILL).mark_rect(fill=_stripes("rgba(0,0,0,0.5)", "rgba(255,255,255,0.6)", 3)),
        of(Phase.PADDING).mark_rect(fill=_stripes(grey, line, 3)),
        of(Phase.STALLED).mark_rect(fill=theme.surface, strokeWidth=theme.px(1.2)).encode(stroke=outline),
    ]
    return alt.LayerChart(layer=parts)


def _time_axis(recording: Recording, seconds_shown: float, shown: bool) -> alt.X:
    domain = [0, seconds_shown]
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    title = f"seconds since the start, {recording.header.clock}"
    axis = alt.Axis(
        title=title if shown else None,
        labels=shown,
        # Hidden, not absent: an axis moves the plot by a pixel, and lanes must line up.
        tickOpacity=float(shown),
        grid=False,
        domain=False,
        tickCount=8,
        # Labels that stick out would narrow this chart and break its alignment with the others.
        labelFlush=True,
        labelExpr="format(datum.value, '~g') + ' s'",
        titleAnchor="start",
    )
    return alt.X("start:Q", scale=scale, axis=axis)


def _ground(recording: Recording) -> list[dict[str, float]]:
    end = recording.end_ns / NANOSECONDS
    return [{"start": 0, "end": end, **_rows(slot)} for slot in range(recording.num_slots)]


def _rows(slot: int) -> dict[str, float]:
    return {"top": slot + 0.07, "bottom": slot + 0.93}


def _bar(recording: Recording, segment: Segment) -> dict[str, Any]:
    iterations = f"{segment.first}" if segment.first == segment.last else f"{segment.first} to {segment.last}"
    span = f"{seconds(segment.start_ns)} to {seconds(segment.end_ns)}"
    length = duration(segment.end_ns - segment.start_ns)
    return {
        **_rows(segment.slot),
        "start": segment.start_ns / NANOSECONDS,
        "end": segment.end_ns / NANOSECONDS,
        "request": f"r{segment.request} in slot {segment.slot}",
        "phase": segment.phase.name.lower(),
        "colour": request_colour(segment.request),
        "tokens": _positions(segment),
        "iterations": iterations,
        "time": f"{span}, {length} {recording.header.clock}",
        "why": segment.reason or PLAIN[segment.phase],
    }


def _positions(segment: Segment) -> str:
    if not segment.padding:
        return f"{segment.tokens:,}"
    return f"{segment.tokens:,}, and {plural(segment.padding, 'position')} thrown away"


def _tooltip() -> list[alt.Tooltip]:
    names = ("request", "phase", "tokens", "iterations", "time", "why")
    return [alt.Tooltip(f"{name}:N") for name in names]


def _names(recording: Recording, segments: list[Segment]) -> list[dict[str, Any]]:
    """A label at the end of each stay's longest decode; it answers a pointer as its bar does."""
    return [
        {
            **_bar(recording, segment),
            "start": segment.end_ns / NANOSECONDS,
            "length": (segment.end_ns - segment.start_ns) / NANOSECONDS,
            "top": segment.slot + 0.54,
            "label": f"r{segment.request}",
            "ink": request_ink(segment.request),
        }
        for segment in labelled(segments)
    ]


def _finish(
    recording: Recording, seconds_shown: float, above: float, x: alt.X, y: alt.Y, theme: Theme
) -> list[alt.Chart]:
    """A line where the run ends, and beside its head the time: left of it unless there is no room."""
    end = recording.end_ns / NANOSECONDS
    word = "done" if recording.header.complete else "cancelled at"
    label = f"{word} {seconds(recording.end_ns)}"
    # Only Vega knows how wide the chart is.
    room = f"{end / seconds_shown!r} * width > {theme.px(8 * len(label) + 8)!r}"
    line = table([{"start": end, "top": -above, "bottom": recording.num_slots}])
    rule = line.mark_rule(tooltip=None, color=theme.ink, strokeDash=[2, 2], strokeWidth=theme.px(1.4)).encode(
        x=x, y=y, y2="bottom"
    )
    words = table([{"start": end, "top": -above / 2, "label": label}])
    text = words.mark_text(
        tooltip=None,
        align=alt.ExprRef(expr=f"{room} ? 'right' : 'left'"),
        dx=alt.ExprRef(expr=f"{room} ? -{theme.px(5)!r} : {theme.px(5)!r}"),
        baseline="middle",
        fontSize=theme.px(14),
        fontWeight=600,
        color=theme.ink,
    ).encode(x=x, y=y, text="label:N")
    return [rule, text]


def _stripes(ground: str, line: str, count: int) -> dict[str, Any]:
    """A fill of `count` horizontal lines: a gradient with hard stops, since Vega has no hatching."""
    stops = [{"offset": 0, "color": ground}]
    for i in range(count):
        middle, half = (i + 0.5) / count, 0.16 / count
        for offset, before, after in ((middle - half, ground, line), (middle + half, line, ground)):
            stops += [{"offset": offset, "color": before}, {"offset": offset, "color": after}]
    stops.append({"offset": 1, "color": ground})
    return {"gradient": "linear", "x1": 0, "x2": 0, "y1": 0, "y2": 1, "stops": stops}
