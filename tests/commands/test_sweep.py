"""`sweep` as a person runs it, ends it and goes on with it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minibatch.__main__ import command_line
from minibatch.analysis.slo import Slo
from minibatch.analysis.sweeps.file import read_sweep
from minibatch.commands.sweep import demand_of
from minibatch.workload.demand import Demand
from tests.commands.conftest import ROOT

LIGHT = [
    "sweep", "--accelerator", "L4", "--model", "smollm2-135m", "--num-requests", 40, "--prompt-lengths", "uniform:8:64",
    "--output-lengths", "uniform:4:32", "--workers", 1,
]  # fmt: skip


def keys(path: Path) -> list[tuple[object, ...]]:
    return [row.key for row in read_sweep(path).rows]


def test_every_point_is_run_once_and_shown(inside, tmp_path: Path) -> None:
    path = tmp_path / "sweep.parquet"
    arguments = [*LIGHT, "--out", path, "--policies", "static", "chunked", "--rates", 4, 40]
    done = inside(*arguments, "--slo", "ttft:500", "--vary", "max_num_batched_tokens", 64, 512, "--max-num-seqs", 8)
    assert done.returncode == 0, done.stderr
    assert len(set(keys(path))) == len(keys(path)) == 2 * 2 * 2
    assert "static, max_num_batched_tokens 64: modelled on L4 24GB (data sheet, secondary), smollm2-135m" in done.stdout
    assert "goodput/s" in done.stdout
    assert "SLO of goodput: TTFT ≤ 500 ms\n" in done.stdout
    assert read_sweep(path).slo == Slo(ttft_ms=500)
    before = path.read_bytes()
    again = inside(*arguments, "--vary", "max_num_batched_tokens", 64, 512, "--max-num-seqs", 8)
    assert "8 of 8 points are in" in again.stdout
    assert "goodput/s" in again.stdout
    assert f"SLO of goodput: TTFT ≤ 500 ms, from {path}; --slo sets another" in " ".join(again.stdout.split())
    assert path.read_bytes() == before
    more = inside(*arguments, 80, "--slo", "tpot:40", "--vary", "max_num_batched_tokens", 64, 512, "--max-num-seqs", 8)
    assert "8 of 12 points are in" in more.stdout
    assert read_sweep(path).slo == Slo(tpot_ms=40)
    assert len(set(keys(path))) == len(keys(path)) == 12


_DIES_AT_ITS_FIFTH_POINT = """
import os, signal, sys
from minibatch.__main__ import main
from minibatch.analysis.sweeps.file import SweepFile

add = SweepFile.add

def add_or_die(self, row):
    if len(self.rows) == 4:
        os.killpg(0, signal.SIGKILL)
    add(self, row)

