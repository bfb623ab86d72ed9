"""Arrival processes against theory: bounds are five standard errors or more, and seeds are fixed."""

from __future__ import annotations

import numpy as np
import pytest

from minibatch.workload.arrivals import AtOnce, ClosedLoop, Gamma, OnOff, Poisson, parse_arrivals
from minibatch.workload.request import NANOSECONDS

N = 20_000


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def gaps_s(process, seed: int = 0) -> np.ndarray:
    return np.diff(process.times_ns(N, rng(seed))) / NANOSECONDS


@pytest.mark.parametrize("process", [AtOnce(), Poisson(20), Gamma(20, 0.5), Gamma(20, 4), OnOff(40, 2, 8)])
def test_times_are_sorted_whole_nanoseconds_from_0_and_seeded(process):
    times = process.times_ns(1000, rng(7))
    assert times.dtype == np.int64
    assert times.shape == (1000,)
    assert times[0] == 0
    assert (np.diff(times) >= 0).all()
    assert (times == process.times_ns(1000, rng(7))).all()
    if process != AtOnce():
        assert (times != process.times_ns(1000, rng(8))).any()
    assert len(process.times_ns(0, rng())) == 0


def test_the_same_seed_gives_the_same_times_everywhere():
    assert Poisson(20).times_ns(4, rng()).tolist() == [0, 50979855, 51970188, 52083655]
    assert Gamma(20, 0.5).times_ns(4, rng()).tolist() == [0, 167883, 98668114, 137100187]
    assert OnOff(40, 0.02, 1).times_ns(4, rng()).tolist() == [0, 1025489928, 1025985094, 1026041827]


def test_poisson_gaps_have_mean_one_over_the_rate_and_variation_1():
    gaps = gaps_s(Poisson(20))
    assert gaps.mean() == pytest.approx(1 / 20, rel=0.04)
    assert gaps.std() / gaps.mean() == pytest.approx(1, rel=0.05)
    # Memoryless: a share of exp(-1) of the gaps is longer than the mean.
    assert (gaps > 1 / 20).mean() == pytest.approx(np.exp(-1), abs=0.02)


@pytest.mark.parametrize("burstiness", [0.25, 0.5, 1, 4])
def test_gamma_gaps_have_the_mean_of_the_rate_and_the_variation_of_the_burstiness(burstiness):
    gaps = gaps_s(Gamma(10, burstiness))
    assert gaps.mean() == pytest.approx(1 / 10, rel=5 / np.sqrt(N * burstiness))
    assert gaps.std() / gaps.mean() == pytest.approx(1 / np.sqrt(burstiness), rel=0.08)


def test_bursts_come_while_on_and_nothing_comes_while_off():
    times = OnOff(40, 2, 8).times_ns(N, rng()) / NANOSECONDS
    assert (times % 10 <= 2 + 1e-6).all()
    assert N / times[-1] == pytest.approx(40 * 2 / 10, rel=0.05)
    counts = np.bincount((times // 10).astype(int))[:-1]
    assert counts.mean() == pytest.approx(80, rel=0.05)
    assert counts.var() == pytest.approx(80, rel=0.35)  # as of a Poisson process


def test_bursts_without_off_times_are_poisson():
    assert (OnOff(40, 2, 0).times_ns(100, rng()) == Poisson(40).times_ns(100, rng())).all()


@pytest.mark.parametrize(
    ("spec", "process"),
    [
        ("at-once", AtOnce()),
        ("poisson:20", Poisson(20)),
        (" gamma:20:0.5 ", Gamma(20, 0.5)),
        ("onoff:40:2:8", OnOff(40, 2, 8)),
    ],
)
def test_specs(spec, process):
    assert parse_arrivals(spec) == process


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "unknown arrivals '': write one of at-once, poisson:RATE, gamma:RATE:BURSTINESS, onoff:RATE:ON_S:OFF_S"),
        ("uniform:3", "unknown arrivals 'uniform:3'"),
        ("poisson", "arrivals 'poisson' has 0 numbers: write poisson:RATE"),
        ("poisson:1:2", "arrivals 'poisson:1:2' has 2 numbers: write poisson:RATE"),
        ("poisson:fast", "rate in 'poisson:fast' is 'fast': use a number"),
        ("poisson:0", "rate is 0: use 0.000001 to 1,000,000 requests a second"),
        ("poisson:-1", "rate is -1: use"),
        ("poisson:nan", "rate is nan: use"),
        ("poisson:inf", "rate is inf: use"),
        ("gamma:1:0", "burstiness is 0: use 0.001 to 1,000"),
        ("onoff:1:0:1", "on_s is 0: use"),
        ("onoff:1:1:-1", "off_s is -1: use 0 to 1,000,000 seconds"),
    ],
)
def test_bad_specs_say_how_to_write_them(spec, says):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        parse_arrivals(spec)
    assert str(error.value).startswith(says)


def test_arrivals_that_no_run_lasts_for_are_refused():
    with pytest.raises(ValueError, match=r"the last of 100 requests would arrive after .* use a higher rate or fewer"):
        Poisson(1e-5).times_ns(100, rng())


def test_words():
    assert Poisson(20).words == "Poisson arrivals at 20/s"
    assert Gamma(2.5, 0.5).words == "gamma arrivals at 2.5/s with burstiness 0.5"
    assert OnOff(40, 2, 8).words == "bursts at 40/s with 2 s on and 8 s off"
    assert ClosedLoop(1).words == "a closed loop of 1 user thinking 0 s"
    assert ClosedLoop(8, 0.5).words == "a closed loop of 8 users thinking 0.5 s"


@pytest.mark.parametrize(
    ("users", "think_s", "says"),
    [
        (0, 0, "num_users is 0: use 1 to 100,000"),
        (1, -1, "think_s is -1: use 0 to"),
        (1, float("nan"), "think_s is nan"),
    ],
)
def test_impossible_loops_are_refused(users, think_s, says):
    with pytest.raises(ValueError, match=says):
        ClosedLoop(users, think_s)
