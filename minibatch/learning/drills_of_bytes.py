"""Drills of bytes: what weights and KV take, and how much of it a device holds."""

from __future__ import annotations

from collections.abc import Iterator

from minibatch.analysis.formats import three_figures
from minibatch.learning.drill import (
    ESTIMATED,
    EXACT,
    GB,
    KIB,
    LARGE,
    ROUNDED,
    Drill,
    counted,
    fact,
    large_pairs,
    make_drill,
    shapes,
    size_of,
)
from minibatch.roofline.ceilings import kv_blocks_beside_weights


def kv_bytes() -> Iterator[Drill]:
    """KiB of KV a token, of every model in two dtypes."""
    for dtype in ("bfloat16", "float8"):
        for name, shape in shapes(kv_dtype=dtype):
            size = counted(shape.bytes_per_kv, "byte")
            head_dim = shape.kv_dim // shape.n_kv_head
            yield make_drill(
                "KV bytes a token", f"{name}-{dtype}",
                f"{name} has {shape.n_layer} layers, {shape.n_kv_head} KV heads and a head dimension of {head_dim}. "
                f"How many KiB of KV cache does a token take at {size} an element ({dtype})?",
                shape.kv_bytes_per_token / KIB, "KiB", EXACT,
                f"2 (keys and values) × {shape.n_layer} layers × {shape.n_kv_head} KV heads × {head_dim} × {size} "
                f"= {shape.kv_bytes_per_token:,} bytes.",
            )  # fmt: skip


def kv_of_a_sequence() -> Iterator[Drill]:
    """GB of KV that a sequence holds."""
    for name, shape in shapes():
        for context in (1_000, 4_000, 32_000):
            if shape.num_parameters < LARGE or context > shape.n_positions:
                continue
            per_token = shape.kv_bytes_per_token
            yield make_drill(
                "KV of a sequence", f"{name}-{context}",
                f"A token's KV takes {per_token:,} bytes in {name}. How many GB does a sequence of {context:,} "
                "tokens hold?",
                context * per_token / GB, "GB", ROUNDED,
                f"{context:,} tokens × {per_token:,} bytes = {three_figures(context * per_token / GB)} GB. "
                "Every decode step of this sequence reads all of it, and no other sequence shares the read.",
            )  # fmt: skip


def bytes_of_weights() -> Iterator[Drill]:
    """GB of weights, of every model in three dtypes."""
    for dtype in ("bfloat16", "int8", "int4"):
        for name, shape in shapes(dtype):
            each = counted(shape.bytes_per_weight, "byte")
            yield make_drill(
                "bytes of weights", f"{name}-{dtype}",
                f"{name} has {size_of(shape)}. How many GB are its weights in {dtype}?",
                shape.weight_bytes / GB, "GB", ROUNDED,
                f"{size_of(shape)} × {each} = {three_figures(shape.weight_bytes / GB)} GB. "
                "Scales of a quantised format come on top.",
            )  # fmt: skip


def sequences_that_fit() -> Iterator[Drill]:
    """How many sequences of one length fit beside the weights."""
    for name, shape, accelerator in large_pairs():
        for context in (2_000, 8_000):
            most = accelerator.sequences_that_fit(shape, context)
            if most < 2 or context > shape.n_positions:
                continue
            weights, per_token = three_figures(shape.weight_bytes / GB), shape.kv_bytes_per_token
            one = three_figures(context * per_token / GB)
            yield make_drill(
                "sequences that fit", f"{name}-{accelerator.name}-{context}",
                f"{name} has {weights} GB of weights and {per_token:,} bytes of KV a token. How many sequences of "
                f"{context:,} tokens fit on {fact(accelerator, 'memory')}, activations left out?",
                most, "sequences", ESTIMATED,
                f"({accelerator.memory.words} - {weights} GB) ÷ ({context:,} × {per_token:,} bytes = {one} GB), "
                "rounded "
                f"down: {most:,}. In practice fewer: activations and the runtime take their part.",
            )  # fmt: skip


def kv_blocks() -> Iterator[Drill]:
    """How many KV blocks fit beside the weights."""
    for name, shape, accelerator in large_pairs():
        size = 16
        blocks = kv_blocks_beside_weights(accelerator.memory_bytes, shape, size)
        weights, per_token = three_figures(shape.weight_bytes / GB), shape.kv_bytes_per_token
        yield make_drill(
            "KV blocks", f"{name}-{accelerator.name}",
            f"{name} has {weights} GB of weights and {per_token:,} bytes of KV a token. How many KV blocks of {size} "
            "tokens "
            f"fit beside the weights on {fact(accelerator, 'memory')}?",
            blocks, "blocks", ESTIMATED,
            f"A block takes {size} × {per_token:,} = {size * per_token:,} bytes; ({accelerator.memory.words} - "
            f"{weights} GB) "
            f"÷ that, rounded down, is {blocks:,}.",
        )  # fmt: skip
