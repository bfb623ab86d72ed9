"""Which limit binds, by rule and in runs worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.analysis.bottleneck import Bottleneck, Shares, bottleneck
from minibatch.analysis.summarise import summarise
from minibatch.analysis.summary_metrics import summary_shares
from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of

SHARE = st.floats(0, 1)
THREE = [(3, 2), (5, 4), (2, 2)]
WAITS = ("slots", "kv_blocks", "token_budget", "batch")


def run(policy: str, lengths=THREE, **knobs) -> Recording:
    knobs = {"max_num_seqs": 2, "max_num_batched_tokens": 4, "max_model_len": 16, "watermark": 0.0} | knobs
    return record(requests_of(lengths), policy, SchedulerConfig(**knobs))


def waits(recording: Recording) -> dict[str, float]:
    """The shares that are not 0."""
    shares = summary_shares(summarise(recording), follows=False)
    return {name: getattr(shares, name) for name in WAITS if getattr(shares, name)}


@pytest.mark.parametrize(
    ("shares", "cause"),
    [
        ({"slots": 0.9, "follows": True}, Bottleneck.LOAD),
        ({"slots": 0.5, "kv_blocks": 0.3}, Bottleneck.SLOTS),
        ({"slots": 0.3, "kv_blocks": 0.5}, Bottleneck.KV),
        ({"slots": 0.3, "token_budget": 0.31}, Bottleneck.BUDGET),
        ({"slots": 0.3, "batch": 0.5}, Bottleneck.BATCH),
        ({"slots": 0.4, "kv_blocks": 0.4}, Bottleneck.SLOTS),
        ({"slots": 0.9, "compute": 0.6}, Bottleneck.COMPUTE),
        ({"slots": 0.9, "compute": 0.5}, Bottleneck.SLOTS),
        ({"token_budget": 0.9, "compute": 0.6}, Bottleneck.COMPUTE),
        ({"kv_blocks": 0.9, "compute": 0.6}, Bottleneck.KV),
        ({"batch": 0.9, "compute": 0.6}, Bottleneck.BATCH),
        ({"slots": 0.05, "compute": 0.6}, Bottleneck.COMPUTE),
        ({"slots": 0.05, "compute": 0.4}, Bottleneck.BANDWIDTH),
        ({"slots": 0.04, "kv_blocks": 0.06}, Bottleneck.KV),
    ],
)
def test_the_first_rule_that_holds(shares, cause):
    assert bottleneck(Shares(**{"follows": False} | shares)) is cause


@given(st.fixed_dictionaries(dict.fromkeys((*WAITS, "compute"), SHARE)))
def test_only_what_was_waited_for_binds(shares):
    assert bottleneck(Shares(True, **shares)) is Bottleneck.LOAD
    cause = bottleneck(Shares(False, **shares))
    assert cause is not Bottleneck.LOAD
    named = {
        Bottleneck.SLOTS: "slots",
        Bottleneck.KV: "kv_blocks",
        Bottleneck.BUDGET: "token_budget",
        Bottleneck.BATCH: "batch",
    }
    if cause in named:
        assert shares[named[cause]] == max(shares[name] for name in WAITS)
    else:
        assert (cause is Bottleneck.COMPUTE) == (shares["compute"] > 0.5)


@pytest.mark.parametrize(("name", "value"), [("slots", -0.1), ("compute", 1.1), ("batch", float("nan"))])
def test_a_share_is_from_0_to_1(name, value):
    with pytest.raises(ValueError, match=f"the share {name} is {value:g}: use 0 to 1"):
        Shares(False, **{name: value})


def test_every_cause_has_a_sentence():
    assert len({cause.words for cause in Bottleneck}) == len(Bottleneck)


def test_waits_for_a_slot():
    """Iterations of 1.8, 1.2, 1.2, 1.2, 1.1 ms; the third request waits for the first two."""
    assert waits(run("continuous")) == pytest.approx({"slots": 3.0 / 6.5})


def test_waits_for_the_token_budget():
    """1.4, 1.4, 1.3, 1.2, 1.1, 1.1 ms; prompts of 3 and 5 tokens take two iterations of 4."""
    assert waits(run("chunked", max_num_seqs=3)) == pytest.approx({"token_budget": 2.8 / 7.5})


def test_waits_for_a_batch_to_end():
    """2.0, 1.2, 1.2, 1.2, 1.2, 1.1 ms; the slots fill up in the first, and are closed for three more."""
    assert waits(run("static")) == pytest.approx({"slots": 2.0 / 7.9, "batch": 3.6 / 7.9})


def test_waits_for_a_window_are_no_limit():
    """The third request waits again once the others have gone, for the window."""
    recording = run("dynamic", max_wait=0.01)
    assert waits(recording) == pytest.approx({"slots": 2.0 / 12.3, "batch": 3.6 / 12.3})


@pytest.mark.parametrize(("mode", "total_ms"), [("recompute", 7.6), ("swap", 7.2)])
def test_waits_for_blocks(mode, total_ms):
    """A preempted request waits 1.1 ms for three blocks, however it was preempted."""
    recording = run("continuous", [(3, 4), (3, 4)], block_size=2, num_kv_blocks=4, preemption_mode=mode)
    assert waits(recording) == pytest.approx({"kv_blocks": 1.1 / total_ms})


@pytest.mark.parametrize(("ridge", "compute"), [(100.0, 0.0), (4.0, 1.8 / 6.5), (0.01, 1.0)])
def test_iterations_right_of_the_ridge_are_compute_bound(ridge, compute):
    """Intensities: 5.1, 1.7, 1.7, 1.7, 0.9 FLOP/byte."""
    recording = run("continuous")
    ceilings = {"flops_per_s": ridge * 1e9, "bytes_per_s": 1e9, "source": "made up"}
    recording = replace(recording, header=replace(recording.header, ceilings=ceilings))
    assert summary_shares(summarise(recording), follows=True).compute == pytest.approx(compute)


def test_whether_it_follows_is_the_sweeps_to_say():
    assert bottleneck(summary_shares(summarise(run("continuous")), follows=True)) is Bottleneck.LOAD
    assert bottleneck(summary_shares(summarise(run("continuous")), follows=False)) is Bottleneck.SLOTS


def test_a_run_without_iterations_has_no_shares():
    assert summary_shares(summarise(run("continuous", [(12, 8)])), follows=True) == Shares(True)


def test_a_device_of_unknown_speed_is_rejected():
    recording = run("continuous")
    with pytest.raises(ValueError, match="does not say how fast its device is"):
        summarise(replace(recording, header=replace(recording.header, ceilings=None)))
