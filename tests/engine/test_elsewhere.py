"""Runs of a model and on a device that are not here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minibatch.analysis.registry.accelerators import find_accelerator
from minibatch.analysis.registry.models import find_shape
from minibatch.engine import session
from minibatch.engine.fork import fork
from minibatch.engine.job import Job
from minibatch.engine.session import run_job
from minibatch.model import weights
from minibatch.recording.storage import dumps, loads
from minibatch.recording.validation import check
from minibatch.roofline.ceilings import Ceilings
from minibatch.scheduling.config import SchedulerConfig

JOB = Job(
    policies=("continuous", "chunked"),
    config=SchedulerConfig(),
    scenario="long-document",
    model="llama-3.1-8b",
    clock="modelled",
    shape=find_shape("llama-3.1-8b"),
    ceilings=find_accelerator("H100").ceilings(),
)


@pytest.fixture(autouse=True)
def _nothing_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither this machine is measured nor a model's config or weights looked for."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("what is not here was looked for")

    monkeypatch.setattr(session, "load_or_measure", refuse)
    monkeypatch.setattr(session, "read_config", refuse)
    monkeypatch.setattr(session, "load_model", refuse)
    monkeypatch.setattr(weights, "_transformers", refuse)


def test_the_recording_says_what_it_was_computed_for() -> None:
    runs = run_job(JOB)
    for run in loads(dumps(runs)):
        check(run)
        header = run.header
        assert (header.clock, header.model, header.dtype) == ("modelled", "llama-3.1-8b", "bfloat16")
        assert header.device == "H100 SXM 80GB (data sheet)"
        assert header.ceilings is not None
        assert header.ceilings["source"].startswith("data sheet: NVIDIA, H100")
        assert header.ceilings["flops_per_s"] == find_accelerator("H100").flops_per_s
        assert header.shape is not None
        assert header.shape["vocab_size"] == 128256
    # A decode reads all weights: 4.5 ms of the H100's memory.
    assert runs[0].iterations["duration_ns"].min() > 4_400_000
    assert dumps(run_job(JOB)) == dumps(runs)


def test_prompts_are_as_long_as_for_any_other_model(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [request.num_prompt_tokens for request in run_job(JOB)[0].requests]
    monkeypatch.undo()
    monkeypatch.setattr(session, "load_or_measure", lambda *_: Ceilings(1e11, 1e10, "a machine"))
    bundled = run_job(replace(JOB, model="bundled", shape=None, ceilings=None))[0]
    assert lengths == [request.num_prompt_tokens for request in bundled.requests]


def test_a_fork_goes_on_with_the_same_devices() -> None:
    job = replace(JOB, policies=("chunked",), ceilings=find_accelerator("H100").ceilings(num_devices=4))
    (run,) = loads(dumps(run_job(job)))
    assert run.header.device == "4 × H100 SXM 80GB (data sheet, link secondary)"
    future = fork(run, 5, "max_num_batched_tokens", 64).unchanged
    assert (future.iterations["duration_ns"] == run.iterations["duration_ns"]).all()


def test_more_devices_are_faster_and_less_than_in_proportion() -> None:
    times = [
        run_job(replace(JOB, policies=("chunked",), ceilings=find_accelerator("A100-80GB").ceilings(num_devices=n)))[0]
        .iterations["executor_ns"]
        .min()
        for n in (1, 2, 4, 8)
    ]
    assert times == sorted(times, reverse=True)
    assert times[0] < 8 * times[-1]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"clock": "measured"}, "can't be measured: use the modelled clock"),
        ({"clock": "measured", "shape": None}, "can't be measured"),
        ({"shape": find_shape("llama-3.1-70b"), "model": "llama-3.1-70b"}, r"take 141\.1 GB and H100 .* has 80 GB"),
        ({"config": SchedulerConfig(num_kv_blocks=40_000)}, r"KV blocks 83\.9 GB.*num_kv_blocks of at most 30,488"),
        ({"config": SchedulerConfig(max_model_len=200_000)}, "reads at most 131072 tokens"),
        ({"ceilings": find_accelerator("H100").ceilings(num_devices=16)}, "16 devices can't share 32 heads and 8 KV"),
    ],
)
def test_what_cannot_be_gets_a_sentence(change: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        run_job(replace(JOB, **change))


def test_ceilings_of_several_devices_need_a_link() -> None:
    with pytest.raises(ValueError, match="use at least 1"):
        Ceilings(1, 1, "x", num_devices=0)
    for link in (None, 0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="use a positive number"):
            Ceilings(1, 1, "x", num_devices=2, link_bytes_per_s=link)
