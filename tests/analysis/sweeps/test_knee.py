"""Knees of sweeps worked out by hand, and what always holds of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.analysis.summarise import summarise
from minibatch.analysis.summary_metrics import summary_rates
from minibatch.analysis.sweeps.knee import Found, Knee, closed_loop_knee, open_loop_knee
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import engine_of, header_of, record, requests_of

POWERS = st.integers(-8, 8).map(lambda exponent: 2.0**exponent)  # scaling by them rounds nothing
LOADS = st.lists(st.floats(0.1, 1e3), min_size=2, max_size=12, unique=True).map(sorted).map(np.array)
KNEES = [open_loop_knee, closed_loop_knee]


def one_at_a_time(count: int, every_ms: float, tokens: int):
    """Requests that each take 1.1 ms a token, alone in the one slot there is."""
    requests = requests_of([(1, tokens, i * every_ms) for i in range(count)])
    return requests, "continuous", SchedulerConfig(max_num_seqs=1, max_model_len=16)


def test_throughput_follows_up_to_the_knee():
    knee = open_loop_knee([1, 2, 4, 8, 16], [1.0, 2.0, 3.9, 5.0, 5.0], [10, 11, 14, 90, 900])
    assert knee == Knee(Found.KNEE, 2, 4.0, 3.9, 14.0)


def test_nine_tenths_still_follow():
    assert open_loop_knee([5, 10, 20], [5, 9.0, 9], [1, 1, 1]).load == 10
    assert open_loop_knee([5, 10, 20], [5, 8.99, 9], [1, 1, 1]).load == 5


def test_no_knee_within_the_range_and_past_it_at_the_first_load_are_told_apart():
    assert open_loop_knee([1, 2, 4], [1, 2, 3.8], [1, 1, 1]) == Knee(Found.BEYOND)
    assert open_loop_knee([8, 16, 32], [5, 5, 5], [1, 1, 1]) == Knee(Found.BEFORE)
    assert len({str(found) for found in Found}) == len(Found) == 4


@pytest.mark.parametrize("odd", [[0.5, 2, 3, 4, 4, 4, 4], [1, 1, 3, 4, 4, 4, 4], [1, 2, 3, 4, 4, 4, 7]])
def test_one_odd_run_away_from_the_knee_does_not_move_it(odd):
    assert open_loop_knee([1, 2, 3, 4, 5, 6, 7], odd, [1] * 7).load == 4


def test_the_plateau_begins_where_95_per_cent_are_reached():
    knee = closed_loop_knee([1, 2, 4, 8, 16, 32], [1, 1.9, 3.5, 5.7, 5.9, 5.8], [1, 2, 3, 4, 5, 6])
    assert knee == Knee(Found.KNEE, 3, 8.0, 5.7, 4.0)
    assert closed_loop_knee([1, 2, 4, 8, 16, 32], [1, 1.9, 3.5, 5.6, 5.9, 5.8], [1] * 6).load == 16


def test_throughput_may_fall_behind_the_plateau():
    assert closed_loop_knee([1, 2, 4, 8, 16], [1, 2, 4, 3.9, 2], [1] * 5).load == 4


def test_one_lucky_run_is_no_plateau():
    assert closed_loop_knee([1, 2, 4, 8, 16, 32], [1, 2, 9, 4, 4.1, 4], [1] * 6).load == 4


def test_a_plateau_must_be_seen():
    assert closed_loop_knee([1, 2, 4, 8], [1, 2, 4, 8], [1] * 4) == Knee(Found.BEYOND)
    assert closed_loop_knee([100, 104, 108], [100, 104, 108], [1] * 3) == Knee(Found.BEYOND)
    assert closed_loop_knee([16, 32, 64], [5, 5.1, 5], [1] * 3) == Knee(Found.BEFORE)


@given(LOADS, st.floats(0.05, 2e3), st.data())
def test_the_knee_is_near_the_capacity_whatever_the_noise(loads, capacity, data):
    """With up to 4 % of noise: every load below 0.9375 of its share passes, none above 0.8654 does."""
    noise = data.draw(st.lists(st.floats(0.96, 1.04), min_size=len(loads), max_size=len(loads)))
    true_share = np.minimum(1, capacity / loads)
    knee = open_loop_knee(loads, true_share * loads * noise, loads)
    surely, perhaps = (int((true_share >= share).sum()) for share in (0.9375 + 1e-9, 0.9 / 1.04 - 1e-9))
    assert surely <= place(knee, len(loads)) <= perhaps


def place(knee: Knee, count: int) -> int:
    """How many loads are not past the knee."""
    return {Found.BEFORE: 0, Found.BEYOND: count}.get(knee.found, (knee.index or 0) + 1)


@given(LOADS, st.floats(0.05, 2e3), st.data())
def test_one_odd_run_moves_the_knee_by_one_place_at_most(loads, capacity, data):
    served = np.minimum(loads, capacity)
    before = place(open_loop_knee(loads, served, loads), len(loads))
    served[data.draw(st.integers(0, len(loads) - 1))] = data.draw(st.floats(0, 1e5))
    assert abs(place(open_loop_knee(loads, served, loads), len(loads)) - before) <= 1


@given(LOADS, st.floats(0.05, 2e3), POWERS, POWERS)
def test_units_do_not_move_the_knee(loads, capacity, scale, other):
    served = np.minimum(loads, capacity)
    opened = open_loop_knee(loads, served, loads)
    scaled = open_loop_knee(loads * scale, served * scale, loads * other)
    assert (scaled.found, scaled.index) == (opened.found, opened.index)
    closed = closed_loop_knee(loads, served, loads)
    scaled = closed_loop_knee(loads * scale, served * other, loads)
    assert (scaled.found, scaled.index) == (closed.found, closed.index)


@given(LOADS, st.floats(0.05, 2e3))
def test_what_is_said_of_the_knee_is_what_was_given(loads, capacity):
    served = np.minimum(loads, capacity)
    for find in KNEES:
        knee = find(loads, served, loads * 3)
        if knee.found is Found.KNEE:
            i = knee.index
            assert (knee.load, knee.throughput, knee.latency) == (loads[i], served[i], loads[i] * 3)
        else:
            assert (knee.index, knee.load, knee.throughput, knee.latency) == (None,) * 4


@pytest.mark.parametrize("find", KNEES)
@pytest.mark.parametrize(
    ("load", "throughput", "latency", "sentence"),
    [
        ([1, 2], [1, 2], [1], "2 loads, 2 throughputs and 1 latencies: give one of each a load"),
        ([1], [1], [1], "sweep two or more"),
        ([2, 1], [1, 1], [1, 1], "loads must rise"),
        ([1, 1], [1, 1], [1, 1], "loads must rise"),
        ([0, 1], [1, 1], [1, 1], "loads must rise"),
        ([1, math.inf], [1, 1], [1, 1], "loads must rise"),
        ([1, math.nan], [1, 1], [1, 1], "loads must rise"),
        ([1, 2], [1, -1], [1, 1], "a throughput is negative or not a number"),
        ([1, 2], [1, math.nan], [1, 1], "a throughput is negative or not a number"),
    ],
)
def test_what_is_no_sweep_is_rejected_with_a_sentence(find, load, throughput, latency, sentence):
    with pytest.raises(ValueError, match=sentence):
        find(load, throughput, latency)


def test_rates_of_a_run_that_keeps_up():
    """Every 2 ms one of 1.1 ms, up to 20 ms: 12, 14 … 20 come in its second half; 11.1, 13.1 … 19.1 end."""
    assert summary_rates(summarise(record(*one_at_a_time(11, 2.0, 1)))) == pytest.approx((500, 500))


def test_rates_of_a_run_that_falls_behind():
    """Every ms one of 2.2 ms, up to 10 ms: 6 … 10 come in its second half; the ends are 6.6 and 8.8."""
    assert summary_rates(summarise(record(*one_at_a_time(11, 1.0, 2)))) == pytest.approx((1000, 400))


def test_rates_of_a_run_cut_short_count_up_to_its_last_arrival():
    """Four iterations, 4.4 ms: the last arrival is at 4; 3 and 4 come after 2 ms, and one ends at 2.2."""
    engine = engine_of(*one_at_a_time(11, 1.0, 2))
    for _ in range(4):
        engine.step()
    rates = summary_rates(summarise(engine.recording(header_of(engine))))
    assert rates == pytest.approx((2 / 2e-3, 1 / 2e-3))


def test_no_rates_without_a_span():
    assert summary_rates(summarise(record(*one_at_a_time(3, 0.0, 1)))) is None
