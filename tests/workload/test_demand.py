"""The lengths of a sweep, and what loads make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minibatch.workload.arrivals import ClosedLoop
from minibatch.workload.demand import Demand, Load, drawn_demand, trace_demand
from minibatch.workload.traces import FormatChoice, Scaling

DEMAND = Demand((5, 7, 9), (1, 2, 3), "by hand")


def test_requests_have_the_lengths_and_the_rate() -> None:
    drawn = drawn_demand(2000, "fixed:30", "uniform:1:9", seed=4)
    requests = drawn.requests(Load("rate", 8.0), seed=4)
    assert [r.num_prompt_tokens for r in requests] == [30] * 2000
    assert tuple(r.sampling.max_tokens for r in requests) == drawn.output_tokens
    assert all(r.sampling.ignore_eos for r in requests)
    gaps = np.diff([r.arrival_ns for r in requests]) / 1e9
    assert gaps.mean() == pytest.approx(1 / 8, rel=0.1)
    assert gaps.std() == pytest.approx(1 / 8, rel=0.15)  # Poisson
    bursty = np.diff([r.arrival_ns for r in drawn.requests(Load("rate", 8.0, burstiness=0.1), 4)]) / 1e9
    assert bursty.std() > 2 * gaps.std()


def test_a_higher_rate_brings_the_same_requests_closer_together() -> None:
    drawn = drawn_demand(50, "fixed:3", "fixed:4", seed=1)
    slow, fast = ([r.arrival_ns for r in drawn.requests(Load("rate", rate), 1)] for rate in (2.0, 4.0))
    assert fast == [pytest.approx(time / 2, abs=1) for time in slow]


def test_users_send_when_they_are_answered() -> None:
    load = Load("users", 3, think_s=0.5)
    assert load.closed_loop == ClosedLoop(3, 0.5)
    assert {r.arrival_ns for r in DEMAND.requests(load, 0)} == {0}
    assert Load("rate", 2.0).closed_loop is None
    assert DEMAND.longest == 12


def test_lengths_of_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0,10,3\n1.5,20,4\n2,30,5\n", encoding="utf-8")
    demand = trace_demand(path, scaling=Scaling(num_requests=2, length_scale=0.5))
    assert (demand.prompt_tokens, demand.output_tokens) == ((5, 10), (2, 2))
    assert "trace.csv" in demand.words


def test_arrivals_of_a_trace_come_at_each_rate(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n7,10,3\n8,20,4\n11,30,5\n", encoding="utf-8")
    demand = trace_demand(path, with_times=True)
    assert "arrivals scaled from 0.5/s to each load" in demand.words
    for rate in (1.0, 8.0):
        times = [r.arrival_ns / 1e9 for r in demand.requests(Load("rate", rate), seed=3)]
        assert times == [0.0, pytest.approx(0.5 / rate), pytest.approx(2 / rate)]
    assert demand.words_at(Load("rate", 8.0)).endswith("the trace's arrivals at 8/s")
    assert [r.arrival_ns for r in demand.first(2).requests(Load("rate", 1.0), 0)] == [0, 500_000_000]
    assert {r.arrival_ns for r in demand.requests(Load("users", 2), 0)} == {0}
    path.write_text("prompt_tokens,output_tokens\n10,3\n20,4\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"trace\.csv has all requests at one time"):
        trace_demand(path, with_times=True)


def test_the_unit_of_a_trace_is_said_where_its_times_are_used(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    line = '{"timestamp": %s, "input_length": 5, "output_length": 9}\n'
    path.write_text(line % 0 + line % 4, encoding="utf-8")
    assert "times in milliseconds: they have no fractions" in trace_demand(path, with_times=True).words
    assert "times in" not in trace_demand(path).words
    seconds = trace_demand(path, FormatChoice(time_unit="s"), with_times=True)
    assert seconds.words.endswith("times in seconds, arrivals scaled from 0.25/s to each load")


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [("rate", 0.0, "rate is 0"), ("users", 0, "num_users is 0"), ("users", 2.5, "users is 2.5: use a whole number")],
)
def test_loads_that_cannot_be(kind: str, value: float, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Load(kind, value)
