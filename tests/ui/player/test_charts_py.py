"""The specs of the player's charts: valid Vega-Lite, without any data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import altair as alt
import pytest
import vl_convert

from minibatch.ui.player.charts import chart_specs

SOURCES = {"roofline": {"points", "ridges", "roofs"}, "tokens": {"written"}, "durations": {"steps"}}


def data_of(spec: Any) -> Iterator[dict[str, Any]]:
    """Every `data` in a spec."""
    if isinstance(spec, dict):
        assert "datasets" not in spec
        if "data" in spec:
            yield spec["data"]
    for inner in spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else []:
        yield from data_of(inner)


@pytest.mark.parametrize("name", SOURCES)
def test_specs_are_valid_and_hold_no_data(name: str) -> None:
    spec = chart_specs()[name]
    alt.LayerChart.from_dict(spec)
    sources = list(data_of(spec))
    assert all(set(source) == {"name"} for source in sources)
    assert {source["name"] for source in sources} == SOURCES[name]


@pytest.mark.parametrize("name", SOURCES)
def test_vega_takes_domains_from_parameters_and_rows_by_name(name: str) -> None:
    vega = vl_convert.vegalite_to_vega(chart_specs()[name])
    assert {source["name"] for source in vega["data"]} >= SOURCES[name]
    domains = {scale["name"]: scale["domain"] for scale in vega["scales"]}
    assert (domains["x"], domains["y"]) == ({"signal": "x_domain"}, {"signal": "y_domain"})


def test_specs_are_small_and_always_the_same() -> None:
    first = json.dumps(chart_specs())
    assert first == json.dumps(chart_specs())
    assert len(first) < 8_000
