"""Families of models by the `model_type` of their config.json: where each keeps its sizes.

A family gives the fields of `ModelShape` that are not its elements' bytes. Norms and biases that
`ModelShape.has_biases` does not say are counted as `extra_per_layer` and `extra`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Config = Mapping[str, Any]
Sizes = dict[str, Any]


def gpt2(config: Config) -> Sizes:
    return {
        "n_layer": config["n_layer"],
        "n_embd": config["n_embd"],
        "n_head": config["n_head"],
        "n_kv_head": config["n_head"],
        "vocab_size": config["vocab_size"],
        "n_inner": config.get("n_inner") or 4 * config["n_embd"],
        "tied": config.get("tie_word_embeddings", True),
        "n_positions": config["n_positions"],
    }


def opt(config: Config) -> Sizes:
    """Built as GPT-2 is, with a ReLU; its position table begins with two rows that it never reads."""
    width = config["hidden_size"]
    if config.get("word_embed_proj_dim", width) != width or not config.get("enable_bias", True):
        raise ValueError("an OPT with projected embeddings or without biases is not known here: choose another size")
    return {
        "n_layer": config["num_hidden_layers"],
        "n_embd": width,
        "n_head": config["num_attention_heads"],
        "n_kv_head": config["num_attention_heads"],
        "vocab_size": config["vocab_size"],
        "n_inner": config["ffn_dim"],
        "tied": config.get("tie_word_embeddings", True),
        "n_positions": config["max_position_embeddings"],
        "unused_positions": 2,
    }


def llama(config: Config) -> Sizes:
    """Gated MLP, grouped heads, and biases only where the config asks for them."""
    sizes = _rotary(config) | {"num_mlp_matrices": 3}
    width, q, kv = sizes["n_embd"], *_dims(sizes)
    extra = (q + 2 * kv + width) * bool(config.get("attention_bias"))
    return sizes | {"extra_per_layer": extra + (2 * sizes["n_inner"] + width) * bool(config.get("mlp_bias"))}


def mistral(config: Config) -> Sizes:
    """As Llama, and never with biases."""
    return llama({**config, "attention_bias": False, "mlp_bias": False})


def qwen2(config: Config) -> Sizes:
    """As Llama, with biases of q, k and v."""
    sizes = mistral(config)
    q, kv = _dims(sizes)
    return sizes | {"extra_per_layer": q + 2 * kv}


def qwen3(config: Config) -> Sizes:
    """As Llama, with norms of each head's q and k."""
    sizes = llama(config)
    return sizes | {"extra_per_layer": sizes["extra_per_layer"] + 2 * _head_dim(sizes)}


def gemma2(config: Config) -> Sizes:
    """As Llama, with four norms a layer."""
    sizes = llama(config)
    return sizes | {"extra_per_layer": sizes["extra_per_layer"] + 2 * sizes["n_embd"]}


def gemma3(config: Config) -> Sizes:
    """As Gemma 2, with norms of each head's q and k."""
    sizes = gemma2(config)
    return sizes | {"extra_per_layer": sizes["extra_per_layer"] + 2 * _head_dim(sizes)}


def olmo2(config: Config) -> Sizes:
    """As Llama, with norms of all of q and all of k."""
    sizes = llama(config)
    return sizes | {"extra_per_layer": sizes["extra_per_layer"] + sum(_dims(sizes))}


def falcon(config: Config) -> Sizes:
    """One KV head, or groups of them in the larger ones; two MLP matrices, norms with biases."""
    width, heads = config["hidden_size"], config["num_attention_heads"]
    grouped = config.get("new_decoder_architecture", False)
    kv_heads = config.get("num_kv_heads") or heads if grouped else 1 if config.get("multi_query", True) else heads
    sizes: Sizes = {
        "n_layer": config["num_hidden_layers"],
        "n_embd": width,
        "n_head": heads,
        "n_kv_head": kv_heads,
        "vocab_size": config["vocab_size"],
        "n_inner": config.get("ffn_hidden_size") or 4 * width,
        "has_biases": False,
        "tied": config.get("tie_word_embeddings", True),
        "n_positions": config.get("max_position_embeddings", 2048),
    }
    q, kv = _dims(sizes)
    two_norms = (config.get("num_ln_in_parallel_attn") or 2) == 2 if grouped else not config.get("parallel_attn", True)
    norms = 2 * width * (2 if two_norms else 1) - 2 * width  # two scales are counted already
    biases = (q + 2 * kv + width + sizes["n_inner"] + width) * bool(config.get("bias"))
    return sizes | {"extra_per_layer": norms + biases, "extra": width}


