"""The tables as a spreadsheet reads them, against METRICS.md and numbers worked out by hand."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest

from minibatch.analysis.exports.metrics_csv import metrics_csv, requests_csv
from minibatch.analysis.metrics import compute_metrics
from minibatch.paths import ROOT
from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import cut_short, record, requests_of

METRICS_PAGE = ROOT / "minibatch" / "analysis" / "METRICS.md"
KNOBS = {"max_num_seqs": 2, "max_num_batched_tokens": 4, "max_model_len": 16, "watermark": 0.0}


def run(policy: str, lengths, **knobs) -> Recording:
    return record(requests_of(lengths), policy, SchedulerConfig(**KNOBS | knobs))


def renamed(recording: Recording, **fields) -> Recording:
    return replace(recording, header=replace(recording.header, **fields))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.fixture(scope="module")
def pair() -> list[Recording]:
    """The runs of test_metrics.py, and r3 that can't fit."""
    lengths = [(3, 2), (5, 4), (2, 2), (40, 1)]
    return [run("static", lengths), renamed(run("continuous", lengths), clock="measured")]


def test_every_metric_is_there_to_the_last_digit(pair):
    rows = rows_of(metrics_csv(pair))
    for column, recording in (("static (modelled)", pair[0]), ("continuous (measured)", pair[1])):
        read = {row["metric"]: float(row[column]) for row in rows}
        assert read == compute_metrics(recording)
    assert {row["metric"]: row["unit"] for row in rows if row["metric"] in ("duration", "p99_itl_ms", "flops")} == {
        "duration": "s", "p99_itl_ms": "ms", "flops": "FLOP",
    }  # fmt: skip


def test_units_are_those_of_the_page_that_defines_the_metrics(pair):
    page = {}
    for line in METRICS_PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3:
            page |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), cells[2])
    for row in rows_of(metrics_csv(pair)):
        assert row["unit"]
        latency = re.fullmatch(r"[a-z0-9]+_(ttft|tpot|itl|e2el|queue_time)_ms", row["metric"])
        name = latency[1] if latency else row["metric"]
        if page.get(name):
            assert row["unit"].replace("requests", "1").replace("tokens", "1") == page[name]


def test_what_a_run_does_not_have_is_an_empty_cell():
    rows = {row["metric"]: row for row in rows_of(metrics_csv([run("static", [(3, 1)])]))}
    assert rows["mean_tpot_ms"]["static (modelled)"] == ""
    assert rows["mean_ttft_ms"]["static (modelled)"] == "1.3"


def test_a_run_that_was_cut_short_says_so(pair):
    header = metrics_csv([renamed(pair[0], complete=False)]).splitlines()[0]
    assert header == 'metric,unit,"static (modelled, cut short)"'


def test_a_fork_has_a_column_of_its_own_and_says_which_clocks(pair):
    fork = {"iteration": 1, "knob": "max_num_seqs", "before": 4, "after": 2, "clock": "measured", "earlier": None}
    forked = renamed(pair[0], fork=fork)
    header = next(csv.reader(io.StringIO(metrics_csv([pair[0], forked]), newline="")))
    assert header[2:] == ["static (modelled)", "static, max_num_seqs 2 from iteration 1 (measured, then modelled)"]
    row, *_ = rows_of(requests_csv([forked]))
    assert (row["policy"], row["clock"]) == ("static, max_num_seqs 2 from iteration 1", "measured, then modelled")


def test_a_row_for_each_request_of_each_policy(pair):
    """Continuous: 1.8, 1.2, 1.2, 1.2 and 1.1 ms; r2 enters when r0 has gone, after 3.0 ms, and r1 stalls for it."""
    rows = rows_of(requests_csv(pair))
    assert [(row["policy"], row["clock"], row["request"]) for row in rows] == [
        (policy, clock, str(i))
        for policy, clock in (("static", "modelled"), ("continuous", "measured"))
        for i in range(4)
    ]
    r1, r2, r3 = rows[5:]
    assert {name: value for name, value in r1.items() if name not in ("policy", "clock")} == {
        "request": "1", "arrival_s": "0.0", "prompt_tokens": "5", "output_tokens": "4", "finish_reason": "length",
        "queue_s": "0.0", "prefill_s": "0.0018", "decode_s": "0.0035", "stalled_s": "0.0012", "preempted_s": "0.0",
        "e2el_s": "0.0065", "ttft_s": "0.0018", "tpot_s": str(4_700_000 / 3 / 1e9), "num_preemptions": "0",
    }  # fmt: skip
    assert (r2["queue_s"], r2["e2el_s"]) == ("0.003", "0.0054")
    assert (r3["finish_reason"], r3["output_tokens"]) == ("rejected", "0")
    assert (r3["e2el_s"], r3["ttft_s"], r3["tpot_s"]) == ("", "", "")


def test_the_rows_add_up_to_the_metrics(pair):
    for recording in pair:
        rows, metrics = rows_of(requests_csv([recording])), compute_metrics(recording)
        for name in ("e2el", "ttft", "tpot"):
            values = [float(row[f"{name}_s"]) for row in rows if row[f"{name}_s"]]
            assert np.mean(values) * 1000 == pytest.approx(metrics[f"mean_{name}_ms"])
        for row in rows[:3]:
            parts = [float(row[f"{name}_s"]) for name in ("queue", "prefill", "decode", "stalled", "preempted")]
            assert sum(parts) == pytest.approx(float(row["e2el_s"]))


def test_preemptions_are_counted_where_they_happen():
    rows = rows_of(requests_csv([run("continuous", [(3, 4), (3, 4)], block_size=2, num_kv_blocks=4)]))
    assert [(row["num_preemptions"], row["preempted_s"]) for row in rows] == [("0", "0.0"), ("1", "0.0022")]


@pytest.mark.parametrize("name", ['=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_no_name_is_a_formula(pair, name):
    evil = renamed(pair[0], policy=name)
    header = next(csv.reader(io.StringIO(metrics_csv([evil]), newline="")))
    assert header == ["metric", "unit", f"'{name} (modelled)"]
    assert {row["policy"] for row in rows_of(requests_csv([evil]))} == {f"'{name}"}


def test_a_name_with_a_comma_stays_one_cell(pair):
    odd = renamed(pair[0], policy='a, "b"\nc')
    assert next(csv.reader(io.StringIO(metrics_csv([odd]), newline="")))[2] == 'a, "b"\nc (modelled)'
    assert rows_of(requests_csv([odd]))[0]["policy"] == 'a, "b"\nc'


def test_a_request_that_nobody_had_sent_has_no_arrival():
    recording = cut_short([(3, 2)] * 4, 3, think_s=0.001)
    rows = rows_of(requests_csv([recording]))
    assert [row["arrival_s"] == "" for row in rows] == [False, False, True, True]
    assert all(float(row["queue_s"] or 0) < 1 for row in rows)
    # One that arrived at that very time has ended somehow.
    late = [replace(request, finish_reason="rejected") for request in recording.requests]
    rows = rows_of(requests_csv([replace(recording, requests=tuple(late))]))
    assert [row["arrival_s"] for row in rows][2:] == ["1000000.0"] * 2
