"""What the bars below the player hold, against recordings made by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from minibatch.recording.schema import Recording
from minibatch.ui.compare.ledger_bars import ink_on, ledger_bars_html, ledger_columns, slot_time_rows
from minibatch.ui.shared.palette import REQUEST_COLOURS, REQUEST_INKS, request_colour, request_ink, theme

Pair = tuple[Recording, ...]


def contrast(one: str, other: str) -> float:
    """WCAG's contrast of two colours, 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_colours_repeat_after_eight_and_their_inks_with_them() -> None:
    assert len(set(REQUEST_COLOURS)) == len(REQUEST_INKS) == 8
    assert request_colour(9) == request_colour(1) != request_colour(0)
    assert request_ink(9) == request_ink(1) != request_ink(0)


@pytest.mark.parametrize("kind", ["light", "dark"])
def test_shares_are_legible_on_their_bars(kind: str) -> None:
    """At least 3 to 1, as WCAG asks of large or bold text."""
    poor = [name for name, fill in theme(kind).phases if contrast(ink_on(fill), fill) < 3]
    assert poor == []


def test_slot_bars_sum_to_the_run(pair: Pair) -> None:
    rows = slot_time_rows(pair)
    ends = {row["policy"]: row["end"] for row in rows}
    assert ends == {"static": pytest.approx(0.06), "continuous": pytest.approx(0.05)}
    # Of two slots: slot 1 of the static run decodes 20 of 60 ms and idles 30, slot 0 pads 10.
    assert [(row["column"], row["words"]) for row in rows if row["policy"] == "static"] == [
        ("prefill", "20.0 ms measured, 33 %"),
        ("decode", "20.0 ms measured, 33 %"),
        ("padding", "5.00 ms measured, 8.3 %"),
        ("idle_empty", "15.0 ms measured, 25 %"),
    ]
    assert ledger_columns(rows) == ("prefill", "decode", "stalled", "padding", "idle_empty")


def test_bars_share_one_scale_and_say_what_was_measured(pair: Pair) -> None:
    modelled = replace(pair[1], header=replace(pair[1].header, clock="modelled"))
    html = ledger_bars_html(slot_time_rows((pair[0], modelled)), "Slot time, mean over all slots.", theme("light"))
    static, continuous = re.findall(r"<tr>.*?</tr>", html)
    assert sum(widths(static)) == pytest.approx(100, abs=1e-3)
    assert sum(widths(continuous)) == pytest.approx(100 * 50 / 60, abs=1e-3)
    assert "title='prefill: 20.0 ms measured, 33 %'" in static
    assert "modelled" in continuous
    assert "<th scope='row'>static</th>" in static
    assert "<td>60.0 ms</td>" in static
    assert "<caption>Slot time, mean over all slots.</caption>" in html


def widths(row: str) -> list[float]:
    return [float(width) for width in re.findall(r"width:([\d.]+)%", row)]
