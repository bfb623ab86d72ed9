"""The charts and tables of a sweep: axes that agree, marks where they belong, and presets that show what they say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from minibatch.analysis.slo import Slo
from minibatch.analysis.sweeps.curves import Curve, curves_of
from minibatch.analysis.sweeps.file import row_of
from minibatch.engine.sweep import Point, run_point
from minibatch.ui.load.charts import MARGIN, PICK, log_ticks, sweep_chart
from minibatch.ui.load.panels import PANELS
from minibatch.ui.load.plan import Wanted, plan_of
from minibatch.ui.load.presets import SWEEP_PRESETS, THRASHING
from minibatch.ui.load.tables import alerts_of, alerts_title, points_html
from minibatch.ui.shared.machine import MachineChoice
from minibatch.ui.shared.palette import REQUEST_COLOURS, theme

SLO = Slo(500, 50)
LOADS = (4, 32, 256, 512)


@pytest.fixture(scope="module", autouse=True)
def _few_are_enough() -> Iterator[None]:
    """All requests here have one length, so that few of them show a knee."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minibatch.analysis.sweeps.curves.FEWEST_REQUESTS", 1)
        yield


def wanted(**change: Any) -> Wanted:
    given: dict[str, Any] = {
        "machine": MachineChoice("llama-3.1-8b", "modelled", "H100", 1),
        "num_requests": 40, "prompt_lengths": "fixed:64",
        "output_lengths": "fixed:16", "seed": 0, "policies": ("static", "chunked"), "kind": "rate",
        "loads": "4 32 256 512", "burstiness": 1.0, "think_s": 0.0,
        "knobs": {"max_num_seqs": 8, "max_num_batched_tokens": 512},
    }  # fmt: skip
    return Wanted(**{**given, **change})


def swept(sweep: Wanted, slo: Slo = SLO) -> list[Curve]:
    plan = plan_of(sweep)
    rows = [row_of(point.policy, point.load, point.config, run_point(plan.spec, point)) for point in plan.points]
    return curves_of(rows, slo)


@pytest.fixture(scope="module")
def curves() -> list[Curve]:
    return swept(wanted(varied="max_num_seqs", values="4 8"))


def spec(curves: list[Curve], name: str, knees: bool = True) -> dict[str, Any]:
    panel = next(panel for panel in PANELS if panel.name == name)
    chart: dict[str, Any] = sweep_chart(curves, panel, theme("light"), SLO, LOADS, knees).to_dict()
    return chart


def layers(chart: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    return [layer for layer in chart["layer"] if layer["mark"]["type"] == mark]


def test_all_charts_share_the_axis_of_load(curves: list[Curve]) -> None:
    scales = [layer["encoding"]["x"]["scale"] for panel in PANELS for layer in spec(curves, panel.name)["layer"]]
    assert all(scale == scales[0] for scale in scales)
    assert scales[0]["type"] == "log"
    assert scales[0]["domain"] == [pytest.approx(4 / 1.12), pytest.approx(512 * 1.12)]
    assert scales[0]["range"] == [0, {"expr": f"width - {MARGIN}"}]


def test_a_ring_marks_each_knee_where_it_is(curves: list[Curve]) -> None:
    chart = spec(curves, "TTFT")
    (ring,) = [layer for layer in layers(chart, "point") if not layer["mark"]["filled"]]
    knees = [curve.rows[curve.knee.index].load.value for curve in curves if curve.knee.index is not None]
    assert knees
    assert [record["load"] for record in ring["data"]["values"]] == knees
    assert len(layers(spec(curves, "TTFT", knees=False), "point")) == 1


def test_policies_are_told_apart_by_pattern_and_shape_and_never_by_the_colours_of_requests(curves: list[Curve]) -> None:
    chart = spec(curves, "throughput")
    line, points = layers(chart, "line")[-1], layers(chart, "point")[0]
    for encoding in (line["encoding"]["strokeDash"], points["encoding"]["shape"]):
        assert encoding["scale"]["domain"] == ["static", "chunked"]
        assert len({str(look) for look in encoding["scale"]["range"]}) == 2
    assert not any(colour in str(chart) for colour in REQUEST_COLOURS)
    assert points["params"] if "params" in points else chart["params"]
    assert PICK in str(chart)


def test_lines_are_named_where_they_end_and_no_name_stands_on_another(curves: list[Curve]) -> None:
    (text,) = layers(spec(curves, "goodput"), "text")
    values = text["data"]["values"]
    assert {record["curve"] for record in values} == {"static 4", "static 8", "chunked 4", "chunked 8"}
    heights = sorted(record["value"] for record in values)
    top = text["encoding"]["y"]["scale"]["domain"][1]
    assert min(b - a for a, b in pairwise(heights)) >= 13.9 / 220 * top


def test_what_the_lines_are_held_against(curves: list[Curve]) -> None:
    offered = layers(spec(curves, "throughput"), "line")[0]["data"]["values"]
    assert [record["value"] for record in offered] == [row.metrics["offered"] for row in curves[0].rows]
    limit = layers(spec(curves, "TTFT"), "line")[0]["data"]["values"]
    assert {(record["curve"], record["value"]) for record in limit} == {("SLO 500 ms", 500)}
    assert len(layers(spec(curves, "KV"), "line")) == 1


def test_a_closed_loop_has_users_on_its_axis_and_no_offer() -> None:
    loop = swept(wanted(kind="users", loads="1 4 16", policies=("chunked",)))
    chart = spec(loop, "throughput")
    assert layers(chart, "line")[-1]["encoding"]["x"]["axis"]["title"] == "users"
    assert "offered" not in str(chart["layer"])
    assert "<th scope='col'>users</th>" in points_html(loop, None)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0.7, 30.0, [1, 2, 5, 10, 20]), (30.0, 90_000.0, [100, 1000, 10_000])],
)
def test_ticks_of_a_logarithmic_axis(low: float, high: float, ticks: list[float]) -> None:
    assert log_ticks(low, high) == ticks


def test_the_preset_of_thrashing_thrashes() -> None:
    preset = SWEEP_PRESETS[THRASHING]
    plan = plan_of(
        wanted(
            num_requests=preset.num_requests, prompt_lengths=preset.prompt_lengths, policies=("continuous",),
            output_lengths=preset.output_lengths, loads=preset.loads["rate"], knobs=preset.knobs,
        )
    )  # fmt: skip
    last = plan.points[-1]
    row = row_of(last.policy, last.load, last.config, run_point(plan.spec, Point(last.policy, last.load, last.config)))
    (curve,) = curves_of([row], SLO)
    ((name, _, off),) = alerts_of([curve], SLO)
    assert name == "continuous"
    assert off[0].sentence.startswith("Thrashing: the device is busy 100 % of the time, yet ")
    assert (curve.attainments[0] or 0) < 0.1
    assert alerts_title([(name, row, off)], 1) == "Alerts at 1 of 1 point, thrashing at 1"
