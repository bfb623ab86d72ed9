"""What somebody asks for in lengths and times, and what does not go together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minibatch.workload.arrivals import ClosedLoop
from minibatch.workload.request import NANOSECONDS
from minibatch.workload.traffic import Traffic

DRAWN = {"num_requests": 3, "prompt_lengths": "fixed:5", "output_lengths": "uniform:2:4"}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "day.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0,8,4\n1,16,2\n3,8,8\n")
    return path


def test_drawn_requests_arrive_at_once_unless_somebody_says_otherwise():
    requests, words = Traffic(**DRAWN).load(0, 97)
    assert [request.arrival_ns for request in requests] == [0, 0, 0]
    assert words == "prompts of 5 tokens, outputs of 2 to 4 tokens, all at once"
    requests, words = Traffic(**DRAWN, arrivals="poisson:2").load(0, 97)
    assert requests[2].arrival_ns > 0
    assert words.endswith(", Poisson arrivals at 2/s")


def test_a_closed_loop_is_said_instead_of_arrivals():
    traffic = Traffic(**DRAWN, num_users=2, think_s=0.5)
    assert traffic.closed_loop == ClosedLoop(2, 0.5)
    assert traffic.load(0, 97)[1].endswith("tokens, a closed loop of 2 users thinking 0.5 s")
    assert Traffic(**DRAWN, num_users=2).closed_loop == ClosedLoop(2, 0)
    assert Traffic(**DRAWN).closed_loop is None


def test_a_trace_is_scaled_and_says_so(trace):
    requests, words = Traffic(trace=trace, speed=2.0, length_scale=0.5, num_requests=2).load(0, 97)
    assert [(r.arrival_ns, r.num_prompt_tokens, r.sampling.max_tokens) for r in requests] == [
        (0, 4, 2),
        (NANOSECONDS // 2, 8, 1),
    ]
    assert words == "trace day.csv, 2 requests over 0.5 s, 2x faster, lengths x 0.5"


def test_a_trace_may_have_other_arrivals_or_users(trace):
    requests, words = Traffic(trace=trace, arrivals="at-once").load(0, 97)
    assert [request.arrival_ns for request in requests] == [0, 0, 0]
    assert words == "trace day.csv, 3 requests, all at once"
    assert Traffic(trace=trace, num_users=3).load(0, 97)[1].endswith("requests, a closed loop of 3 users thinking 0 s")


def test_texts_are_counted_by_the_tokenizer_and_arrive_at_once(tmp_path):
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([{"conversations": [{"value": "a b c"}, {"value": "d"}]}]))
    (request,), words = Traffic(trace=path).load(0, 97, count_tokens=lambda text: len(text.split()))
    assert (request.num_prompt_tokens, request.sampling.max_tokens) == (3, 1)
    assert (
        words == "ShareGPT trace talks.json, 1 request, the first question and answer of each conversation, all at once"
    )
    path.write_text(json.dumps([{"conversations": [{"value": "a b c"}, {"value": "d"}] * 2}]))
    traffic = Traffic(trace=path, conversations="whole", arrivals="poisson:2")
    requests, words = traffic.load(0, 97, count_tokens=lambda text: len(text.split()))
    assert [request.num_prompt_tokens for request in requests] == [3, 7]
    assert requests[1].arrival_ns > requests[0].arrival_ns
    assert words.endswith("2 requests, whole conversations, 2 turns of 1, Poisson arrivals at 2/s")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"num_requests": 3}, "prompt_lengths is missing: use fixed:TOKENS, uniform:LOW:HIGH"),
        ({"num_users": 3}, "prompt_lengths is missing"),
        ({"num_requests": 3, "prompt_lengths": "fixed:1"}, "output_lengths is missing: use fixed:TOKENS"),
        ({"prompt_lengths": "fixed:1", "output_lengths": "fixed:1"}, "num_requests is missing: say how many"),
        (DRAWN | {"speed": 2.0}, "speed does not go with the rest, because there is no trace: leave it out"),
        (DRAWN | {"trace_format": "csv"}, "trace_format does not go with the rest"),
        (DRAWN | {"conversations": "whole"}, "conversations does not go with the rest"),
        (
            {"trace": Path("x"), "prompt_lengths": "fixed:1"},
            "prompt_lengths does not go with the rest, because a trace",
        ),
        (
            {"trace": Path("x"), "speed": 2.0, "arrivals": "at-once"},
            "speed does not go with the rest, because arrivals",
        ),
        (
            {"trace": Path("x"), "speed": 2.0, "num_users": 1},
            "speed does not go with the rest, because in a closed loop",
        ),
        (
            DRAWN | {"num_users": 1, "arrivals": "at-once"},
            "arrivals does not go with the rest, because in a closed loop",
        ),
        (DRAWN | {"think_s": 1.0}, "think_s does not go with the rest, because only users think"),
    ],
)
def test_what_does_not_go_together_is_said(settings, says):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        Traffic(**settings)
    assert str(error.value).startswith(says)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"arrivals": "often"}, "unknown arrivals 'often'"),
        ({"prompt_lengths": "long"}, "unknown lengths 'long'"),
        ({"num_requests": 0}, "num_requests is 0"),
        ({"num_requests": 2_000_000}, "num_requests is 2000000: use 1 to 1,000,000"),
    ],
)
def test_what_nobody_can_draw_is_said(settings, says):
    with pytest.raises(ValueError, match=says):
        Traffic(**DRAWN | settings).load(0, 97)
