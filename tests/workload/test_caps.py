"""The max_tokens that clients send, apart from how long answers are."""

from __future__ import annotations

import pytest

from minibatch.workload.traffic import Traffic

LENGTHS = {"num_requests": 5, "prompt_lengths": "fixed:20", "output_lengths": "fixed:10"}


@pytest.mark.parametrize(
    ("cap", "max_tokens", "true", "says"),
    [
        (None, 10, None, "outputs of 10 tokens"),
        ("exact", 10, None, "outputs of 10 tokens"),
        ("x4", 40, 10, "max_tokens 4 times the length"),
        ("x1.25", 13, 10, "max_tokens 1.25 times the length"),
        ("fixed:4096", 4096, 10, "max_tokens 4,096"),
        ("fixed:4", 4, 10, "max_tokens 4"),
    ],
)
def test_a_cap_is_sent_and_the_length_stays(cap: str | None, max_tokens: int, true: int | None, says: str) -> None:
    requests, words = Traffic(cap=cap, **LENGTHS).load(0, 1000)
    assert {(each.sampling.max_tokens, each.true_output_tokens) for each in requests} == {(max_tokens, true)}
    assert says in words


@pytest.mark.parametrize("cap", ["", "4", "x0", "x0.5", "x2000", "fixed:0", "fixed:-1", "fixed:1e9", "xx", "x1e3"])
def test_another_cap_is_refused(cap: str) -> None:
    with pytest.raises(ValueError, match=r"use exact, x4 \(four times the length\) or fixed:4096"):
        Traffic(cap=cap, **LENGTHS).load(0, 1000)
