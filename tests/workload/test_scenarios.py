from __future__ import annotations

import numpy as np
import pytest

from minibatch.model.weights import load_tokenizer
from minibatch.workload.request import Request, SamplingParams
from minibatch.workload.scenarios import (
    SCENARIOS,
    find_scenario,
    prompt_of_length,
    scenario_requests,
    typed_requests,
)


@pytest.fixture(scope="module")
def codec():
    return load_tokenizer("bundled")


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios_are_seeded_and_of_16_to_64_requests(name, codec):
    scenario = find_scenario(name)
    first, again = (scenario_requests(scenario, codec, seed=0) for _ in range(2))
    assert first == again
    assert 16 <= len(first) <= 64
    assert [request.request_id for request in first] == list(range(len(first)))
    assert [r.arrival_ns for r in first] == sorted(r.arrival_ns for r in first)
    for request in first:
        assert request.num_prompt_tokens + request.sampling.max_tokens <= 1024
        assert request.prompt == codec.decode(list(request.prompt_token_ids))
    if name != "identical":
        other = scenario_requests(scenario, codec, seed=1)
        assert [r.prompt_token_ids for r in other] != [r.prompt_token_ids for r in first]


@pytest.mark.parametrize("num_tokens", [1, 5, 12, 13, 14, 40, 200, 900])
def test_prompts_have_the_length_and_begin_with_a_whole_word(codec, num_tokens):
    for seed in range(20):
        tokens = prompt_of_length(codec, num_tokens, np.random.default_rng(seed))
        text = codec.decode(tokens)
        assert len(tokens) == num_tokens
        assert text[0] in ' "\n' or text[0].isupper()


def test_identical_requests_have_one_length_each_way(codec):
    requests = scenario_requests(find_scenario("identical"), codec, seed=0)
    assert len({(r.num_prompt_tokens, r.sampling.max_tokens, r.arrival_ns) for r in requests}) == 1


def test_each_request_draws_from_its_own_stream(codec):
    requests = scenario_requests(find_scenario("chat"), codec, 0, SamplingParams(temperature=0.7))
    assert len({request.sampling.seed for request in requests}) == len(requests)
    assert all(request.sampling.temperature == 0.7 for request in requests)


def test_typed_prompts_arrive_at_once_and_keep_their_text(codec):
    requests = typed_requests(["The fox", "<b>The</b> raven"], codec, sampling=SamplingParams(9))
    assert [(r.prompt, r.arrival_ns, r.sampling.max_tokens) for r in requests] == [
        ("The fox", 0, 9),
        ("<b>The</b> raven", 0, 9),
    ]


@pytest.mark.parametrize("prompt", ["", "  \n"])
def test_an_empty_prompt_is_named(codec, prompt):
    with pytest.raises(ValueError, match="prompt 2 is empty: write at least one word"):
        typed_requests(["The fox", prompt], codec)


def test_an_unknown_scenario_names_those_there_are():
    with pytest.raises(ValueError, match="unknown scenario 'chatter': choose from chat, long-document"):
        find_scenario("chatter")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"top_k": -1}, "top_k is -1"),
        ({"top_p": 0.0}, "top_p is 0.0"),
        ({"top_p": 1.5}, "top_p is 1.5"),
    ],
)
def test_impossible_sampling_is_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        SamplingParams(**settings)


def test_a_request_needs_a_prompt_and_an_arrival():
    with pytest.raises(ValueError, match="empty prompt"):
        Request(0, ())
    with pytest.raises(ValueError, match="arrives at -5 ns"):
        Request(0, (1,), arrival_ns=-5)
