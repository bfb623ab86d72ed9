"""Where the slots' time went, as one stacked bar a policy: plain HTML, which a screen reader reads as a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from minibatch.analysis.formats import duration, percent
from minibatch.analysis.ledger import SLOT_COLUMNS, slot_ledger
from minibatch.analysis.timeline import Timeline
from minibatch.recording.schema import Recording
from minibatch.ui.shared.palette import Theme
from minibatch.workload.request import NANOSECONDS

NAMES = {
    "queue": "queue",
    "prefill": "prefill",
    "decode": "decode",
    "preempted": "preempted",
    "stalled": "stalled",
    "padding": "padding",
    "idle_waiting": "idle, requests wait",
    "idle_empty": "idle, queue empty",
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


def ledger_bars_html(rows: Sequence[dict[str, Any]], caption: str, theme: Theme) -> str:
    """The rows of `slot_time_rows` as stacked bars of one scale; a share is named where there is room for it."""
    longest = max((row["end"] for row in rows), default=0.0)
    bars = "".join(
        _bar_html(policy, [row for row in rows if row["policy"] == policy], longest, theme)
        for policy in dict.fromkeys(row["policy"] for row in rows)
    )
    return f"<table class='mb-bars'><caption>{escape(caption)}</caption>{bars}</table>"


def _bar_html(policy: str, rows: Sequence[dict[str, Any]], longest: float, theme: Theme) -> str:
    parts = ""
    for row in rows:
        fill = theme.phase(row["column"])
        width = 100 * (row["end"] - row["start"]) / longest
        words = escape(f"{row['name']}: {row['words']}", quote=True)
        parts += (
            f"<li title='{words}' style='width:{width:.4f}%;background:{fill};color:{ink_on(fill)}'>"
            f"<span>{escape(row['label'])}</span></li>"
        )
    total = duration(rows[-1]["end"] * NANOSECONDS)
    return f"<tr><th scope='row'>{escape(policy)}</th><td><ul>{parts}</ul></td><td>{total}</td></tr>"


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
