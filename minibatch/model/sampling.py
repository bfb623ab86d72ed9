"""From logits to tokens.

A request's random numbers are a function of its seed and of how many tokens it has generated, and of
nothing else: which requests share its batch, how its prompt was chunked and whether it was preempted can't
change them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from minibatch.scheduling.request_state import RequestState
from minibatch.workload.request import SamplingParams

# Sorting a whole vocabulary costs more than a small model's forward pass, so only this many of the
# most likely tokens are sorted at first, and more only if the draw falls beyond them.
_FIRST_SORTED = 128


def sample(logits: Tensor, requests: Sequence[RequestState]) -> list[int]:
    """One token a request.

    Args:
        logits: (R, vocab_size); row i belongs to `requests[i]`.

    Raises:
        ValueError: the logits are no numbers, because the weights are damaged or overflow the dtype.
    """
    if not math.isfinite(float(logits.sum(dtype=torch.float32))):
        raise ValueError("the model's logits are not numbers: its weights are damaged, or need --dtype float32")
    greedy: list[int] = logits.argmax(dim=-1).tolist()
    drawn = [i for i, state in enumerate(requests) if state.request.sampling.temperature > 0]
    if not drawn:
        return greedy
    rows = (logits if len(drawn) == len(requests) else logits[drawn]).double().cpu().numpy()
    for i, row in zip(drawn, rows, strict=True):
        state = requests[i]
        params = state.request.sampling
        greedy[i] = draw(row, params, uniform(params.seed, len(state.output_token_ids)))
    return greedy


def uniform(seed: int, index: int) -> float:
    """The number in [0, 1) that draws output token `index` (0, 1, ...) of a request with this seed.

    Philox is counter-based (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011):
    any number of the stream can be had without those before it.
    """
    stream = np.random.Philox(key=seed % 2**64, counter=[0, 0, 0, index])
    return float(np.random.Generator(stream).random())


def draw(logits: npt.NDArray[np.float64], params: SamplingParams, u: float) -> int:
    """The token at quantile `u` of the filtered distribution, most likely tokens first.

    Temperature comes first, then top-k, then top-p of what top-k kept, as in vLLM. Tokens of equal
    logits are ordered by id.
    """
    with np.errstate(over="ignore"):  # a tiny temperature sends all but the best to -inf, which is right
        weights = np.exp((logits - logits.max()) / params.temperature)  # (vocab_size,), unnormalised
    size = len(weights)
    kept = min(params.top_k, size) if params.top_k else size
    num_sorted = kept if params.top_k else min(kept, _FIRST_SORTED)
    order, cumulative = _most_likely(weights, num_sorted)
    total = cumulative[-1] if params.top_k else weights.sum()
    needed = (params.top_p if params.top_p < 1 else u) * total
    while num_sorted < kept and cumulative[-1] <= needed:
        num_sorted = min(kept, num_sorted * 32)
        order, cumulative = _most_likely(weights, num_sorted)
    last = num_sorted - 1
    if params.top_p < 1:
        last = min(last, int(np.searchsorted(cumulative, needed)))
        total = cumulative[last]
    return int(order[min(last, int(np.searchsorted(cumulative, u * total, side="right")))])


def _most_likely(weights: npt.NDArray[np.float64], n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Ids of the n largest weights, largest first, ties by id; and the running sum of those weights."""
    if n == len(weights):
        order = np.argsort(-weights, kind="stable")
    else:
        candidates = np.flatnonzero(weights >= np.partition(weights, -n)[-n])
        order = candidates[np.argsort(-weights[candidates], kind="stable")][:n]
    return order, np.cumsum(weights[order])
