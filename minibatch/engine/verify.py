"""Only the schedule changes: every token of every policy against `transformers`.

In float64 a request's greedy tokens must equal `generate`'s. In float32 the order of additions may
decide between two tokens whose logits tie within rounding: where a token differs, both models are
fed the same tokens, and the difference stands only if their logits agree and the two best of them
lie closer to each other than the two models do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import get_args

import numpy as np
import torch
from torch import Tensor
from transformers import GPT2LMHeadModel

from minibatch.decisions.phase import Phase
from minibatch.engine.loop import Engine
from minibatch.engine.torch_executor import TorchExecutor
from minibatch.model.batch import pack
from minibatch.model.gpt2 import GPT2
from minibatch.model.reference import generate, logits_of
from minibatch.scheduling import POLICIES, find_policy
from minibatch.scheduling.config import KVLayout, PreemptionMode, SchedulerConfig
from minibatch.scheduling.plan import ScheduledSeq
from minibatch.scheduling.policy import rules_of
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.request import Request, SamplingParams

ROUNDING = 1e-3
"""Most by which float32 logits of the two models may differ, relative to the largest logit."""


@dataclass(frozen=True, slots=True)
class RandomWorkload:
    """Random requests and the knobs under which all policies serve them."""

    requests: tuple[Request, ...]
    max_num_seqs: int
    max_num_batched_tokens: int
    block_size: int
    num_kv_blocks: int
    mix_prefill: bool = False
    compute_padding: bool = True
    max_model_len: int = 96

    def config(self, layout: KVLayout, mode: PreemptionMode) -> SchedulerConfig:
        """A contiguous pool is enlarged to hold at least one request."""
        smallest = -(-self.max_model_len // self.block_size) if layout == "contiguous" else 1
        return SchedulerConfig(
            max_num_seqs=self.max_num_seqs,
            max_num_batched_tokens=self.max_num_batched_tokens,
            max_model_len=self.max_model_len,
            block_size=self.block_size,
            num_kv_blocks=max(self.num_kv_blocks, smallest),
            kv_layout=layout,
            preemption_mode=mode,
            max_wait=0.001,
            mix_prefill=self.mix_prefill,
            compute_padding=self.compute_padding,
        )


@dataclass(frozen=True, slots=True)
class TokenCheck:
    """One policy, layout and preemption mode against the reference.

    Attributes:
        wrong: sentences, one for each request whose tokens differ without a tie.
        ties: tokens that differ where two logits tie within rounding.
    """

    policy: str
    layout: str
    mode: str
    num_tokens: int
    num_preemptions: int
    ties: int
    wrong: tuple[str, ...]


MOST_KEPT = max(rules_of(policy).pages_kept for policy in POLICIES.values())
"""Blocks that some scheduler always leaves free: with them, none rejects a request."""


def random_workload(seed: int, vocab_size: int) -> RandomWorkload:
    """Four to ten requests, and a pool small enough that some seeds preempt."""
    rng = np.random.default_rng(seed)
    lengths = [(int(rng.integers(1, 65)), int(rng.integers(1, 25))) for _ in range(rng.integers(4, 11))]
    arrivals = np.sort(rng.integers(0, 20_000_000, len(lengths)))
    requests = tuple(
        Request(
            request_id,
            tuple(rng.integers(0, vocab_size, prompt).tolist()),
            SamplingParams(max_tokens, ignore_eos=True),
            int(arrival),
        )
        for request_id, ((prompt, max_tokens), arrival) in enumerate(zip(lengths, arrivals, strict=True))
    )
    slots, block_size = int(rng.integers(1, 7)), int(rng.integers(1, 33))
    largest = -(-max(prompt + max_tokens for prompt, max_tokens in lengths) // block_size)
    return RandomWorkload(
        requests,
        max_num_seqs=slots,
        max_num_batched_tokens=int(rng.integers(slots, 65)),
        block_size=block_size,
        num_kv_blocks=largest + MOST_KEPT + int(rng.integers(0, largest)),
        mix_prefill=bool(rng.integers(2)),
        compute_padding=bool(rng.integers(2)),
    )


def verify(
    workload: RandomWorkload, model: GPT2, reference: GPT2LMHeadModel, policies: Iterable[str] = tuple(POLICIES)
) -> Iterator[TokenCheck]:
    """Serve `workload` in every way there is and compare each token; invariants are checked at every step."""
    expected = [generate(reference, r.prompt_token_ids, r.sampling.max_tokens) for r in workload.requests]
    for policy, layout, mode in product(policies, get_args(KVLayout), get_args(PreemptionMode)):
        if mode == "swap" and not rules_of(POLICIES[policy]).swaps:
            continue
        yield _verify_one(workload, model, reference, expected, policy, layout, mode)


def _verify_one(
    workload: RandomWorkload, model: GPT2, reference: GPT2LMHeadModel, expected: Sequence[list[int]],
    policy: str, layout: KVLayout, mode: PreemptionMode,
) -> TokenCheck:  # fmt: skip
    config = workload.config(layout, mode)
    executor = TorchExecutor(model, num_kv_blocks=config.num_kv_blocks, block_size=config.block_size)
    engine = Engine(arrival_source(workload.requests), find_policy(policy), executor, config, model.shape)
    engine.run()
    ties, wrong = 0, []
    for state, tokens in zip(engine.requests, expected, strict=True):
        if state.output_token_ids == tokens:
            continue
        excused = None if model.dtype == torch.float64 else count_ties(model, reference, state.request, state)
        if excused is None:
            at = _first_difference(state.output_token_ids, tokens)
            wrong.append(f"r{state.request_id} differs from transformers at output token {at}")
        else:
            ties += excused
    written = sum(len(state.output_token_ids) for state in engine.requests)
    preemptions = sum(state.num_preemptions for state in engine.requests)
    return TokenCheck(policy, layout, mode, written, preemptions, ties, tuple(wrong))


def count_ties(model: GPT2, reference: GPT2LMHeadModel, request: Request, state: RequestState) -> int | None:
    """How many of the generated tokens are not the reference's first choice but tie with it; None if one doesn't.

    Both models are fed the prompt and the tokens that were generated, so that an early difference
    does not carry over.
    """
    prompt = request.prompt_token_ids
    fed = [*prompt, *state.output_token_ids]
    theirs = logits_of(reference, fed)[len(prompt) - 1 : -1].double()
    ours = _own_logits(model, fed)[len(prompt) - 1 : -1].double()
    written = torch.tensor(state.output_token_ids, device=theirs.device)[:, None]
    apart = (theirs - ours).abs().amax(dim=1)
    gap = theirs.amax(dim=1) - theirs.gather(1, written)[:, 0]
    if bool((apart > ROUNDING * theirs.abs().amax()).any()) or bool((gap > 2 * apart).any()):
        return None
    return int((gap > 0).sum())


@torch.inference_mode()
def _own_logits(model: GPT2, token_ids: Sequence[int]) -> Tensor:
    """Logits after every token of one sequence, prefilled whole: (T, V)."""
    n = len(token_ids)
    executor = TorchExecutor(model, num_kv_blocks=1, block_size=n)
    state = RequestState(Request(0, tuple(token_ids)))
    seq = ScheduledSeq(state, 0, Phase.PREFILL, 0, n, block_table=(0,), samples=True)
    batch = pack([seq], executor.cache, model.config.n_positions, paged=False)
    logits = model.forward(batch.token_ids, batch.positions, batch.attention, None)
    if logits is None:
        raise RuntimeError("the model gave no logits although all rows were asked for")
    return logits


def _first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int:
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(ours), len(theirs)))
