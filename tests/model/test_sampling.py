"""Each request draws from its own stream, and from the distribution that it asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from minibatch.engine.torch_executor import TorchExecutor
from minibatch.model.gpt2 import GPT2
from minibatch.model.sampling import draw, sample, uniform
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.request import Request, SamplingParams
from tests.tiny_gpt2 import Driver, prompts

LOGITS = np.log(np.array([0.1, 0.4, 0.2, 0.3]))


def drawn(params: SamplingParams, logits: np.ndarray = LOGITS, n: int = 4000) -> np.ndarray:
    """Share of each token when u runs evenly over [0, 1)."""
    tokens = [draw(logits, params, (i + 0.5) / n) for i in range(n)]
    return np.bincount(tokens, minlength=len(logits)) / n


def test_temperature_one_draws_the_distribution() -> None:
    np.testing.assert_allclose(drawn(SamplingParams(temperature=1)), [0.1, 0.4, 0.2, 0.3], atol=1e-3)


def test_temperature_sharpens() -> None:
    squared = np.array([0.1, 0.4, 0.2, 0.3]) ** 2
    np.testing.assert_allclose(drawn(SamplingParams(temperature=0.5)), squared / squared.sum(), atol=1e-3)


def test_a_tiny_temperature_is_greedy() -> None:
    assert drawn(SamplingParams(temperature=1e-300))[1] == 1


def test_top_k_keeps_the_k_likeliest() -> None:
    np.testing.assert_allclose(drawn(SamplingParams(temperature=1, top_k=2)), [0, 4 / 7, 0, 3 / 7], atol=1e-3)


@pytest.mark.parametrize(("top_p", "kept"), [(0.3, [1]), (0.6, [1, 3]), (0.8, [1, 2, 3]), (0.95, [0, 1, 2, 3])])
def test_top_p_keeps_the_fewest_that_reach_p(top_p: float, kept: list[int]) -> None:
    shares = drawn(SamplingParams(temperature=1, top_p=top_p))
    assert np.flatnonzero(shares).tolist() == kept


def test_top_p_is_taken_of_what_top_k_kept() -> None:
    shares = drawn(SamplingParams(temperature=1, top_k=2, top_p=0.55))
    assert np.flatnonzero(shares).tolist() == [1]  # 4/7 of the two


@pytest.mark.parametrize("params", [{}, {"top_p": 0.99}, {"top_p": 0.5}, {"top_k": 300}, {"top_k": 300, "top_p": 0.9}])
def test_partial_sorting_changes_nothing(params: dict[str, float]) -> None:
    """Against a plain implementation on a flat distribution, with ties, over a large vocabulary."""
    rng = np.random.default_rng(0)
    logits = np.round(rng.normal(size=5000), 2)
    sampling = SamplingParams(temperature=1.3, **params)  # type: ignore[arg-type]
    order = np.argsort(-logits, kind="stable")[: sampling.top_k or None]
    weights = np.exp((logits[order] - logits.max()) / 1.3)
    if sampling.top_p < 1:
        weights = weights[: np.searchsorted(np.cumsum(weights), sampling.top_p * weights.sum()) + 1]
    cumulative = np.cumsum(weights) / weights.sum()
    for u in np.linspace(0.0005, 0.9995, 500):
        assert draw(logits, sampling, u) == order[np.searchsorted(cumulative, u, side="right")]


def test_the_last_token_can_be_drawn() -> None:
    assert draw(LOGITS, SamplingParams(temperature=1), np.nextafter(1, 0)) == 0


def test_streams_depend_on_seed_and_index_alone() -> None:
    numbers = {(seed, i): uniform(seed, i) for seed in (0, 1, -1, 2**63) for i in range(50)}
    assert all(0 <= u < 1 for u in numbers.values())
    assert len(set(numbers.values())) == len(numbers)
    assert uniform(1, 7) == numbers[1, 7]
    assert np.mean(list(numbers.values())) == pytest.approx(0.5, abs=0.07)


def test_greedy_and_drawn_rows_mix() -> None:
    def state(i: int, **sampling: float) -> RequestState:
        return RequestState(Request(i, (1,), SamplingParams(**sampling)))  # type: ignore[arg-type]

    logits = torch.from_numpy(np.stack([LOGITS] * 3))
    states = [state(0), state(1, temperature=1, seed=5), state(2, temperature=1, top_k=1)]
    expected = draw(LOGITS, states[1].request.sampling, uniform(5, 0))
    assert sample(logits, states) == [1, expected, 1]


def test_batch_mates_chunks_and_preemption_change_no_draws(model: GPT2) -> None:
    prompt, *others = prompts([30, 12, 40])
    sampling = {"temperature": 1.0, "seed": 3}
    alone = Driver(TorchExecutor(model, num_kv_blocks=64, block_size=16))
    right = alone.finish(alone.request(prompt, **sampling), 12)

    drive = Driver(TorchExecutor(model, num_kv_blocks=64, block_size=4))
    request = drive.request(prompt, **sampling)
    mates = [drive.request(p, temperature=1.0, seed=9) for p in others]
    drive.run(drive.seq(request, 11), *(drive.seq(m, m.num_tokens) for m in mates))
    drive.run(drive.seq(request, 19), *(drive.seq(m) for m in mates))
    for _ in range(4):
        drive.run(*(drive.seq(m) for m in mates), drive.seq(request))
    request.num_computed_tokens = 0  # preempted by recompute
    request.block_table.clear()
    assert drive.finish(request, 12) == right
    assert mates[0].output_token_ids != mates[1].output_token_ids


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_logits_that_are_no_numbers_are_rejected(temperature: float) -> None:
    state = RequestState(Request(0, (1,), SamplingParams(temperature=temperature)))
    with pytest.raises(ValueError, match="not numbers"):
        sample(torch.full((1, 5), float("nan")), [state])
