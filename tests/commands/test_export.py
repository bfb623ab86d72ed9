"""`export` as a person runs it. The page that `--to html` writes has its own tests."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from minibatch.analysis.exports import trace_file
from minibatch.analysis.metrics import compute_metrics
from minibatch.paths import ROOT
from minibatch.recording.storage import load, save
from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to stand in, with a recording of all four policies in another one."""
    config = SchedulerConfig(max_num_seqs=2, max_num_batched_tokens=8, max_model_len=16)
    (tmp_path / "runs").mkdir()
    save(tmp_path / "runs" / "long.mbr", [record(requests_of([(3, 4), (5, 2)]), name, config) for name in POLICIES])
    return tmp_path


@pytest.fixture
def export(folder: Path, inside: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`export("runs/long.mbr", "--to", "csv")`: the command, in that folder."""
    monkeypatch.chdir(folder)
    return partial(inside, "export")


def names_of_processes(trace: bytes) -> list[str]:
    return [e["args"]["name"] for e in json.loads(trace)["traceEvents"] if e["name"] == "process_name"]


def test_a_trace_lies_in_the_current_folder(folder, export):
    done = export("runs/long.mbr", "--to", "perfetto")
    assert done.returncode == 0, done.stderr
    path = folder / "long.trace.json"
    events = len(json.loads(path.read_bytes())["traceEvents"])
    assert done.stdout == f"long.trace.json  {path.stat().st_size / 1000:.0f} kB, {events} events\n"
    assert names_of_processes(path.read_bytes()) == [f"{name} (modelled)" for name in POLICIES]


@pytest.mark.parametrize("arguments", [["--gzip"], ["--out", "long.trace.json.gz"]])
def test_a_trace_is_gzipped_where_it_is_asked_for_or_its_name_says_so(folder, export, arguments):
    assert export("runs/long.mbr", "--to", "perfetto").returncode == 0
    done = export("runs/long.mbr", "--to", "perfetto", *arguments)
    assert done.returncode == 0, done.stderr
    data = (folder / "long.trace.json").read_bytes()
    assert gzip.decompress((folder / "long.trace.json.gz").read_bytes()) == data
    assert f"({len(data) / 1000:.0f} kB unpacked)" in done.stdout


def test_a_trace_too_large_for_perfetto_is_refused_unless_a_part_is_asked_for(folder, export, monkeypatch):
    monkeypatch.setattr(trace_file, "MOST_BYTES", 1000)
    refused = export("runs/long.mbr", "--to", "perfetto")
    assert refused.returncode == 2
    assert all(option in refused.stderr for option in ("--from-s", "--to-s", "--gzip", "--counters-only"))
    assert not list(folder.glob("*.json*"))
    for part in (["--gzip"], ["--to-s", "0.002"], ["--from-s", "0.001"], ["--counters-only"]):
        assert export("runs/long.mbr", "--to", "perfetto", *part).returncode == 0


def test_the_tables_have_a_column_a_policy_and_a_row_a_request(folder, export):
    assert export("runs/long.mbr", "--to", "csv").returncode == 0
    assert export("runs/long.mbr", "--to", "csv", "--requests").returncode == 0
    with (folder / "long.csv").open(newline="", encoding="utf-8") as file:
        (duration, *_) = csv.DictReader(file)
    assert duration["metric"] == "duration"
    runs = load(folder / "runs" / "long.mbr")
    assert [float(duration[f"{run.header.policy} (modelled)"]) for run in runs] == [
        compute_metrics(run)["duration"] for run in runs
    ]
    with (folder / "long.requests.csv").open(newline="", encoding="utf-8") as file:
        assert [(row["policy"], row["request"]) for row in csv.DictReader(file)] == [
            (name, request) for name in POLICIES for request in "01"
        ]


def test_some_policies_to_a_chosen_path(folder, export):
    done = export("runs/long.mbr", "--to", "perfetto", "--policies", "chunked", "static", "--out", "a.json")
    assert done.returncode == 0, done.stderr
    assert names_of_processes((folder / "a.json").read_bytes()) == ["chunked (modelled)", "static (modelled)"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["runs/long.mbr", "--to", "csv", "--policies", "magic"], "has no policy 'magic': choose from static, dynamic"),
        (["runs/long.mbr", "--to", "csv", "--policies", "static", "static"], "policy 'static' is given 2 times"),
        (["runs/long.mbr", "--to", "csv", "--policies", ","], "has no policy ''"),
        (["runs/none.mbr", "--to", "csv"], "No such file or directory: runs/none.mbr"),
        (["runs", "--to", "csv"], "This is a folder: name a file: runs"),
        (["notes.txt", "--to", "csv"], "notes.txt is not a Minibatch recording"),
        (["runs/long.mbr", "--to", "csv", "--out", "no/such/x.csv"], "No such folder"),
        (["runs/long.mbr", "--to", "csv", "--out", "runs"], "is a folder"),
        (["runs/long.mbr", "--to", "csv", "--out", "/dev/null"], "device or a pipe"),
        (["runs/long.mbr", "--to", "csv", "--out", "runs/../runs/long.mbr"], "is the recording itself"),
        (["runs/long.mbr", "--to", "perfetto", "--requests"], "--requests goes with --to csv"),
        (["runs/long.mbr", "--to", "csv", "--gzip"], "--gzip goes with --to perfetto"),
        (["runs/long.mbr", "--to", "html", "--from-s", "0"], "--from-s goes with --to perfetto"),
        (["runs/long.mbr", "--to", "perfetto", "--from-s", "2", "--to-s", "1"], "from 2 s to 1 s is empty"),
        (["runs/long.mbr", "--to", "perfetto", "--from-s", "-1"], "is empty: give a start of at least 0"),
        (["runs/long.mbr", "--to", "perfetto", "--from-s", "nan"], "number of seconds"),
        (["runs/long.mbr", "--to", "perfetto", "--from-s", "60"], "nothing runs after 60 s"),
        (["runs/long.mbr", "--to", "pdf"], "invalid choice: 'pdf'"),
        (["runs/long.mbr"], "--to"),
    ],
)
def test_bad_input_gets_one_sentence_and_writes_nothing(folder, export, arguments, says):
    (folder / "notes.txt").write_text("hello")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = export(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("minibatch")
    assert says in last
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_help_and_a_trace_take_no_torch(folder):
    code = """if True:
        import sys
        from minibatch.__main__ import main
        for arguments in (["runs/long.mbr", "--to", "perfetto"], ["runs/long.mbr", "--to", "csv"], ["--help"]):
            try:
                main(["export", *arguments])
            except SystemExit:
                pass
        sys.exit("torch" in sys.modules)
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert b"--to" in done.stdout
