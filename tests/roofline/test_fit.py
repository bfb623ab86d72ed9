"""Efficiencies fitted to steps: known ones are found again, errors are as by hand, files are whole or rejected."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.engine import step_timing
from minibatch.engine.step_timing import time_steps
from minibatch.model.gpt2 import GPT2, GPT2Config, random_weights
from minibatch.roofline.calibration_store import (
    Calibration,
    CalibrationError,
    Error,
    calibration_files,
    calibration_path,
    errors_by_kind,
    load_calibration,
    modelled_ns,
    save_calibration,
    with_calibration,
)
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape, Totals
from minibatch.roofline.efficiency import Efficiency
from minibatch.roofline.fit import fit_efficiency, fit_model
from minibatch.roofline.step_samples import CHUNKS, CONTEXTS, MOST_SEQS, Kind, Part, Sample, Step, draw_steps

SHAPE = ModelShape(
    n_layer=12, n_embd=768, n_head=12, n_kv_head=12, vocab_size=50257, n_inner=3072,
    bytes_per_weight=4, bytes_per_kv=4, bytes_per_activation=4,
)  # fmt: skip
CPU = Ceilings(1e11, 2e10, "a CPU")


def synthetic(efficiency: Efficiency, count: int = 150, noise: float = 0.0) -> list[Sample]:
    """Steps that take just what the model says, or a few per cent more or less."""
    steps = draw_steps(count, SHAPE.n_positions)
    drafts = [Sample(step.kind, step.totals, len(step.parts), 1) for step in steps]
    times = modelled_ns(drafts, SHAPE, replace(CPU, efficiency=efficiency))
    times = times * np.exp(np.random.default_rng(0).normal(0, noise, count))
    return [replace(draft, measured_ns=round(time)) for draft, time in zip(drafts, times.tolist(), strict=True)]


def sample(kind: Kind, measured_ns: int, positions: int = 1) -> Sample:
    return Sample(kind, Totals(positions, positions, positions, 1), 1, measured_ns)


def some_fitted() -> Calibration:
    return fit_model("gpt2", SHAPE, CPU, synthetic(Efficiency(attention_memory=0.2, step_ns=2e6), 60))


# -- the fit --------------------------------------------------------------------------------------


@settings(max_examples=8)
@given(
    st.builds(
        Efficiency,
        linear_compute=st.floats(0.3, 1.2),
        linear_memory=st.floats(0.3, 1.2),
        attention_compute=st.floats(0.2, 1),
        attention_memory=st.floats(0.05, 1),
        lm_head_compute=st.floats(0.3, 1.2),
        lm_head_memory=st.floats(0.3, 1.2),
        step_ns=st.floats(1e5, 5e6),
        seq_ns=st.floats(1e4, 5e5),
        batch_ns=st.floats(1e5, 1e7),
    )
)
def test_known_efficiencies_are_found_again(true: Efficiency) -> None:
    """Steps come out right everywhere; so do the figures that steps of one model can tell apart."""
    found = fit_efficiency(synthetic(true), SHAPE, CPU)
    others = draw_steps(100, SHAPE.n_positions, seed=1)
    drafts = [Sample(step.kind, step.totals, len(step.parts), 1) for step in others]
    given, wanted = (modelled_ns(drafts, SHAPE, replace(CPU, efficiency=one)) for one in (found, true))
    assert np.median(np.abs(given / wanted - 1)) < 0.02
    assert found.linear_compute == pytest.approx(true.linear_compute, rel=0.1)


def test_noise_and_a_few_wild_steps_do_little_harm() -> None:
    true = Efficiency(linear_memory=0.7, attention_memory=0.2, step_ns=1e6, seq_ns=2e5, batch_ns=3e6)
    samples = synthetic(true, noise=0.05)
    wild = [replace(one, measured_ns=5 * one.measured_ns) if k % 20 == 0 else one for k, one in enumerate(samples)]
    fitted = fit_model("gpt2", SHAPE, CPU, wild)
    assert fitted.errors()["all"].median < 0.08


def test_what_no_step_depends_on_stays_as_supposed() -> None:
    """Decodes of one sequence say nothing of computing, nor of batches."""
    drafts = [Step("decode", (Part(context, 1),)) for context in range(15, 1000, 20)]
    samples = [Sample(step.kind, step.totals, 1, 10**7 + 1000 * step.context) for step in drafts]
    found = fit_efficiency(samples, SHAPE, CPU)
    assert found.batch_ns == pytest.approx(1e5)
    assert found.linear_compute == pytest.approx(0.5)


def test_steps_held_out_are_none_that_were_fitted_to() -> None:
    samples = synthetic(Efficiency(), 60)
    fitted = fit_model("gpt2", SHAPE, CPU, [*samples, *samples[:1], *samples[:1], *samples[:1]])
    fitted_to = {one.totals for k, one in enumerate(samples) if k % 3 != 2}
    assert fitted.num_fitted == 42
    assert not fitted_to & {one.totals for one in fitted.held_out}
    assert set(fitted.held_out) <= set(samples[2::3])
    assert fitted.ceilings.efficiency.source.startswith("fitted to 42 steps of gpt2 on this machine, median error ")


def test_errors_by_hand() -> None:
    samples = [sample("decode", 100), sample("decode", 100), sample("decode", 200), sample("prefill", 1000)]
    errors = errors_by_kind(samples, np.array([90.0, 130.0, 200.0, 1500.0]))
    assert list(errors) == ["decode", "prefill", "all"]
    # Of decodes 0.1, 0.3 and 0: the middle one is 0.1, and nine tenths of the way up 0.1 + 0.8 * 0.2.
    assert errors["decode"] == Error(3, pytest.approx(0.1), pytest.approx(0.26))
    assert errors["prefill"] == Error(1, pytest.approx(0.5), pytest.approx(0.5))
    assert errors["all"] == Error(4, pytest.approx(0.2), pytest.approx(0.44))


def test_too_few_steps_are_rejected() -> None:
    with pytest.raises(ValueError, match="the number of steps is 11: use at least 12"):
        fit_model("gpt2", SHAPE, CPU, synthetic(Efficiency(), 11))
    with pytest.raises(ValueError, match="every step held out repeats one"):
        fit_model("gpt2", SHAPE, CPU, [sample("decode", 100)] * 12)


# -- the steps ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_positions", "most_context"), [(1024, None), (1024, 3000), (160, None), (16, None)])
def test_steps_keep_to_their_ranges(n_positions: int, most_context: int | None) -> None:
    steps = draw_steps(200, n_positions, 3, most_context)
    assert steps == draw_steps(200, n_positions, 3, most_context)
    assert steps != draw_steps(200, n_positions, 4, most_context)
    assert {step.kind for step in steps} == {"decode", "prefill", "mixed"}
    for step in steps:
        decodes = [part for part in step.parts if step.kind == "decode" or part is not step.parts[0]]
        chunks = [] if step.kind == "decode" else [step.parts[0]]
        assert len(decodes) <= MOST_SEQS
        assert all(part.num_tokens == 1 and CONTEXTS[0] <= part.start + 1 <= CONTEXTS[1] for part in decodes)
        assert all(CHUNKS[0] <= part.num_tokens <= CHUNKS[1] for part in chunks)
        assert all(part.start + part.num_tokens <= n_positions for part in step.parts)
        assert len(step.parts) == 1 or most_context is None or step.context <= most_context


def test_steps_that_cannot_be_drawn_are_rejected() -> None:
    for arguments, says in (((0, 1024), "steps is 0"), ((9, 15), "reads 15 tokens"), ((9, 1024, -1), "seed is -1")):
        with pytest.raises(ValueError, match=says):
            draw_steps(*arguments)


def test_real_steps_are_timed_and_can_be_stopped() -> None:
    config = GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=31, n_positions=64)
    model = GPT2(config, random_weights(config, 0, torch.float32, torch.device("cpu")))
    steps = draw_steps(12, 64)
    progress: list[float] = []
    samples = time_steps(model, steps, rounds=2, progress=progress.append)
    assert [one.totals for one in samples] == [step.totals for step in steps]
    assert [one.num_seqs for one in samples] == [len(step.parts) for step in steps]
    assert all(one.measured_ns > 0 for one in samples)
    assert progress == sorted(progress)
    assert progress[-1] == 1
    assert time_steps(model, steps, should_stop=lambda: len(progress) > 0) == []


def test_the_median_of_a_steps_runs_counts() -> None:
    found = step_timing._sample(Step("decode", (Part(20, 1),)), [100, 400, 200, 800, 300])
    assert found == Sample("decode", Totals(1, 21, 21, 1), 1, 300, spread=100 / 300)


# -- what is remembered ---------------------------------------------------------------------------


def test_what_is_remembered_is_what_was_fitted(tmp_path: Path) -> None:
    fitted = some_fitted()
    path = save_calibration(fitted, tmp_path / "cache")
    assert load_calibration(path) == fitted
    assert calibration_files(tmp_path / "cache") == [path]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_only_models_of_the_same_sizes_on_this_device_use_it(tmp_path: Path) -> None:
    fitted = some_fitted()
    save_calibration(fitted, tmp_path)
    assert with_calibration(CPU, SHAPE, tmp_path) == fitted.ceilings
    assert with_calibration(CPU, replace(SHAPE, head_dim=64, bytes_per_kv=4.0), tmp_path) == fitted.ceilings
    for other in (replace(SHAPE, n_layer=13), replace(SHAPE, bytes_per_weight=2)):
        assert with_calibration(CPU, other, tmp_path) is CPU
    elsewhere = replace(CPU, device="another CPU")
    assert with_calibration(elsewhere, SHAPE, tmp_path) is elsewhere
    assert calibration_files(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: '{"version": 1}',
        lambda text: text.replace('"measured_ns": ', '"measured_ns": -'),
        lambda text: text.replace('"kind": "decode"', '"kind": "nap"'),
        lambda text: text.replace('"n_layer": 12', '"n_layer": "many"'),
        lambda text: text.replace('"attention_memory": ', '"attention_memory": -'),
        lambda text: json.dumps({**json.loads(text), "held_out": []}),
    ],
)
def test_a_damaged_file_is_rejected_and_counts_as_none(tmp_path: Path, damage: object) -> None:
    path = save_calibration(some_fitted(), tmp_path)
    path.write_text(damage(path.read_text()))  # type: ignore[operator]
    with pytest.raises(CalibrationError, match=r"is damaged: run `python -m minibatch calibrate` again"):
        load_calibration(path)
    assert with_calibration(CPU, SHAPE, tmp_path) is CPU


def test_another_version_is_rejected(tmp_path: Path) -> None:
    path = save_calibration(some_fitted(), tmp_path)
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(CalibrationError, match="is of another version"):
        load_calibration(path)
    assert path == calibration_path("a CPU", "float32", SHAPE, tmp_path)
