"""FLOPs and bytes of one iteration, counted from the plan alone.

Symbols: a sequence computes n = num_tokens + num_padding positions after `start` earlier ones, so
its context is k = start + n. T is the sum of n over the batch, R the number of sampled rows, L
n_layer, C n_embd, Q = n_head * head_dim, K = n_kv_head * head_dim, I n_inner, M the number of MLP
matrices, V vocab_size.

FLOPs, a multiply-add being two, as `torch.utils.flop_counter` counts (matrix products alone):

    linear     2 T L (C (Q + 2K) + Q C + M C I)
    attention  4 L Q sum(n k)         the whole n x k rectangle, though causal kernels skip part
    lm_head    2 R C V                logits of sampled rows only

Bytes through device memory, each tensor moved once an iteration (a perfect cache within an
operator, none between operators; Williams et al., "Roofline", CACM 2009; Pope et al., "Efficiently
Scaling Transformer Inference", 2022, for which tensors matter):

    weights      every layer's matrices, biases and norms; the embedding rows that are looked up;
                 the final norm; and the lm_head matrix if any row is sampled
    KV           written 2 L K n and read 2 L K k a sequence
    activations  the inputs and outputs of the matrix products and of attention; elementwise work
                 is taken as fused into them:
                 T L (C + (Q + 2K) + Q + Q + Q + C + C + (M-1) I + I + C) + R (C + V)

Padding is counted like any other position: the device computes it.

Biases and norms beyond those of GPT-2 and of Llama (Qwen2's biases of q, k and v, say) are counted
with the weights as `extra_per_layer` and `extra`; the arithmetic of all of them is left out.

Tensor parallelism (Shoeybi et al., "Megatron-LM", 2019): N devices hold an N-th of the heads, KV
and MLP each, and sum their parts by two all-reduces of T C elements a layer, one after attention
and one after the MLP. A ring all-reduce sends 2 (N-1)/N of its elements over each device's link
(Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009):

    link         2 L * 2 (N-1)/N * T C    elements a device
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from minibatch.scheduling.plan import ScheduledSeq

Count = Any
"""An int, or an int64 array with an entry an iteration: the same formulas serve both."""
Amount = Any
"""A float, or a float64 array with an entry an iteration."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The sizes of a decoder-only transformer that its costs depend on.

    Attributes:
        n_kv_head: key/value heads; fewer than n_head under grouped-query attention.
        n_inner: width of the MLP.
        head_dim: None means n_embd / n_head.
        num_mlp_matrices: 2, or 3 for a gated MLP (as in Llama).
        has_biases: linear layers and norms have biases, and positions are a learned table (GPT-2, OPT).
        tied: the output matrix is the token embedding; changes the model's size, not its traffic.
        n_positions: most tokens that the model reads.
        unused_positions: rows of the position table that no token uses (OPT: 2).
        extra_per_layer, extra: biases and norms beyond those that `has_biases` says, of each layer and outside of
            them, in elements.
        bytes_per_weight, bytes_per_kv, bytes_per_activation: bytes an element.
    """

    n_layer: int
    n_embd: int
    n_head: int
    n_kv_head: int
    vocab_size: int
    n_inner: int
    bytes_per_weight: float = 2
    bytes_per_kv: float = 2
    bytes_per_activation: float = 2
    head_dim: int | None = None
    num_mlp_matrices: int = 2
    has_biases: bool = True
    tied: bool = True
    n_positions: int = 1024
    unused_positions: int = 0
    extra_per_layer: int = 0
    extra: int = 0

    @property
    def q_dim(self) -> int:
        return self.n_head * (self.head_dim or self.n_embd // self.n_head)

    @property
    def kv_dim(self) -> int:
        return self.n_kv_head * (self.head_dim or self.n_embd // self.n_head)

    @property
    def matrix_elements_per_layer(self) -> int:
        """Weights of one layer's matrices: a token costs two FLOPs for each."""
        c, q, k = self.n_embd, self.q_dim, self.kv_dim
        return c * (q + 2 * k) + q * c + self.num_mlp_matrices * c * self.n_inner

    @property
    def elements_per_layer(self) -> int:
        """All weights of one layer."""
        c = self.n_embd
        matrices = self.matrix_elements_per_layer + self.extra_per_layer
        if not self.has_biases:
            return matrices + 2 * c  # two norms, scale only
        biases = self.q_dim + 2 * self.kv_dim + c + (self.num_mlp_matrices - 1) * self.n_inner + c
        return matrices + biases + 4 * c

    @property
    def num_parameters(self) -> int:
        """All weights of the model."""
        c = self.n_embd
        embeddings = self.vocab_size * c * (1 if self.tied else 2)
        if self.has_biases:
            embeddings += (self.n_positions + self.unused_positions) * c
        return self.n_layer * self.elements_per_layer + embeddings + self._final_norm + self.extra

    @property
    def weight_bytes(self) -> int:
        """All weights of the model, in bytes."""
        return round(self.num_parameters * self.bytes_per_weight)

    @property
    def kv_bytes_per_token(self) -> int:
        """Keys and values of one token in all layers, in bytes."""
        return round(2 * self.n_layer * self.kv_dim * self.bytes_per_kv)

    @property
    def _final_norm(self) -> int:
        return self.n_embd * (2 if self.has_biases else 1)


