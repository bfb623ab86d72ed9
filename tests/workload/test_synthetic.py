from __future__ import annotations

import pytest

from minibatch.workload import synthetic
from minibatch.workload.arrivals import AtOnce, Poisson
from minibatch.workload.lengths import CappedExponential, Fixed, Lognormal, Uniform
from minibatch.workload.request import NANOSECONDS, SamplingParams
from minibatch.workload.synthetic import synthetic_requests, trace_requests
from minibatch.workload.traces import TraceRow


def test_requests_are_numbered_in_order_of_arrival_and_have_the_drawn_lengths():
    requests = synthetic_requests(500, Poisson(50), Uniform(3, 9), Fixed(7), seed=1, vocab_size=97)
    assert [request.request_id for request in requests] == list(range(500))
    assert [r.arrival_ns for r in requests] == sorted(r.arrival_ns for r in requests)
    assert {request.num_prompt_tokens for request in requests} == set(range(3, 10))
    assert {request.sampling.max_tokens for request in requests} == {7}
    assert all(request.sampling.ignore_eos for request in requests)
    assert all(0 <= token < 97 for request in requests for token in request.prompt_token_ids)


def test_equal_seeds_give_equal_requests_and_others_others():
    def drawn(seed: int):
        return synthetic_requests(50, Poisson(9), Lognormal(64, 1), CappedExponential(64, 128), seed)

    assert drawn(5) == drawn(5)
    first, other = drawn(5), drawn(6)
    assert [r.arrival_ns for r in first] != [r.arrival_ns for r in other]
    assert [r.num_prompt_tokens for r in first] != [r.num_prompt_tokens for r in other]
    assert first[0].sampling.seed != other[0].sampling.seed


def test_what_is_not_changed_stays():
    base = synthetic_requests(50, Poisson(9), Uniform(1, 99), Uniform(1, 99), seed=0)
    other = synthetic_requests(50, AtOnce(), Uniform(1, 99), Fixed(5), seed=0)
    assert [r.prompt_token_ids for r in base] == [r.prompt_token_ids for r in other]
    assert [r.num_prompt_tokens for r in base] != [r.sampling.max_tokens for r in base]


def test_prompts_begin_differently_and_may_be_longer_than_the_pool():
    requests = synthetic_requests(300, AtOnce(), Fixed(10_000), Fixed(1), seed=0)
    assert len({request.prompt_token_ids[0] for request in requests}) == 300
    assert {request.num_prompt_tokens for request in requests} == {10_000}
    (one,) = synthetic_requests(1, AtOnce(), Fixed(1), Fixed(1), seed=0)
    assert one.num_prompt_tokens == 1


def test_sampling_is_kept_but_for_what_the_lengths_say():
    (request,) = synthetic_requests(1, AtOnce(), Fixed(1), Fixed(9), 0, 10, SamplingParams(3, temperature=0.7, top_k=4))
    assert (request.sampling.max_tokens, request.sampling.temperature, request.sampling.top_k) == (9, 0.7, 4)


def test_a_trace_keeps_its_times_or_takes_others():
    rows = [TraceRow(0, 5, 2), TraceRow(0.25, 6, 3)]
    requests = trace_requests(rows, seed=0)
    assert [(r.arrival_ns, r.num_prompt_tokens, r.sampling.max_tokens) for r in requests] == [
        (0, 5, 2),
        (NANOSECONDS // 4, 6, 3),
    ]
    assert [request.arrival_ns for request in trace_requests(rows, seed=0, arrivals=AtOnce())] == [0, 0]


def test_too_many_requests_or_tokens_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="num_requests is 0: use 1 to 1,000,000"):
        synthetic_requests(0, AtOnce(), Fixed(1), Fixed(1), seed=0)
    monkeypatch.setattr(synthetic, "MOST_PROMPT_TOKENS", 1000)
    with pytest.raises(ValueError, match="the prompts have 1,100 tokens together, and a run takes 1,000: use fewer"):
        synthetic_requests(11, AtOnce(), Fixed(100), Fixed(1), seed=0)
