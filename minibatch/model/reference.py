"""The same weights in `transformers`: the outside truth for tokens, and the rival in benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GPT2Config as TransformersConfig
from transformers import GPT2LMHeadModel

from minibatch.model.gpt2 import GPT2Config


def reference_model(config: GPT2Config, weights: Mapping[str, Tensor], attention: str = "sdpa") -> GPT2LMHeadModel:
    """`transformers`' GPT-2 with these weights, by checkpoint name, in their dtype and on their device.

    It shares the tensors instead of copying them.
    """
    settings = TransformersConfig(
        n_layer=config.n_layer,
        n_head=config.n_head,
        n_embd=config.n_embd,
        n_inner=config.inner,
        vocab_size=config.vocab_size,
        n_positions=config.n_positions,
        layer_norm_epsilon=config.layer_norm_epsilon,
        tie_word_embeddings=config.tied,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    settings._attn_implementation = attention
    with torch.device("meta"):
        model = GPT2LMHeadModel(settings)
    named = {name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}": t
             for name, t in weights.items()}  # fmt: skip
    named.setdefault("lm_head.weight", named["transformer.wte.weight"])
    wanted = set(model.state_dict())
    model.load_state_dict({name: t for name, t in named.items() if name in wanted}, assign=True)
    model.tie_weights()
    return model.eval()


@torch.inference_mode()
def generate(model: GPT2LMHeadModel, prompt: Sequence[int], num_tokens: int) -> list[int]:
    """What `transformers.generate` generates greedily after `prompt`, exactly `num_tokens` tokens."""
    ids = torch.tensor([list(prompt)], device=model.device)
    settings: dict[str, Any] = {"do_sample": False, "max_new_tokens": num_tokens, "min_new_tokens": num_tokens}
    out = model.generate(ids, attention_mask=torch.ones_like(ids), **settings)
    tokens: list[int] = out[0, len(prompt) :].tolist()
    return tokens


@torch.inference_mode()
def logits_of(model: GPT2LMHeadModel, token_ids: Sequence[int]) -> Tensor:
    """Logits after every token of one sequence: (T, V)."""
    logits: Tensor = model(input_ids=torch.tensor([list(token_ids)], device=model.device)).logits[0]
    return logits
