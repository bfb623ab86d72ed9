"""Traffic from a job to its recordings, and the options that ask for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from minibatch.__main__ import main
from minibatch.engine import session
from minibatch.engine.job import Job
from minibatch.engine.session import run_job
from minibatch.recording.storage import dumps, load
from minibatch.recording.validation import check
from minibatch.roofline.ceilings import Ceilings
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.request import NANOSECONDS
from minibatch.workload.traffic import Traffic

DRAWN = Traffic(
    num_requests=40, arrivals="gamma:60:0.5", prompt_lengths="lognormal:32:1", output_lengths="exponential:16:64"
)
CSV = "arrival_s,prompt_tokens,output_tokens\n0,100,10\n0.5,2000,10\n1.25,30,1\n"


@pytest.fixture(autouse=True)
def _ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here depends on how fast this machine is."""
    monkeypatch.setattr(session, "load_or_measure", lambda *_: Ceilings(1e11, 1e10, "a machine"))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "day.csv"
    path.write_text(CSV)
    return path


def job(traffic: Traffic, **settings) -> Job:
    return Job(
        ("static", "chunked"), SchedulerConfig(max_model_len=1024), traffic=traffic, clock="modelled", **settings
    )


def test_drawn_requests_are_served_recorded_and_said():
    runs = run_job(job(DRAWN))
    for run in runs:
        check(run)
        assert run.header.complete
        assert len(run.requests) == 40
        assert run.header.scenario == (
            "prompts lognormal with mean 32 and sigma 1, outputs exponential with mean 16 capped at 64, "
            "gamma arrivals at 60/s with burstiness 0.5"
        )
        assert run.header.closed_loop is None
    assert dumps(runs) == dumps(run_job(job(DRAWN)))
    assert [r.arrival_ns for r in runs[0].requests] == [r.arrival_ns for r in runs[1].requests]


def test_requests_of_a_trace_that_are_too_long_are_rejected_one_by_one(trace):
    for run in run_job(job(Traffic(trace=trace))):
        check(run)
        assert [request.finish_reason for request in run.requests] == ["length", "rejected", "length"]
        assert [request.arrival_ns for request in run.requests] == [0, NANOSECONDS // 2, NANOSECONDS * 5 // 4]
        assert run.header.scenario == "trace day.csv, 3 requests over 1.25 s"


def test_a_trace_of_which_nothing_fits_is_rejected(trace):
    with pytest.raises(ValueError, match="no request can be served with these knobs"):
        run_job(job(Traffic(trace=trace, length_scale=50.0)))


def test_users_make_other_arrivals_under_every_policy():
    traffic = Traffic(
        num_requests=30, prompt_lengths="uniform:8:64", output_lengths="uniform:1:64", num_users=6, think_s=0.01
    )
    runs = run_job(job(traffic))
    for run in runs:
        check(run)
        assert run.header.complete
        assert run.header.closed_loop == {"num_users": 6, "think_s": 0.01}
        assert run.header.scenario.endswith("a closed loop of 6 users thinking 0.01 s")
    static, chunked = ([request.arrival_ns for request in run.requests] for run in runs)
    assert static[:6] == chunked[:6] == [0] * 6
    assert static[6:] != chunked[6:]


def test_the_real_engine_serves_traffic_after_its_warm_up():
    traffic = Traffic(num_requests=3, prompt_lengths="fixed:9", output_lengths="fixed:2", num_users=1)
    (run,) = run_job(Job(("continuous",), SchedulerConfig(), traffic=traffic))
    check(run)
    assert run.header.clock == "measured"
    assert [len(request.pieces) for request in run.requests] == [2, 2, 2]
    assert run.requests[0].arrival_ns < run.requests[1].arrival_ns < run.requests[2].arrival_ns


def test_requests_come_from_one_place():
    with pytest.raises(ValueError, match="in one way: a scenario, typed prompts, a requests file, a trace or lengths"):
        run_job(job(DRAWN, scenario="chat"))


@pytest.mark.parametrize("command", [["run", "--policy", "chunked"], ["compare", "--policies", "chunked", "--json"]])
def test_options_ask_for_traffic(command, trace, tmp_path, capsys):
    def header(*options: str):
        path = tmp_path / "run.mbr"
        assert main([*command, "--clock", "modelled", "--out", str(path), *options]) == 0, capsys.readouterr().err
        (run,) = load(path)
        return run.header

    shown = header("--trace", str(trace), "--trace-format", "csv", "--speed", "2", "--length-scale", ".1",
                   "--start-s", "0.5", "--num-requests", "2").scenario  # fmt: skip
    assert shown == "trace day.csv, 2 requests over 0.375 s, from 0.5 s on, 2x faster, lengths x 0.1"
    lengths = ["--num-requests", "4", "--prompt-lengths", "fixed:8", "--output-lengths", "uniform:1:3"]
    shown = header(*lengths, "--arrivals", "onoff:40:2:8").scenario
    assert shown == "prompts of 8 tokens, outputs of 1 to 3 tokens, bursts at 40/s with 2 s on and 8 s off"
    assert header(*lengths, "--users", "2", "--think-s", "0.5").closed_loop == {"num_users": 2, "think_s": 0.5}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--num-requests", "5"], "prompt_lengths is missing"),
        (["--scenario", "chat", "--users", "4"], "prompt_lengths is missing"),
        (["--trace", "/no/such/file"], "No such file or directory: /no/such/file"),
        (["--trace", "README.md"], "README.md, line 1: begins like no format that is known"),
        (["--trace", "README.md", "--trace-format", "csv"], "README.md, line 1: there is no column 'prompt_tokens'"),
        (["--trace", "README.md", "--trace-format", "xml"], "unknown trace format 'xml'"),
        (["--trace", "README.md", "--speed", "0"], "speed is 0: use"),
        (["--trace", "README.md", "--prompt", "a"], "in one way"),
        (["--trace", "README.md", "--arrivals", "poisson:1", "--speed", "2"], "speed does not go with the rest"),
    ],
)
def test_bad_options_get_one_sentence(options, says, capsys):
    assert main(["compare", "--clock", "modelled", *options]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("minibatch: error: ")
    assert says in line
