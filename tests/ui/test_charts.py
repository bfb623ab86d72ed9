"""What the charts hold, against recordings made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from minibatch.analysis.ledger import slot_ledger
from minibatch.analysis.segments import labelled, slot_segments
from minibatch.analysis.timeline import Timeline
from minibatch.recording.schema import Phase, Recording
from minibatch.ui.lanes import lanes_chart
from minibatch.ui.ledger_bars import ledger_chart, ledger_columns, request_time_rows, slot_time_rows
from minibatch.ui.palette import REQUEST_COLOURS, request_colour, theme
from minibatch.ui.roofline import limits, roofline_chart, roofline_points
from tests.ui.recordings import MS, cancelled

Pair = tuple[Recording, ...]


def rows_of(spec: dict) -> list[dict]:
    """Every row of data in a Vega-Lite spec."""
    found = list(spec.get("data", {}).get("values", [])) + [
        row for values in spec.get("datasets", {}).values() for row in values
    ]
    return found + [row for layer in spec.get("layer", []) for row in rows_of(layer)]


def test_identical_iterations_become_one_segment(pair: Pair) -> None:
    segments = [s for s in slot_segments(pair[0]) if s.slot == 1]
    assert [(s.request, s.phase, s.first, s.last, s.start_ns, s.end_ns, s.tokens) for s in segments] == [
        (1, Phase.PREFILL, 0, 0, 0, 10 * MS, 3),
        (1, Phase.DECODE, 1, 2, 10 * MS, 30 * MS, 2),
    ]


def test_padding_and_stall_bring_their_reasons(pair: Pair) -> None:
    padding = next(s for s in slot_segments(pair[0]) if s.phase is Phase.PADDING)
    stalled = next(s for s in slot_segments(pair[1]) if s.phase is Phase.STALLED)
    admitted = next(s for s in slot_segments(pair[1]) if s.request == 2)
    assert (padding.request, padding.start_ns, padding.end_ns) == (0, 20 * MS, 30 * MS)
    assert padding.reason == "r0 finishes: it wrote all of its 2 tokens"
    assert stalled.request == 1
    assert stalled.reason == "1 request without a token: this step prefills 3 tokens of 1 prompt alone"
    assert admitted.reason == "r2 enters slot 0: takes 1 of 4 free blocks"


def test_a_padded_prefill_is_drawn_as_the_ledger_counts_it(pair: Pair) -> None:
    padding = np.array([2, 0, 0, 0, 0, 0, 0, 0])
    run = replace(pair[0], entries={**pair[0].entries, "padding": padding})
    segments = slot_segments(run)
    prompt, padded = segments[:2]
    assert (prompt.phase, prompt.start_ns, prompt.end_ns, prompt.tokens, prompt.padding) == (0, 0, 6 * MS, 3, 0)
    assert (padded.phase, padded.start_ns, padded.end_ns, padded.tokens, padded.padding) == (
        Phase.PADDING, 6 * MS, 10 * MS, 0, 2,
    )  # fmt: skip
    assert padded.reason == "its prompt is padded to the longest of its batch"
    ledger = slot_ledger(Timeline(run))
    for name, phase in (("prefill", Phase.PREFILL), ("padding", Phase.PADDING)):
        drawn = [sum(s.end_ns - s.start_ns for s in segments if (s.slot, s.phase) == (i, phase)) for i in (0, 1)]
        assert drawn == ledger[name].tolist()
    rows = rows_of(lanes_chart(run, 60 * MS, theme("light")).to_dict())
    assert "0, and 2 positions thrown away" in [row.get("tokens") for row in rows]


def test_a_prompt_padded_right_before_its_end_is_not_its_held_slot(pair: Pair) -> None:
    """r0 is padded in iteration 0 and held after it in iteration 1."""
    entries = {name: column.copy() for name, column in pair[0].entries.items()}
    entries["padding"][0], entries["phase"][2], entries["tokens"][2] = 2, Phase.PADDING, 0
    held = [s for s in slot_segments(replace(pair[0], entries=entries)) if (s.slot, s.phase) == (0, Phase.PADDING)]
    assert [(s.first, s.padded) for s in held] == [(0, True), (1, False)]


def test_a_name_stands_once_a_stay(pair: Pair) -> None:
    assert [(s.slot, s.request) for s in labelled(slot_segments(pair[1]))] == [(0, 0), (0, 2), (1, 1)]


def test_lanes_share_their_axis_and_mark_their_own_finish(pair: Pair) -> None:
    specs = [lanes_chart(run, 60 * MS, theme("light")).to_dict() for run in pair]
    for spec, done in zip(specs, ("done 0.0600 s", "done 0.0500 s"), strict=True):
        assert done in [row.get("label") for row in rows_of(spec)]
        x = spec["layer"][0]["encoding"]["x"]
        assert x["scale"]["domain"] == [0, 0.06]
        assert not x["axis"]["labels"]


def test_only_work_answers_a_pointer(pair: Pair) -> None:
    """A mark without a tooltip of its own would show its raw data."""
    ground, work, names, rule, done = lanes_chart(pair[1], 60 * MS, theme("light")).to_dict()["layer"]
    assert [layer["mark"]["tooltip"] for layer in (ground, rule, done)] == [None] * 3
    for layer in (*work["layer"], names):
        fields = [item["field"] for item in layer["encoding"]["tooltip"]]
        assert fields == ["request", "phase", "tokens", "iterations", "time", "why"]


def test_a_cancelled_run_is_not_called_done(pair: Pair) -> None:
    spec = lanes_chart(cancelled(pair[0]), 60 * MS, theme("dark")).to_dict()
    assert "cancelled at 0.0600 s" in [row.get("label") for row in rows_of(spec)]


def test_colours_repeat_after_eight() -> None:
    assert len(set(REQUEST_COLOURS)) == 8
    assert request_colour(9) == request_colour(1) != request_colour(0)


def test_roofline_has_a_point_an_iteration_by_what_it_ran(pair: Pair) -> None:
    points = roofline_points(pair[1])
    assert [point["kind"] for point in points] == ["prefill", "decode", "prefill", "decode"]
    assert points[0]["intensity"] == 10
    assert points[0]["gflops"] == 1.0
    assert points[2]["gflops"] == 0.5


def test_roofline_marks_the_ridge_where_ceilings_are_known(pair: Pair) -> None:
    shared = limits(pair)
    assert shared is not None
    assert shared.intensity[1] > 10
    texts = [row.get("text") for row in rows_of(roofline_chart(pair[0], shared, theme("light")).to_dict())]
    assert {"ridge 10.0", "100 GFLOP/s", "10.0 GB/s"} <= set(texts)


def test_slot_bars_sum_to_the_run(pair: Pair) -> None:
    rows = slot_time_rows(pair)
    ends = {row["policy"]: row["end"] for row in rows}
    assert ends == {"static": pytest.approx(0.06), "continuous": pytest.approx(0.05)}
    assert "padding" in ledger_columns(rows)
    assert "stalled" in ledger_columns(rows)


def test_request_bars_sum_to_its_time(pair: Pair) -> None:
    rows = request_time_rows(pair, 1)
    assert {row["policy"]: row["end"] for row in rows} == {
        "static": pytest.approx(0.03),
        "continuous": pytest.approx(0.05),
    }
    assert [row["column"] for row in rows if row["policy"] == "continuous"] == [
        "prefill",
        "decode",
        "stalled",
    ]
    assert ledger_chart(rows, "seconds, measured", theme("light")).to_dict()["layer"]