class Costs(NamedTuple):
    """Work of one iteration: FLOPs, and bytes moved through device memory by what they are."""

    flops: int = 0
    bytes_weights: int = 0
    bytes_kv: int = 0
    bytes_activations: int = 0

    @property
    def bytes(self) -> int:
        return self.bytes_weights + self.bytes_kv + self.bytes_activations

    @property
    def intensity(self) -> float:
        """FLOP/byte; 0 for no work."""
        return self.flops / self.bytes if self.bytes else 0.0


@dataclass(frozen=True, slots=True)
class Totals:
    """What the costs of an iteration depend on; each an int, or an int64 array with an entry an iteration.

    Attributes:
        positions: T, token positions computed, padding included.
        rectangle: sum of n k over the batch.
        context: sum of k.
        sampled: R, rows that give logits.
    """

    positions: Count
    rectangle: Count
    context: Count
    sampled: Count


class Operator(NamedTuple):
    """Work of one kind of operator in all layers: FLOPs, and bytes moved by what they are.

    Bytes are floats: a weight may take half a byte.
    """

    name: str
    flops: Count
    bytes_weights: Amount = 0.0
    bytes_kv: Amount = 0.0
    bytes_activations: Amount = 0.0

    @property
    def bytes(self) -> Amount:
        return self.bytes_weights + self.bytes_kv + self.bytes_activations


def together(parts: Iterable[Operator]) -> Operator:
    """The work of some operators as that of one."""
    names, *amounts = zip(*parts, strict=True)
    return Operator(" and ".join(names), *map(sum, amounts))


def total(seqs: Iterable[ScheduledSeq], decode_starts: Sequence[int] = ()) -> Totals:
    """The totals of one iteration that runs `seqs`, and beside them plain decodes that start at `decode_starts`."""
    positions = sampled = len(decode_starts)
    rectangle = context = sum(decode_starts) + positions
    for seq in seqs:
        n = seq.num_tokens + seq.num_padding
        k = seq.start + n
        positions += n
        rectangle += n * k
        context += k
        sampled += seq.samples
    return Totals(positions, rectangle, context, sampled)