SweepFile.add = add_or_die
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_killed_sweep_goes_on_with_nothing_lost_or_done_twice(inside, tmp_path: Path) -> None:
    path = tmp_path / "sweep.parquet"
    arguments = [str(part) for part in (*LIGHT, "--out", path, "--policies", "chunked", "--rates", *range(1, 11))]
    command = [sys.executable, "-c", _DIES_AT_ITS_FIFTH_POINT, *arguments]
    killed = subprocess.run(command, cwd=ROOT, start_new_session=True, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    kept = keys(path)
    assert len(kept) == 4
    done = inside(*arguments)
    assert done.returncode == 0, done.stderr
    assert keys(path)[:4] == kept
    assert len(set(keys(path))) == len(keys(path)) == 10


def test_users_and_the_lengths_of_a_trace(inside, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    rows = "".join(f"{k},{20 + k},{5 + k % 7}\n" for k in range(60))
    trace.write_text(f"arrival_s,prompt_tokens,output_tokens\n{rows}", encoding="utf-8")
    path = tmp_path / "sweep.parquet"
    machine = ["sweep", "--accelerator", "L4", "--model", "smollm2-135m", "--workers", 1]
    done = inside(*machine, "--trace", trace, "--users", 2, 8, "--policies", "continuous", "--out", path)
    assert done.returncode == 0, done.stderr
    saved = read_sweep(path)
    spec, found = saved.spec, saved.rows
    assert spec["num_requests"] == 60
    assert [row.metrics["completed"] for row in found] == [60, 60]
    assert "users" in done.stdout
    path = tmp_path / "rates.parquet"
    done = inside(
        *machine, "--trace", trace, "--trace-times", "--rates", 2, 8, "--policies", "continuous", "--out", path
    )
    assert done.returncode == 0, done.stderr
    saved = read_sweep(path)
    spec, found = saved.spec, saved.rows
    assert spec["times"] == [pytest.approx(k) for k in range(60)]
    assert [row.metrics["offered"] for row in found] == [pytest.approx(rate * 60 / 59) for rate in (2, 8)]


def test_how_a_trace_is_written_may_be_said(tmp_path: Path) -> None:
    def asked(*arguments: object) -> Demand:
        return demand_of(command_line().parse_args(["sweep", "--out", "x", *map(str, arguments)]))

    times = tmp_path / "times.jsonl"
    line = '{"timestamp": %d, "input_length": 5, "output_length": 9}\n'
    times.write_text(line % 0 + line % 4, encoding="utf-8")
    assert "scaled from 250/s" in asked("--trace", times, "--trace-times").words
    assert "scaled from 0.25/s" in asked("--trace", times, "--trace-times", "--time-unit", "s").words
    talks = tmp_path / "talks.json"
    talks.write_text(json.dumps([{"conversations": [{"value": "a fox"}, {"value": "ran"}] * 3}]), encoding="utf-8")
    assert len(asked("--trace", talks).prompt_tokens) == 1
    assert len(asked("--trace", talks, "--conversations", "whole").prompt_tokens) == 3
    with pytest.raises(ValueError, match="time_unit needs a trace: leave it out or give --trace"):
        asked("--time-unit", "s")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rates", 1, "--users", 2], "give the load in one way"),
        ([], "give the load in one way"),
        (["--rates", 0], "rate is 0"),
        (["--rates", 1, "--vary", "speed", 3], "there is no such knob"),
        (["--rates", 1, "--vary", "max_num_seqs"], "give the values that it takes"),
        (["--rates", 1, "--vary", "max_num_seqs", "many"], "max_num_seqs is 'many': use a number"),
        (["--rates", 1, "--vary", "max_num_seqs", 0], "max_num_seqs is 0"),
        (["--rates", 1, "--slo", "ttft"], "is not a limit"),
        (["--rates", 1, "--workers", 0], "--workers is 0"),
        (["--rates", 1, "--seed", -1], "seed is -1"),
        (["--rates", 1, "--model", "gpt9"], "gpt9"),
        (["--rates", 1, "--model", "llama-3.1-70b"], "use more devices, larger ones, or a smaller model"),
        (["--rates", 1, "--accelerator", "H900"], "choose from H100"),
        (["--rates", 1, "--trace", "README.md"], "README.md"),
        (["--rates", 1, "--length-scale", 2], "length_scale needs a trace"),
        (["--rates", 1, "--trace-times"], "trace_times needs a trace"),
        (["--users", 1, "--trace", "README.md", "--trace-times"], "leave out --trace-times"),
        (["--rates", 1, "--policies", "magic"], "unknown policy 'magic'"),
        (["--rates", 1, "--policies", "static", "static"], "policy 'static' is given 2 times"),
        (
            ["--rates", 1, "--out", "README.md"],
            "README.md is not a sweep of Minibatch",
        ),
        (["--rates", 1, "--out", "/no/such/folder/x.parquet"], "No such folder"),
    ],
)
def test_bad_input_gets_one_sentence(inside, tmp_path: Path, arguments: list[object], says: str) -> None:
    done = inside("sweep", "--out", tmp_path / "sweep.parquet", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "sweep.parquet").exists()
