"""Published and modelled figures side by side: the quotient, the 30 % rule, what must be said."""

from __future__ import annotations

from datetime import date

import pytest

from minibatch.analysis.registry.claims import Claim
from minibatch.analysis.reproduce import EXPERIMENTS, find_experiment
from minibatch.analysis.reproduce.result import Published, ResultRow, StoppedError, Watch, published


def claim(value: float, unit: str = "x") -> Claim:
    return Claim("a-claim", value, unit, "a server", "a paper", date(2026, 11, 29), "secondary")


def row(modelled: float | None) -> ResultRow:
    """Beside a published 10 x."""
    return ResultRow("throughput", modelled, "x", Published((claim(10.0),)), "Their kernels differ.")


@pytest.mark.parametrize(
    ("modelled", "is_off"),
    [(10.0, False), (13.0, False), (13.01, True), (7.0, False), (6.99, True), (0.0, True), (None, False)],
)
def test_more_than_30_per_cent_of_the_published_figure_is_off(modelled: float | None, is_off: bool) -> None:
    """Though 13 / 10 - 1 is more than 0.3 to a computer."""
    assert row(modelled).is_off is is_off


def test_a_verdict_says_how_far_and_why_only_where_it_is_off() -> None:
    assert row(4.0).verdict == "Modelled is 60 % below what was published. Their kernels differ."
    assert row(25.0).verdict == "Modelled is 150 % above what was published. Their kernels differ."
    assert row(12.0).verdict == ""
    assert row(None).verdict == "Not modelled: Their kernels differ."
    assert ResultRow("beside them", 2.0, "x").verdict == ""


def test_a_published_figure_is_a_claim_or_a_quotient_of_two() -> None:
    one, two = published("anyscale-continuous"), published("anyscale-continuous", "anyscale-static-optimised")
    assert (one.value, one.words) == (8, "8 x")
    assert (two.value, two.unit, two.words) == (2, "x", "2.00 x (8 x / 4 x)")
    seconds = published("sarathi-ablation-hybrid-tbt", "sarathi-ablation-both-tbt")
    assert seconds.unit == "x"
    assert seconds.value == pytest.approx(0.68 / 0.14)
    assert Published((claim(3.0),)).words == "3 x (secondary)"
    assert Published((claim(3.0), claim(2.0))).words == "1.50 x (3 x / 2 x, secondary)"
    assert Published((claim(3.0),)).source == "a server: 3 x, a paper (secondary), checked 2026-11-29"


def test_what_can_not_be_compared_is_rejected() -> None:
    with pytest.raises(ValueError, match="no claim 'nobodys'"):
        published("nobodys")
    with pytest.raises(ValueError, match="two of one unit"):
        published("anyscale-continuous", "kv-share-vllm")
    with pytest.raises(ValueError, match="is 0"):
        Published((claim(1.0), claim(0.0)))
    with pytest.raises(ValueError, match="published in x, modelled in %"):
        ResultRow("share", 20.0, "%", Published((claim(1.0),)), "why")
    with pytest.raises(ValueError, match="say why"):
        ResultRow("throughput", 2.0, "x", Published((claim(1.0),)))
    with pytest.raises(ValueError, match="say why"):
        ResultRow("throughput", None, "x")


def test_an_unknown_experiment_is_rejected_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"unknown experiment 'nobodys': choose from anyscale, orca, kv-share"):
        find_experiment("nobodys")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_stops_when_told(name: str) -> None:
    with pytest.raises(StoppedError):
        EXPERIMENTS[name].run(0, Watch(should_stop=lambda: True))
