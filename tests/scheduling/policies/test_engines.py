"""What tells the engines' schedulers apart, worked out by hand from their rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minibatch.analysis.metrics import compute_metrics
from minibatch.recording.schema import Recording
from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.policies import ENGINES
from minibatch.scheduling.policy import rules_of
from minibatch.scheduling.presets import PRESETS
from tests.helpers import engine_of, header_of, record, requests_of
from tests.scheduling.policies.test_hand_worked import schedule_of


def run(policy: str, lengths, true: dict[int, int] | None = None, **knobs) -> Recording:
    knobs = {
        "max_num_seqs": 4,
        "max_num_batched_tokens": 8,
        "max_model_len": 64,
        "block_size": 4,
        "watermark": 0.0,
    } | knobs
    requests = [replace(each, true_output_tokens=(true or {}).get(each.request_id)) for each in requests_of(lengths)]
    engine = engine_of(requests, policy, SchedulerConfig(**knobs))
    engine.run()
    return engine.recording(header_of(engine))


LONG_PROMPT = [(2, 6), (2, 6), (12, 1, 0.5)]
"""Two decode when a prompt of 12 tokens arrives; the budget is 8."""


@pytest.mark.parametrize(
    ("policy", "knobs", "expected"),
    [
        # One budget, running first: the prompt takes what the decodes leave.
        ("vllm-v1", {}, ["r0:P2 r1:P2", "r0:D r1:D r2:P6", "r0:D r1:D r2:P6", "r0:D r1:D", "r0:D r1:D", "r0:D r1:D"]),
        ("sarathi", {}, ["r0:P2 r1:P2", "r0:D r1:D r2:P6", "r0:D r1:D r2:P6", "r0:D r1:D", "r0:D r1:D", "r0:D r1:D"]),
        # At most 4 tokens of a prompt in a step.
        (
            "vllm-v1",
            {"long_prefill_token_threshold": 4},
            ["r0:P2 r1:P2", "r0:D r1:D r2:P4", "r0:D r1:D r2:P4", "r0:D r1:D r2:P4", "r0:D r1:D", "r0:D r1:D"],
        ),
        # The chunks of the prompt run back to back, and the decodes wait for all of them.
        (
            "sglang",
            {},
            ["r0:P2 r1:P2", "r0:- r1:- r2:P8", "r0:- r1:- r2:P4", *["r0:D r1:D"] * 5],
        ),
        # The prompt runs whole: alone, or beside the decodes.
        ("vllm-v0", {}, ["r0:P2 r1:P2", "r0:- r1:- r2:P12", *["r0:D r1:D"] * 5]),
        ("orca", {}, ["r0:P2 r1:P2", "r0:D r1:D r2:P12", *["r0:D r1:D"] * 4]),
        ("trtllm-no-evict", {}, ["r0:P2 r1:P2", "r0:D r1:D r2:P12", *["r0:D r1:D"] * 4]),
        ("trtllm-max-utilization", {}, ["r0:P2 r1:P2", "r0:D r1:D r2:P12", *["r0:D r1:D"] * 4]),
    ],
)
def test_a_long_prompt_among_decodes(policy: str, knobs: dict, expected: list[str]) -> None:
    assert schedule_of(run(policy, LONG_PROMPT, **knobs)) == expected


def test_mixed_chunk_lets_sglang_decode_beside_a_prompt() -> None:
    """A newcomer's chunk is cut to whole pages, later ones are not."""
    expected = ["r0:P2 r1:P2", "r0:D r1:D r2:P4", "r0:D r1:D r2:P6", "r0:D r1:D r2:P2", "r0:D r1:D", "r0:D r1:D"]
    assert schedule_of(run("sglang", LONG_PROMPT, mix_prefill=True)) == expected


def preempted(recording: Recording) -> list[int]:
    return [reason.request_id for _, reason in recording.each_reason() if reason.code.startswith("preempted")]


@pytest.mark.parametrize(
    ("policy", "first"),
    [
        ("vllm-v1", 2),  # the last in running
        ("vllm-v0", 2),  # the latest arrival
        ("sarathi", 2),
        ("trtllm-max-utilization", 2),
        ("orca", None),
        ("trtllm-no-evict", None),
    ],
)
def test_who_is_preempted_first(policy: str, first: int | None) -> None:
    victims = preempted(run(policy, [(4, 20), (4, 20), (4, 20)], num_kv_blocks=8, max_num_batched_tokens=64))
    assert victims[:1] == ([] if first is None else [first])