def gpt_neox(config: Config) -> Sizes:
    """Rotary, with biases everywhere."""
    sizes = _rotary({**config, "num_key_value_heads": None})
    width = sizes["n_embd"]
    attention = 4 * width * bool(config.get("attention_bias", True))
    return sizes | {"extra_per_layer": attention + sizes["n_inner"] + width + 2 * width, "extra": width}


def bloom(config: Config) -> Sizes:
    """As GPT-2, with slopes in place of a position table and a norm of the embeddings."""
    width, heads = config["hidden_size"], config["n_head"]
    return {
        "n_layer": config["n_layer"],
        "n_embd": width,
        "n_head": heads,
        "n_kv_head": heads,
        "vocab_size": config["vocab_size"],
        "n_inner": 4 * width,
        "has_biases": False,
        "tied": config.get("tie_word_embeddings", True),
        "n_positions": config.get("seq_length") or 2048,
        "extra_per_layer": 4 * width + 4 * width + width + 2 * width,
        "extra": 3 * width,
    }


def starcoder2(config: Config) -> Sizes:
    """Rotary, grouped heads, two MLP matrices, norms with biases."""
    sizes = _rotary(config)
    width, q, kv = sizes["n_embd"], *_dims(sizes)
    biases = (q + 2 * kv + width + sizes["n_inner"] + width) * bool(config.get("use_bias", True))
    return sizes | {"extra_per_layer": biases + 2 * width, "extra": width}


def _rotary(config: Config) -> Sizes:
    """What all have whose keys are those of Llama; without biases, positions turned into q and k."""
    return {
        "n_layer": config["num_hidden_layers"],
        "n_embd": config["hidden_size"],
        "n_head": config["num_attention_heads"],
        "n_kv_head": config.get("num_key_value_heads") or config["num_attention_heads"],
        "vocab_size": config["vocab_size"],
        "n_inner": config["intermediate_size"],
        "head_dim": config.get("head_dim"),
        "has_biases": False,
        "tied": config.get("tie_word_embeddings", False),
        "n_positions": min(config["max_position_embeddings"], window(config) or config["max_position_embeddings"]),
    }


def window(config: Config) -> int | None:
    """Tokens of the sliding window of some or all layers; None where every layer sees the whole context."""
    sizes = [config.get(key) for key in ("sliding_window", "attention_chunk_size")]
    layers = config.get("layer_types")
    if layers is not None and not {"sliding_attention", "chunked_attention"} & set(layers):
        return None
    return next((size for size in sizes if size), None)


def _head_dim(sizes: Sizes) -> int:
    return int(sizes.get("head_dim") or sizes["n_embd"] // sizes["n_head"])


def _dims(sizes: Sizes) -> tuple[int, int]:
    """Widths of q, and of k or v."""
    return sizes["n_head"] * _head_dim(sizes), sizes["n_kv_head"] * _head_dim(sizes)


FAMILIES: Mapping[str, Callable[[Config], Sizes]] = MappingProxyType(
    {
        "gpt2": gpt2, "opt": opt, "llama": llama, "mistral": mistral, "ministral": mistral, "qwen2": qwen2,
        "qwen3": qwen3, "gemma": llama, "gemma2": gemma2, "gemma3_text": gemma3, "phi3": mistral, "smollm3": llama,
        "granite": llama, "olmo2": olmo2, "falcon": falcon, "gpt_neox": gpt_neox, "bloom": bloom,
        "starcoder2": starcoder2,
    }
)  # fmt: skip
"""By `model_type`."""

_EXPERTS = "its tokens choose among experts (MoE), and how many experts a batch reads is not modelled"
_LATENT = "its KV is a compressed one (MLA), and it chooses among experts (MoE), neither of which is modelled"
_STATES = "it keeps states in place of KV, which are not modelled"
REFUSED: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("mixtral", "qwen2_moe", "qwen3_moe", "gpt_oss", "olmoe", "phimoe", "granitemoe", "dbrx", "llama4_text",
         "glm4_moe", "qwen3_vl_moe_text", "jetmoe"), _EXPERTS,
    )
    | dict.fromkeys(("deepseek_v2", "deepseek_v3", "kimi_k2"), _LATENT)
    | dict.fromkeys(("mamba", "mamba2", "jamba", "falcon_mamba", "rwkv", "qwen3_next"), _STATES)
)  # fmt: skip
"""Why a known family can't be modelled, by `model_type`."""
