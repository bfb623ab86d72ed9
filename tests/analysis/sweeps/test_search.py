"""The search for the highest load that meets an SLO."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minibatch.analysis.sweeps.search import Evaluation, SearchEnd, highest_load

LOADS = st.floats(0.01, 1e4)
FACTORS = st.floats(1, 1e5)
TOLERANCES = st.floats(0.001, 1)


def test_doubling_then_bisection():
    """Threshold 5: 1, 2, 4 meet, 8 fails; then the geometric middle, 5.66, and that of 4 and 5.66, 4.76."""
    search = highest_load(lambda load: load <= 5, 1, 100, tolerance=0.2)
    assert search.outcome is SearchEnd.FOUND
    assert [tried.meets for tried in search.evaluations] == [True, True, True, False, False, True]
    assert [tried.load for tried in search.evaluations] == pytest.approx([1, 2, 4, 8, 32**0.5, 4 * 2**0.25])
    assert (search.load, search.fails_at) == pytest.approx((4 * 2**0.25, 32**0.5))


def test_even_the_lowest_fails():
    search = highest_load(lambda load: False, 3, 100)
    assert (search.load, search.outcome, search.fails_at) == (None, SearchEnd.LOWEST_FAILS, 3)
    assert search.evaluations == (Evaluation(3, False),)


def test_even_the_highest_meets():
    search = highest_load(lambda load: True, 3, 10)
    assert (search.load, search.outcome, search.fails_at) == (10, SearchEnd.HIGHEST_MEETS, None)
    assert [tried.load for tried in search.evaluations] == [3, 6, 10]


def test_one_load_only():
    assert highest_load(lambda load: True, 3, 3).evaluations == (Evaluation(3, True),)


@given(LOADS, FACTORS, TOLERANCES, st.floats(0, 1))
def test_within_tolerance_of_any_threshold(low, factor, tolerance, place):
    high = low * factor
    threshold = low * factor**place
    assume(low <= threshold < high)
    search = highest_load(lambda load: load <= threshold, low, high, tolerance)
    assert search.outcome is SearchEnd.FOUND
    assert search.load <= threshold < search.load * (1 + tolerance) * (1 + 1e-12)
    assert search.load < search.fails_at <= search.load * (1 + tolerance) * (1 + 1e-12)
    halvings = math.log2(math.log(2) / math.log1p(tolerance))
    assert len(search.evaluations) <= 2 + math.ceil(math.log2(factor)) + math.ceil(halvings) + 1


@given(LOADS, FACTORS, TOLERANCES, st.randoms(use_true_random=False))
def test_answers_that_are_not_monotone_err_to_the_low_side(low, factor, tolerance, random):
    """Whatever the answers: no load that was tried at or below the result failed, and none above it met."""
    tried: dict[float, bool] = {}

    def meets(load: float) -> bool:
        assert load not in tried
        tried[load] = random.random() < 0.6
        return tried[load]

    search = highest_load(meets, low, low * factor, tolerance)
    assert [(evaluation.load, evaluation.meets) for evaluation in search.evaluations] == list(tried.items())
    assert all(low <= load <= low * factor for load in tried)
    if search.outcome is SearchEnd.LOWEST_FAILS:
        assert tried == {low: False}
        return
    assert all(met == (load <= search.load) for load, met in tried.items())
    assert (search.outcome is SearchEnd.HIGHEST_MEETS) == (search.load == low * factor)


def test_an_island_above_a_failure_is_not_visited():
    search = highest_load(lambda load: load <= 3 or load >= 8, 1, 64)
    assert search.load == pytest.approx(3, rel=0.05)
    assert max(tried.load for tried in search.evaluations) == 4


@given(st.integers(0, 12))
def test_it_stops_when_it_is_told_to(allowed):
    calls = []
    search = highest_load(
        lambda load: calls.append(load) or load <= 5, 1, 100, should_stop=lambda: len(calls) >= allowed
    )
    assert len(search.evaluations) == len(calls) == min(allowed, 8)
    assert search.outcome is (SearchEnd.STOPPED if allowed < 8 else SearchEnd.FOUND)
    assert search.load == max((load for load in calls if load <= 5), default=None)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (2, 1), (1, math.inf), (math.nan, 1), (1, math.nan)])
def test_loads_that_are_no_range_are_rejected(low, high):
    with pytest.raises(ValueError, match="use numbers above 0, the lower one first"):
        highest_load(lambda load: True, low, high)


@pytest.mark.parametrize("tolerance", [0, -0.1, 0.0001, 1.5, math.nan])
def test_tolerances_that_never_end_are_rejected(tolerance):
    with pytest.raises(ValueError, match=r"use a share from 0\.001 to 1"):
        highest_load(lambda load: True, 1, 2, tolerance)
