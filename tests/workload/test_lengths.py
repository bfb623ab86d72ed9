"""Distributions of lengths against theory, with fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest

from minibatch.workload.lengths import CappedExponential, Empirical, Fixed, Lognormal, Uniform, parse_lengths
from minibatch.workload.request import LONGEST_TOKENS

N = 20_000


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize(
    "lengths", [Fixed(512), Uniform(1, 9), Lognormal(2, 3), CappedExponential(1, 3), Empirical((1, 7))]
)
def test_lengths_are_whole_at_least_1_and_seeded(lengths):
    drawn = lengths.draw(N, rng(3))
    assert drawn.dtype == np.int64
    assert drawn.shape == (N,)
    assert drawn.min() >= 1
    assert (drawn == lengths.draw(N, rng(3))).all()


def test_uniform_has_both_ends():
    drawn = Uniform(32, 512).draw(N, rng())
    assert (drawn.min(), drawn.max()) == (32, 512)
    assert drawn.mean() == pytest.approx(272, rel=0.02)


def test_lognormal_has_its_mean_and_spread():
    drawn = Lognormal(128, 0.5).draw(N, rng())
    assert drawn.mean() == pytest.approx(128, rel=0.03)
    # Median exp(mu) and coefficient of variation sqrt(exp(sigma**2) - 1).
    assert np.median(drawn) == pytest.approx(128 * np.exp(-0.125), rel=0.03)
    assert drawn.std() / drawn.mean() == pytest.approx(np.sqrt(np.exp(0.25) - 1), rel=0.06)
    assert set(Lognormal(64, 0).draw(100, rng()).tolist()) == {64}


@pytest.mark.parametrize("cap", [32, 128, 512, 1536])
def test_the_exponential_is_capped_and_not_cut_off(cap):
    drawn = CappedExponential(128, cap).draw(N, rng())
    assert drawn.max() <= cap
    assert (drawn == cap).mean() == pytest.approx(np.exp(-cap / 128), abs=0.02)
    assert drawn.mean() == pytest.approx(128 * (1 - np.exp(-cap / 128)), rel=0.05)


def test_empirical_draws_what_was_seen_as_often_as_it_was():
    drawn = Empirical((5, 5, 5, 900)).draw(N, rng())
    assert set(drawn.tolist()) == {5, 900}
    assert (drawn == 5).mean() == pytest.approx(0.75, abs=0.02)


def test_nothing_is_longer_than_a_trace_may_be():
    assert Lognormal(LONGEST_TOKENS, 4).draw(N, rng()).max() == LONGEST_TOKENS


@pytest.mark.parametrize(
    ("spec", "lengths"),
    [
        ("fixed:512", Fixed(512)),
        ("uniform:32:512", Uniform(32, 512)),
        ("lognormal:128:1.0", Lognormal(128, 1)),
        ("exponential:128:512", CappedExponential(128, 512)),
    ],
)
def test_specs(spec, lengths):
    assert parse_lengths(spec) == lengths


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("512", "unknown lengths '512': write one of fixed:TOKENS, uniform:LOW:HIGH, lognormal:MEAN:SIGMA, exp"),
        ("fixed:0", "tokens is 0: use a whole number from 1 to 10,000,000 tokens"),
        ("fixed:1.5", "tokens is 1.5: use a whole number"),
        ("fixed:nan", "tokens is nan: use a whole number"),
        ("fixed:1e99", "tokens is 1e+99: use a whole number"),
        ("uniform:9:3", "high is 3: use 9 (low) or more"),
        ("uniform:1:inf", "high is inf"),
        ("lognormal:0:1", "mean is 0: use 1 to"),
        ("lognormal:9:-1", "sigma is -1: use 0 to 4"),
        ("lognormal:9", "lengths 'lognormal:9' has 1 numbers: write lognormal:MEAN:SIGMA"),
        ("exponential:128:0", "cap is 0: use"),
    ],
)
def test_bad_specs_say_how_to_write_them(spec, says):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        parse_lengths(spec)
    assert str(error.value).startswith(says)


def test_nothing_seen_and_nothing_possible_are_refused():
    with pytest.raises(ValueError, match="no lengths to draw from"):
        Empirical(())
    with pytest.raises(ValueError, match="a length is 0: use a whole number"):
        Empirical((3, 0))


def test_words():
    assert Fixed(512).words == "of 512 tokens"
    assert Uniform(32, 512).words == "of 32 to 512 tokens"
    assert Lognormal(128, 1).words == "lognormal with mean 128 and sigma 1"
    assert CappedExponential(128, 1536).words == "exponential with mean 128 capped at 1,536"
    assert Empirical((1, 2, 6)).words == "drawn from 3 lengths with mean 3"
