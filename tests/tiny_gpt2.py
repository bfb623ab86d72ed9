"""Tiny GPT-2s, and sequences driven through an executor by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import pytest
import torch
from transformers import GPT2Config as HFConfig
from transformers import GPT2LMHeadModel

from minibatch.decisions.phase import Phase
from minibatch.engine.torch_executor import TorchExecutor
from minibatch.model.gpt2 import GPT2, GPT2Config
from minibatch.scheduling.plan import ScheduledSeq, plan_of
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.request import Request, SamplingParams

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
CONFIG = GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=97, n_positions=160)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


@pytest.fixture(scope="session")
def reference() -> GPT2LMHeadModel:
    """A random transformers model in float64, with weights large enough for tokens to differ."""
    torch.manual_seed(0)
    c = CONFIG
    config = HFConfig(
        n_layer=c.n_layer,
        n_head=c.n_head,
        n_embd=c.n_embd,
        vocab_size=c.vocab_size,
        n_positions=c.n_positions,
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
        initializer_range=0.25,
        attn_implementation="eager",
    )
    model = GPT2LMHeadModel(config).double().eval()
    for name, tensor in model.named_parameters():
        if name.endswith("bias"):
            tensor.data.normal_(std=0.1)
    return model


@pytest.fixture
def model(reference: GPT2LMHeadModel, device: torch.device) -> GPT2:
    return make_model(reference, "float64", device)


def make_model(reference: GPT2LMHeadModel, dtype: str, device: torch.device) -> GPT2:
    kind = getattr(torch, dtype)
    return GPT2(CONFIG, {name: t.detach().to(device, kind) for name, t in reference.state_dict().items()})


@dataclass
class Driver:
    """Schedules by hand: gives requests shuffled blocks and runs the sequences it is told to run."""

    executor: TorchExecutor
    seed: int = 0
    free: list[int] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.free = list(range(self.executor.cache.num_kv_blocks))
        random.Random(self.seed).shuffle(self.free)

    def request(self, prompt: list[int], **sampling: object) -> RequestState:
        params = SamplingParams(**{"max_tokens": 1000, **sampling})  # type: ignore[arg-type]
        return RequestState(Request(next(self.ids), tuple(prompt), params))

    def seq(self, request: RequestState, num_tokens: int = 1, num_padding: int = 0) -> ScheduledSeq:
        """The next `num_tokens` of a request, with the blocks that they need."""
        start = request.num_computed_tokens
        needed = -(-(start + num_tokens) // self.executor.cache.block_size)
        while len(request.block_table) < needed:
            request.block_table.append(self.free.pop())
        return ScheduledSeq(
            request,
            slot=request.request_id,
            phase=Phase.PREFILL if start < request.request.num_prompt_tokens else Phase.DECODE,
            start=start,
            num_tokens=num_tokens,
            num_padding=num_padding,
            block_table=tuple(request.block_table),
            samples=start + num_tokens == request.num_tokens,
        )

    def run(self, *seqs: ScheduledSeq) -> dict[int, int]:
        result = self.executor.execute(plan_of(seqs))
        for seq in seqs:
            seq.request.num_computed_tokens += seq.num_tokens
            if seq.samples:
                seq.request.output_token_ids.append(result.token_ids[seq.request.request_id])
        assert set(result.token_ids) == {seq.request.request_id for seq in seqs if seq.samples}
        assert result.duration_ns > 0
        return result.token_ids

    def finish(self, request: RequestState, num_outputs: int) -> list[int]:
        """Prefill what is left and decode, alone, to `num_outputs` tokens."""
        while len(request.output_token_ids) < num_outputs:
            self.run(self.seq(request, request.num_tokens - request.num_computed_tokens))
        return request.output_token_ids


def prompts(lengths: list[int], seed: int = 0) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randrange(CONFIG.vocab_size) for _ in range(n)] for n in lengths]


def greedy(reference: GPT2LMHeadModel, prompt: list[int], num_outputs: int) -> list[int]:
    """What transformers' `generate` writes."""
    ids = torch.tensor([prompt])
    out = reference.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=num_outputs,
        min_new_tokens=num_outputs,
    )
    tokens: list[int] = out[0, len(prompt) :].tolist()
    return tokens