class Rates:
    """The work of one model by operator; what each unit of it costs is computed once.

    "linear" is every matrix product of the layers with its weights, "attention" what reads and
    writes KV. The weights are counted once however many sequences share them; those of the lm_head
    only where a row is sampled.

    Attributes:
        attention_flops: FLOPs of a position with an entry of its context.
        kv_bytes: bytes of a token's KV, written or read.
        attention_bytes: bytes of a position's activations in attention.
    """

    def __init__(self, shape: ModelShape) -> None:
        layers, c, q, inner = shape.n_layer, shape.n_embd, shape.q_dim, shape.num_mlp_matrices * shape.n_inner
        weight, activation = shape.bytes_per_weight, shape.bytes_per_activation
        self.attention_flops = 4 * layers * q
        self.kv_bytes = 2 * layers * shape.kv_dim * shape.bytes_per_kv
        self.attention_bytes = 2 * layers * q * activation
        self._lookup_bytes = c * (2 if shape.has_biases else 1) * weight  # token rows, and learned position rows
        self._linear_flops = 2 * layers * shape.matrix_elements_per_layer
        self._linear_weights = layers * shape.elements_per_layer * weight
        self._linear_bytes = layers * (4 * c + 2 * q + 2 * shape.kv_dim + inner) * activation
        self._head_flops = 2 * c * shape.vocab_size
        self._head_weights = (c * shape.vocab_size + shape._final_norm) * weight
        self._head_bytes = (c + shape.vocab_size) * activation

    def operators(self, totals: Totals) -> tuple[Operator, ...]:
        """The work of an iteration of at least one position, in the order in which the operators run."""
        embedding, linear, lm_head = self.matrices(totals.positions, totals.sampled)
        return embedding, linear, self.attention(totals), lm_head

    def matrices(self, positions: Count, sampled: Count) -> tuple[Operator, Operator, Operator]:
        """The operators that don't see the context: embedding, linear and lm_head."""
        linear = Operator(
            "linear", self._linear_flops * positions, self._linear_weights, 0.0, self._linear_bytes * positions
        )
        head_weights = (sampled > 0) * self._head_weights
        return (
            Operator("embedding", 0 * positions, self._lookup_bytes * positions),
            linear,
            Operator("lm_head", self._head_flops * sampled, head_weights, 0.0, self._head_bytes * sampled),
        )

    def attention(self, totals: Totals) -> Operator:
        """The operator that sees the context."""
        kv_bytes = self.kv_bytes * (totals.positions + totals.context)
        flops = self.attention_flops * totals.rectangle
        return Operator("attention", flops, 0.0, kv_bytes, self.attention_bytes * totals.positions)


def operators(totals: Totals, shape: ModelShape) -> tuple[Operator, ...]:
    """`Rates.operators` of a model that is asked about once."""
    return Rates(shape).operators(totals)


def sum_of(parts: Iterable[Operator]) -> Costs:
    """The costs of one iteration from those of its operators, whole numbers."""
    flops, weights, kv, activations = 0, 0.0, 0.0, 0.0
    for part in parts:
        flops += part.flops
        weights += part.bytes_weights
        kv += part.bytes_kv
        activations += part.bytes_activations
    return Costs(int(flops), round(weights), round(kv), round(activations))


def sums_of(parts: Iterable[Operator], num_steps: int) -> npt.NDArray[np.int64]:
    """(4, num_steps) what `sum_of` says of each iteration, in the order of its fields."""
    parts = tuple(parts)
    sums = np.empty((4, num_steps), dtype=np.int64)
    sums[0] = sum(part.flops for part in parts)
    for row, name in enumerate(("bytes_weights", "bytes_kv", "bytes_activations"), start=1):
        sums[row] = np.rint(sum(getattr(part, name) for part in parts))
    return sums


def count(seqs: Iterable[ScheduledSeq], shape: ModelShape) -> Costs:
    """Costs of one iteration that runs `seqs`.

    The weights are counted once however many sequences share them, so the costs of parts sum to
    more than those of the whole. No sequences cost nothing.
    """
    totals = total(seqs)
    return sum_of(operators(totals, shape)) if totals.positions else Costs()


def all_reduce_bytes(positions: Count, shape: ModelShape, num_devices: int) -> Amount:
    """Bytes that each of `num_devices` tensor-parallel devices sends over its link in one iteration."""
    elements = 2 * shape.n_layer * positions * shape.n_embd
    return elements * shape.bytes_per_activation * 2 * (num_devices - 1) / num_devices


def swap_bytes(num_blocks: int, block_size: int, shape: ModelShape) -> int:
    """Bytes that swapping `num_blocks` KV blocks moves over the host link, one way."""
    return num_blocks * block_size * shape.kv_bytes_per_token
