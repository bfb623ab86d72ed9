"""What the form of a sweep makes of what somebody types."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from minibatch.ui.load.plan import Wanted, plan_of
from minibatch.ui.load.trace import SweepTrace
from minibatch.ui.shared.machine import MachineChoice
from minibatch.ui.shared.uploads import upload_of

WANTED = Wanted(
    MachineChoice("llama-3.1-8b", "modelled", "H100", 1), 40, "fixed:64", "fixed:16", 0, ("static", "chunked"), "rate",
    "4 32 256", 1.0, 0.0, {"max_num_seqs": 8, "max_num_batched_tokens": 512},
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"loads": "1 two 4"}, "'two' is not a load: type requests/s, such as 1 2 4 8"),
        ({"loads": " "}, "There is no load: type requests/s"),
        ({"loads": "1 -2"}, "-2"),
        ({"loads": "nan"}, "nan"),
        ({"loads": "1 2.5", "kind": "users"}, "2.5 is not a number of users: type whole numbers of users"),
        ({"policies": ()}, "No policy is chosen"),
        ({"prompt_lengths": "long"}, "long"),
        ({"varied": "max_num_seqs", "values": "4 many"}, "max_num_seqs is 'many': use a number"),
        ({"varied": "max_num_seqs"}, "max_num_seqs is to vary, but has no values"),
        ({"loads": " ".join(map(str, range(1, 120)))}, "238 points are more than 200"),
        ({"knobs": {"num_kv_blocks": 10**6}}, "use num_kv_blocks of at most"),
        ({"machine": MachineChoice("llama-3.1-8b", "modelled", None, 1)}, "choose an accelerator"),
    ],
)
def test_what_can_not_be_run_is_said_in_a_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        plan_of(replace(WANTED, **change))


def test_loads_and_values_are_taken_once_and_in_order() -> None:
    points = plan_of(replace(WANTED, loads="8, 2;4 2", varied="max_num_seqs", values="8 4 8")).points
    assert [point.load.value for point in points[::4]] == [2, 4, 8]
    assert [point.policy for point in points[:4:2]] == ["static", "chunked"]
    assert [point.config.max_num_seqs for point in points[:2]] == [8, 4]
    assert points[0].config.max_model_len == 80


LINES = {
    "azure": b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,37,4\n2023-11-16 18:17:05,37,2\n",
    "mooncake": b'{"timestamp": 0, "input_length": 37, "output_length": 4}\n'
    b'{"timestamp": 2000, "input_length": 37, "output_length": 2}\n',
    "burstgpt": b"Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,37,4\n7,ChatGPT,37,2\n",
    "timed_trace": b'{"timestamp": 0.5, "input_length": 37, "output_length": 4}\n'
    b'{"timestamp": 2.5, "input_length": 37, "output_length": 2}\n',
    "csv": b"arrival_s,prompt_tokens,output_tokens\n3,37,4\n5,37,2\n",
}
SHAREGPT = b'[{"conversations": [{"from": "human", "value": "a red fox"}, {"from": "gpt", "value": "ran"}]}]'


def brought(data: bytes, **given: Any) -> Wanted:
    return replace(WANTED, trace=SweepTrace(upload_of("t", data), **given))


@pytest.mark.parametrize("name", LINES)
def test_lengths_and_arrivals_are_those_of_a_trace(name: str) -> None:
    demand = plan_of(brought(LINES[name])).spec.demand
    assert (demand.prompt_tokens, demand.output_tokens) == ((37, 37), (4, 2))
    assert demand.times == (0, 1)
    assert demand.words.endswith(", arrivals scaled from 0.5/s to each load")
    drawn = plan_of(brought(LINES[name], with_times=False, length_scale=2.0, num_requests=1)).spec.demand
    assert (drawn.prompt_tokens, drawn.times) == ((74,), ())
    assert " t, 1 request, lengths x 2" in drawn.words


def test_texts_are_counted_and_have_no_arrivals() -> None:
    demand = plan_of(brought(SHAREGPT, with_times=False)).spec.demand
    assert demand.longest > 3
    assert demand.words == (
        "ShareGPT trace t, 1 request, the first question and answer of each conversation, "
        "tokens as the bundled tokenizer counts them"
    )
    with pytest.raises(ValueError, match="all requests at one time"):
        plan_of(brought(SHAREGPT))


def test_requests_of_a_trace_that_do_not_fit_are_foretold() -> None:
    lines = b"prompt_tokens,output_tokens\n10,4\n%d,50\n"
    mixed = plan_of(brought(lines % 3000, with_times=False))
    assert mixed.advice == ""
    small = {**WANTED.knobs, "num_kv_blocks": 64}
    advice = plan_of(replace(brought(lines % 3000, with_times=False), knobs=small)).advice
    assert advice.startswith("1 of 2 requests will be rejected")
    assert advice.endswith("With a length scale of 0.33 all fit.")
    none = brought(b"prompt_tokens,output_tokens\n3000,50\n", with_times=False)
    with pytest.raises(ValueError, match="1 of 1 request will be rejected"):
        plan_of(replace(none, knobs=small))