def test_sglang_retracts_whoever_has_generated_least() -> None:
    """r2 came when the others had generated some, so it is not the last admitted that counts."""
    lengths = [(4, 28), (4, 28), (4, 28, 3.0)]
    recording = run(
        "sglang", lengths, num_kv_blocks=16, max_num_batched_tokens=64, schedule_conservativeness=0.01, block_size=4
    )
    assert preempted(recording)[:1] == [2]


@pytest.mark.parametrize(("policy", "comes_back_first"), [("vllm-v1", True), ("sglang", False)])
def test_a_preempted_request_waits_where_its_engine_puts_it(policy: str, comes_back_first: bool) -> None:
    """Another request waits when one is preempted: at the head the victim is before it, at the tail behind it."""
    lengths = [(4, 24), (4, 24), (4, 24), (4, 4, 6.0)]
    knobs = {"max_num_seqs": 3, "num_kv_blocks": 14, "max_num_batched_tokens": 64, "schedule_conservativeness": 0.01}
    reasons = [reason for _, reason in run(policy, lengths, **knobs).each_reason()]
    first = next(k for k, each in enumerate(reasons) if each.code.startswith("preempted"))
    entered = next(each.request_id for each in reasons[first:] if each.code == "admitted")
    assert (entered == reasons[first].request_id) == comes_back_first


def test_reserving_by_cap_runs_a_fraction_of_the_batch() -> None:
    """The cap is 8 times what is generated: those who reserve it hold others back; SGLang lets more in as it learns."""
    lengths, true = [(4, 32)] * 12, dict.fromkeys(range(12), 4)
    knobs = {"max_num_seqs": 12, "num_kv_blocks": 27, "max_num_batched_tokens": 64}
    steps = {
        policy: run(policy, lengths, true, **knobs).num_iterations for policy in ("vllm-v1", "orca", "trtllm-no-evict")
    }
    assert steps == {"vllm-v1": 4, "orca": 16, "trtllm-no-evict": 16}


def admissions(recording: Recording) -> list[int]:
    """Requests in the order in which they first entered."""
    return list(dict.fromkeys(each.request_id for _, each in recording.each_reason() if each.code == "admitted"))


@pytest.mark.parametrize("policy", [policy.name for policy in ENGINES])
def test_the_head_of_the_queue_waits_and_all_behind_it(policy: str) -> None:
    """A prompt of 10 blocks stands before one of a block, and 5 are free; only another order lets that one pass."""
    lengths = [(20, 12), (40, 2, 0.5), (4, 2, 0.6)]
    knobs = {"num_kv_blocks": 14, "max_num_batched_tokens": 64}
    assert admissions(run(policy, lengths, **knobs)) == [0, 1, 2]
    assert admissions(run(policy, lengths, queue_order="shortest", queue_ageing=0.0, **knobs)) == [0, 2, 1]


@pytest.mark.slow
def test_checking_the_whole_prompt_ends_the_thrash() -> None:
    """Lesson 5's squeeze: many prompts whose first chunks fit and whose whole prompts do not."""
    lengths = [(100, 60, 0.1 * k) for k in range(40)]
    config = SchedulerConfig(
        max_num_seqs=16, max_num_batched_tokens=64, max_model_len=256, num_kv_blocks=40, block_size=16, watermark=0.0
    )
    counts = {
        policy: compute_metrics(record(requests_of(lengths), policy, config))["num_preemptions"]
        for policy in ("vllm-v1-2025", "vllm-v1", "sarathi", "chunked")
    }
    for checked in ("vllm-v1", "sarathi"):
        for first_chunk in ("vllm-v1-2025", "chunked"):
            assert counts[first_chunk] > 3 * counts[checked]


def test_every_engine_says_what_it_follows() -> None:
    assert list(PRESETS) == [policy.name for policy in ENGINES]
    for name, preset in PRESETS.items():
        assert preset.leaves_out
        assert set(preset.knobs) <= set(SchedulerConfig.__slots__)
        assert rules_of(POLICIES[name]) is not None
