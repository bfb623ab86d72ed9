"""GPT-2 in torch, for a ragged packed batch over a paged KV pool.

Read it top to bottom; shapes are in the comments. T is the number of token positions in the packed
batch (no padding between sequences), C = n_embd, H = n_head, D = C / H, V = vocab_size.

Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019); names of
weights as in the published checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from minibatch.model.attention import Attention
from minibatch.model.linear import Linear
from minibatch.roofline.costs import ModelShape

# Above this many bytes of weights a CPU model keeps only one copy of them (see `Linear`).
_KEEP_PLAIN_BYTES = 2 * 2**30


@dataclass(frozen=True, slots=True)
class GPT2Config:
    """The sizes of a GPT-2. The defaults are the 124M model's.

    Attributes:
        n_inner: width of the MLP; None means 4 * n_embd.
        tied: the output matrix is the token embedding.
        eos_token_id: the token that ends a text, where there is one.
    """

    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    vocab_size: int = 50257
    n_positions: int = 1024
    n_inner: int | None = None
    layer_norm_epsilon: float = 1e-5
    tied: bool = True
    eos_token_id: int | None = None

    def __post_init__(self) -> None:
        for name in ("n_layer", "n_head", "n_embd", "vocab_size", "n_positions"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: a model has at least 1")
        if self.n_embd % self.n_head:
            raise ValueError(f"n_embd {self.n_embd} is not a multiple of n_head {self.n_head}: heads must be equal")

    @property
    def head_dim(self) -> int:
        return self.n_embd // self.n_head

    @property
    def inner(self) -> int:
        return 4 * self.n_embd if self.n_inner is None else self.n_inner

    def shape(self, itemsize: int) -> ModelShape:
        """What the cost formulas need to know, with weights, KV and activations of `itemsize` bytes."""
        return ModelShape(
            n_layer=self.n_layer,
            n_embd=self.n_embd,
            n_head=self.n_head,
            n_kv_head=self.n_head,
            vocab_size=self.vocab_size,
            n_inner=self.inner,
            bytes_per_weight=itemsize,
            bytes_per_kv=itemsize,
            bytes_per_activation=itemsize,
            tied=self.tied,
            n_positions=self.n_positions,
        )


@dataclass(frozen=True, slots=True)
class Norm:
    """Layer norm with its scale and shift, each (C,)."""

    weight: Tensor
    bias: Tensor
    epsilon: float

    def __call__(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


@dataclass(frozen=True, slots=True)
class Block:
    """One transformer layer."""

    ln_1: Norm
    qkv: Linear  # C -> 3C
    attn_out: Linear  # C -> C
    ln_2: Norm
    mlp_in: Linear  # C -> n_inner
    mlp_out: Linear  # n_inner -> C

    def forward(self, x: Tensor, layer: int, attention: Attention) -> Tensor:
        # x: (T, C)
        y = attention(layer, self.qkv(self.ln_1(x)))  # (T, 3C) -> (T, C)
        x = self.attn_out.plus(y, x)
        y = functional.gelu(self.mlp_in(self.ln_2(x)), approximate="tanh")  # (T, n_inner)
        return self.mlp_out.plus(y, x)


class GPT2:
    """A GPT-2 ready to run.

    Args:
        weights: tensors by checkpoint name, with or without the "transformer." prefix, all of the
            dtype and device to run on. Linear weights are (in, out), as the checkpoints have them.

    Raises:
        KeyError: a weight is missing.
        ValueError: a weight has the wrong shape.
    """

    def __init__(self, config: GPT2Config, weights: Mapping[str, Tensor]) -> None:
        self.config = config
        c, inner = config.n_embd, config.inner

        def get(name: str, *shape: int) -> Tensor:
            tensor = weights.get(name)
            if tensor is None:
                tensor = weights["transformer." + name]
            if tuple(tensor.shape) != shape:
                raise ValueError(f"weight {name} is {tuple(tensor.shape)} where the config says {shape}")
            return tensor.detach()

        self.wte = get("wte.weight", config.vocab_size, c)
        self.wpe = get("wpe.weight", config.n_positions, c)
        keep_plain = config.n_layer * 12 * c * c * self.dtype.itemsize <= _KEEP_PLAIN_BYTES

        def linear(name: str, n_in: int, n_out: int) -> Linear:
            return Linear(get(name + ".weight", n_in, n_out), get(name + ".bias", n_out), keep_plain=keep_plain)

        def norm(name: str) -> Norm:
            return Norm(get(name + ".weight", c), get(name + ".bias", c), config.layer_norm_epsilon)

        self.blocks = [
            Block(
                ln_1=norm(f"h.{i}.ln_1"),
                qkv=linear(f"h.{i}.attn.c_attn", c, 3 * c),
                attn_out=linear(f"h.{i}.attn.c_proj", c, c),
                ln_2=norm(f"h.{i}.ln_2"),
                mlp_in=linear(f"h.{i}.mlp.c_fc", c, inner),
                mlp_out=linear(f"h.{i}.mlp.c_proj", inner, c),
            )
            for i in range(config.n_layer)
        ]
        self.ln_f = norm("ln_f")
        head = self.wte if config.tied else weights["lm_head.weight"].detach()  # (V, C)
        self.lm_head = Linear(head.t(), None)

    @property
    def dtype(self) -> torch.dtype:
        return self.wte.dtype

    @property
    def device(self) -> torch.device:
        return self.wte.device

    @property
    def shape(self) -> ModelShape:
        """What the cost formulas need to know."""
        return self.config.shape(self.dtype.itemsize)

    def forward(
        self, token_ids: Tensor, positions: Tensor, attention: Attention, logit_rows: Tensor | None
    ) -> Tensor | None:
        """One forward pass over a packed batch.

        Args:
            token_ids: (T,) int64.
            positions: (T,) int64, below n_positions.
            attention: reads and writes the KV pool for this batch; (layer, qkv (T, 3C)) -> (T, C).
            logit_rows: (R,) int64, the rows of the batch that need logits; None for all of them.

        Returns:
            Logits (R, V), or None if `logit_rows` is empty.
        """
        x = functional.embedding(token_ids, self.wte) + functional.embedding(positions, self.wpe)  # (T, C)
        for layer, block in enumerate(self.blocks):
            x = block.forward(x, layer, attention)
        if logit_rows is not None:
            if not logit_rows.numel():
                return None
            x = x.index_select(0, logit_rows)  # (R, C)
        return self.lm_head(self.ln_f(x))  # (R, V)


def random_weights(config: GPT2Config, seed: int, dtype: torch.dtype, device: torch.device) -> dict[str, Tensor]:
    """Weights drawn as GPT-2's were before training: normal, 0.02, residual outputs / sqrt(2 * n_layer).

    Drawn in float32 whatever the dtype, so that a seed means the same model in every precision.
    """
    generator = torch.Generator().manual_seed(seed)
    c, inner = config.n_embd, config.inner

    def normal(*shape: int, std: float = 0.02) -> Tensor:
        return torch.empty(shape).normal_(0.0, std, generator=generator).to(device, dtype)

    def constant(value: float, n: int) -> Tensor:
        return torch.full((n,), value, dtype=dtype, device=device)

    weights = {"wte.weight": normal(config.vocab_size, c), "wpe.weight": normal(config.n_positions, c)}
    residual = 0.02 / math.sqrt(2 * config.n_layer)
    for i in range(config.n_layer):
        for name, n_in, n_out, std in (
            ("attn.c_attn", c, 3 * c, 0.02),
            ("attn.c_proj", c, c, residual),
            ("mlp.c_fc", c, inner, 0.02),
            ("mlp.c_proj", inner, c, residual),
        ):
            weights[f"h.{i}.{name}.weight"] = normal(n_in, n_out, std=std)
            weights[f"h.{i}.{name}.bias"] = constant(0.0, n_out)
        for name in ("ln_1", "ln_2"):
            weights[f"h.{i}.{name}.weight"] = constant(1.0, c)
            weights[f"h.{i}.{name}.bias"] = constant(0.0, c)
    weights["ln_f.weight"] = constant(1.0, c)
    weights["ln_f.bias"] = constant(0.0, c)
    if not config.tied:
        weights["lm_head.weight"] = normal(config.vocab_size, c)
    return weights
