"""Only the schedule changes: every policy, KV layout and preemption mode writes transformers' tokens.

The number of random workloads is small here; `make verify` runs 200.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from transformers import GPT2LMHeadModel

from minibatch.engine.verify import TokenCheck, count_ties, random_workload, verify
from minibatch.scheduling import POLICIES
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.request import Request
from tests.tiny_gpt2 import CONFIG, DEVICES, make_model

FEW = 3
MANY = 200


def examples() -> int:
    """`--hypothesis-profile=verify` asks for all of them."""
    return MANY if settings.get_current_profile_name() == "verify" else FEW


def outcomes(reference: GPT2LMHeadModel, seed: int, dtype: str, device: str) -> list[TokenCheck]:
    workload = random_workload(seed, CONFIG.vocab_size)
    kind = getattr(torch, dtype)
    model = make_model(reference, dtype, torch.device(device))
    return list(verify(workload, model, reference.to(device, kind)))


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
def test_float64_tokens_equal_those_of_transformers(reference, device):
    preempted = ways = 0

    @settings(max_examples=examples())
    @given(st.integers(0, 10**6))
    @example(2)  # runs out of KV blocks
    def check(seed: int) -> None:
        nonlocal preempted, ways
        for outcome in outcomes(reference, seed, "float64", device):
            assert outcome.wrong == ()
            assert outcome.ties == 0
            preempted += outcome.num_preemptions
            ways += 1

    check()
    assert ways >= FEW * len(POLICIES) * 2
    assert preempted > 0, "no workload ran out of KV blocks: nothing was tried of preemption"


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
def test_float32_tokens_differ_only_where_logits_tie(reference, device):
    copy = GPT2LMHeadModel(reference.config).eval()
    copy.load_state_dict(reference.state_dict())

    @settings(max_examples=examples())
    @given(st.integers(0, 10**6))
    def check(seed: int) -> None:
        for outcome in outcomes(copy, seed, "float32", device):
            assert outcome.wrong == ()

    check()


def test_a_wrong_token_is_not_excused_as_a_tie(reference):
    model = make_model(reference, "float32", torch.device("cpu"))
    copy = GPT2LMHeadModel(reference.config).eval()
    copy.load_state_dict(reference.state_dict())
    request = Request(0, (5, 6, 7))
    with torch.inference_mode():
        logits = copy(input_ids=torch.tensor([[5, 6, 7]])).logits[0, -1]
    best, second = logits.topk(2).indices.tolist()
    assert count_ties(model, copy, request, RequestState(request, output_token_ids=[best])) == 0
    assert count_ties(model, copy, request, RequestState(request, output_token_ids=[second])) is None
