"""Charts of lessons."""

from __future__ import annotations

import altair as alt
import pytest

from minibatch.learning.blocks import Block
from minibatch.learning.words import interface_words
from minibatch.ui.lessons.charts import chart_spec, chart_table, log_ticks


def block(kind: str, names: list[str], points: list[tuple[object, float]], log: list[str]) -> Block:
    series = [{"name": name, "points": points} for name in names]
    return {"type": kind, "title": "T", "x": "budget", "y": "ms", "log": log, "series": series}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.0, 512.0, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]),
        (0.3, 4.0, [0.2, 0.5, 1, 2, 5]),
        (7.0, 7.0, [5, 10]),
        (10.0, 10.0, [10, 20]),
    ],
)
def test_logarithmic_axes_end_at_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert log_ticks(low, high) == expected


@pytest.mark.parametrize("kind", ["lines", "points"])
@pytest.mark.parametrize("names", [["one"], ["one", "two", "three"]])
@pytest.mark.parametrize("log", [[], ["x", "y"]])
def test_charts_are_valid(kind: str, names: list[str], log: list[str]) -> None:
    alt.Chart.from_dict(chart_spec(block(kind, names, [(1, 2.0), (2048, 30.0)], log)))


@pytest.mark.parametrize("place", ["off", "a place with a name of many words that no phone has room for"])
def test_bars_lie_where_their_names_need_room(place: str) -> None:
    spec = chart_spec(block("bars", ["one", "two"], [("on", 1.0), (place, 2.0)], []))
    alt.Chart.from_dict(spec)
    assert spec["encoding"]["x"]["field"] == ("x" if place == "off" else "y")


def test_the_table_rounds_values_and_no_settings() -> None:
    table = chart_table(block("lines", ["one"], [(2048, 1234.5), (0.125, 0.98765)], []), interface_words())
    assert table == {"columns": ["budget", "ms"], "rows": [["2,048", "1,230"], ["0.125", "0.988"]]}
