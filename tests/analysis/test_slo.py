"""SLOs and goodput against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.slo import Slo, attainment, goodput, parse_slo
from minibatch.analysis.summarise import summarise
from minibatch.analysis.summary_metrics import summary_goodput
from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import MS, engine_of, header_of, record, requests_of

NS = st.integers(0, 10**13)
LIMIT = st.none() | st.floats(1e-3, 1e6)


@st.composite
def latencies(draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """TTFT, TPOT and E2E of up to eight requests, some of which wrote one token."""
    rows = draw(st.lists(st.tuples(NS, st.just(math.nan) | NS.map(float), NS), max_size=8))
    ttft, tpot, e2el = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(ttft, dtype=np.int64), np.array(tpot, dtype=float), np.array(e2el, dtype=np.int64)


@st.composite
def slos(draw) -> Slo:
    limits = draw(st.tuples(LIMIT, LIMIT, LIMIT).filter(lambda limits: limits != (None, None, None)))
    return Slo(*limits)


def run(lengths, **knobs) -> Recording:
    """1 ms an iteration and 0.1 ms a token, two slots."""
    knobs = {"max_num_seqs": 2, "max_num_batched_tokens": 4, "max_model_len": 16, "watermark": 0.0} | knobs
    return record(requests_of(lengths), "continuous", SchedulerConfig(**knobs))


@pytest.fixture(scope="module")
def three() -> Recording:
    """TTFT 1.8, 1.8, 4.2 ms; TPOT 1.2, 4.7 / 3, 1.2 ms; E2E 3.0, 6.5, 5.4 ms: see test_metrics.py. 6.5 ms in all."""
    return run([(3, 2), (5, 4), (2, 2)])


def test_limits_are_written_as_for_vllm():
    assert parse_slo(["ttft:200", "tpot:50", "e2el:2000"]) == Slo(200.0, 50.0, 2000.0)
    assert parse_slo(["e2el:1.5e3", "ttft:0.25"]) == Slo(ttft_ms=0.25, e2el_ms=1500.0)


def test_words():
    assert parse_slo(["e2el:2000", "ttft:200", "tpot:12.5"]).words == "TTFT ≤ 200 ms, TPOT ≤ 12.5 ms, E2E ≤ 2,000 ms"
    assert Slo(tpot_ms=1234567).words == "TPOT ≤ 1,234,567 ms"


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        (["itl:5"], "unknown latency 'itl' in 'itl:5': use ttft, tpot or e2el"),
        (["TTFT:5"], "unknown latency 'TTFT' in 'TTFT:5': use ttft, tpot or e2el"),
        (["ttft"], "'ttft' is not a limit: write a latency and milliseconds, such as ttft:200"),
        (["ttft:200", "ttft:300"], "ttft is given twice: give each latency one limit"),
        (["tpot:"], "'' in 'tpot:' is not a number: write milliseconds, as in tpot:200"),
        (["ttft:200,tpot:50"], "'200,tpot:50' in 'ttft:200,tpot:50' is not a number: "
         "write milliseconds, as in ttft:200"),
        (["ttft:1:2"], "'1:2' in 'ttft:1:2' is not a number: write milliseconds, as in ttft:200"),
        (["ttft:0"], "the ttft limit is 0 ms: use a number above 0"),
        (["e2el:-5"], "the e2el limit is -5 ms: use a number above 0"),
        (["tpot:nan"], "the tpot limit is nan ms: use a number above 0"),
        (["tpot:inf"], "the tpot limit is inf ms: use a number above 0"),
        ([], "an SLO without a limit says nothing: limit ttft, tpot or e2el"),
    ],
)  # fmt: skip
def test_what_is_not_a_limit_is_rejected_with_a_sentence(pairs, sentence):
    with pytest.raises(ValueError) as rejection:  # noqa: PT011
        parse_slo(pairs)
    assert str(rejection.value) == sentence


def test_every_limit_must_be_kept():
    ttft, tpot, e2el = np.array([1, 1, 3, 1]) * MS, np.array([2.0, 5.0, 2.0, 2.0]) * MS, np.array([9, 9, 9, 11]) * MS
    assert Slo(2, 4, 10).meets(ttft, tpot, e2el).tolist() == [True, False, False, False]
    assert Slo(ttft_ms=2).meets(ttft, tpot, e2el).tolist() == [True, True, False, True]
    assert goodput(Slo(ttft_ms=2), ttft, tpot, e2el, 2.0) == 1.5
    assert attainment(Slo(ttft_ms=2), ttft, tpot, e2el, 6) == 0.5


def test_one_token_keeps_any_tpot_limit():
    one = np.array([MS]), np.array([np.nan]), np.array([MS])
    assert Slo(tpot_ms=1e-6).meets(*one).tolist() == [True]
    assert Slo(ttft_ms=0.5, tpot_ms=1e-6).meets(*one).tolist() == [False]


@given(st.integers(1, 10**13))
def test_limits_are_inclusive_to_the_nanosecond(ns):
    """Also where the limit in ms has no exact float: 4.35 ms · 10^6 is less than 4,350,000 ns."""
    at, after = np.array([ns]), np.array([ns + 1])
    limit = float(f"{ns // 10**6}.{ns % 10**6:06d}")
    for slo in (Slo(ttft_ms=limit), Slo(tpot_ms=limit), Slo(e2el_ms=limit)):
        assert slo.meets(at, at.astype(float), at).tolist() == [True]
        assert slo.meets(after, after.astype(float), after).tolist() == [False]


@given(latencies(), slos(), st.tuples(*[st.floats(1, 1e6) | st.just(math.inf)] * 3))
def test_goodput_never_falls_when_limits_are_raised_or_lifted(values, slo, factors):
    limits = (slo.ttft_ms, slo.tpot_ms, slo.e2el_ms)
    raised = [
        None if limit is None or factor == math.inf else limit * factor
        for limit, factor in zip(limits, factors, strict=True)
    ]
    wider = goodput(Slo(*raised), *values, 3.0) if any(raised) else len(values[0]) / 3.0
    assert wider >= goodput(slo, *values, 3.0)


@given(latencies(), slos(), st.integers(0, 5))
def test_attainment_is_a_share_and_goodput_at_most_throughput(values, slo, dropped):
    num_requests = len(values[0]) + dropped
    share = attainment(slo, *values, num_requests)
    if not num_requests:
        assert share is None
        return
    assert 0 <= share <= len(values[0]) / num_requests
    assert goodput(slo, *values, 2.0) == pytest.approx(share * num_requests / 2)


def test_no_goodput_of_no_time_and_no_share_of_too_few_requests():
    none = np.zeros(0)
    with pytest.raises(ValueError, match="a run of 0 s has no goodput"):
        goodput(Slo(1), none, none, none, 0.0)
    one = np.ones(1)
    with pytest.raises(ValueError, match="1 latencies for 0 requests: count every request"):
        attainment(Slo(1), one, one, one, 0)


def test_goodput_of_a_run(three):
    found = summary_goodput(summarise(three), Slo(e2el_ms=5.4))
    assert (found.good, found.completed, found.arrived) == (2, 3, 3)
    assert found.request_goodput == pytest.approx(2 / 6.5e-3)
    assert found.attainment == pytest.approx(2 / 3)
    assert summary_goodput(summarise(three), Slo(tpot_ms=1.5)).good == 2
    assert summary_goodput(summarise(three), Slo(ttft_ms=1.8, tpot_ms=1.5)).good == 1
    assert summary_goodput(summarise(three), Slo(ttft_ms=1.79)).good == 0
    assert (
        summary_goodput(summarise(three), Slo(e2el_ms=1e6)).request_goodput
        == compute_metrics(three)["request_throughput"]
    )


def test_one_token_of_a_run_keeps_any_tpot_limit():
    assert summary_goodput(summarise(run([(3, 1)])), Slo(tpot_ms=1e-6)).good == 1


def test_rejected_requests_count_as_arrived_and_never_as_good():
    """The second can never fit max_model_len; it comes after the first has ended."""
    found = summary_goodput(summarise(run([(3, 2), (12, 8, 50.0)])), Slo(e2el_ms=1e6))
    assert (found.good, found.completed, found.arrived, found.attainment) == (1, 1, 2, 0.5)


def test_a_run_cut_short_counts_who_arrived():
    """One step of 1.3 ms: the first has not finished, the second has arrived, the third has not."""
    config = SchedulerConfig(max_num_seqs=1, max_model_len=16)
    engine = engine_of(requests_of([(3, 2), (3, 2, 1.0), (3, 2, 50.0)]), "continuous", config)
    engine.step()
    found = summary_goodput(summarise(engine.recording(header_of(engine))), Slo(e2el_ms=1e6))
    assert (found.good, found.completed, found.arrived, found.attainment) == (0, 0, 2, 0.0)
    assert found.request_goodput == 0


def test_a_run_without_iterations():
    found = summary_goodput(summarise(run([(12, 8)])), Slo(ttft_ms=1))
    assert (found.arrived, found.request_goodput, found.attainment) == (1, None, 0.0)
