"""Families of models against transformers' own: parameters and the width of KV, by the config.json alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from minibatch.analysis.registry.families import FAMILIES, REFUSED
from minibatch.analysis.registry.models import model_of_config, shape_of_config

ROTARY = {
    "num_hidden_layers": 3, "hidden_size": 96, "num_attention_heads": 6, "num_key_value_heads": 2,
    "intermediate_size": 200, "vocab_size": 331, "max_position_embeddings": 256, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
GPT = {"n_layer": 3, "n_embd": 96, "hidden_size": 96, "n_head": 6, "vocab_size": 331, "bos_token_id": 1,
       "eos_token_id": 2}  # fmt: skip
FALCON = {"num_hidden_layers": 3, "hidden_size": 96, "num_attention_heads": 6, "vocab_size": 331}
SMALL: list[tuple[str, dict[str, Any], int]] = [
    ("gpt2", GPT, 96),
    ("opt", ROTARY | {"ffn_dim": 200, "word_embed_proj_dim": 96}, 96),
    ("llama", ROTARY, 32),
    ("llama", ROTARY | {"attention_bias": True, "mlp_bias": True}, 32),
    ("llama", ROTARY | {"head_dim": 32, "tie_word_embeddings": True}, 64),
    ("mistral", ROTARY | {"head_dim": 32}, 64),
    ("ministral", ROTARY | {"head_dim": 16}, 32),
    ("qwen2", ROTARY, 32),
    ("qwen3", ROTARY | {"head_dim": 32}, 64),
    ("qwen3", ROTARY | {"head_dim": 32, "attention_bias": True}, 64),
    ("gemma", ROTARY | {"head_dim": 32}, 64),
    ("gemma2", ROTARY | {"head_dim": 32}, 64),
    ("gemma3_text", ROTARY | {"head_dim": 32}, 64),
    ("phi3", ROTARY, 32),
    ("smollm3", ROTARY, 32),
    ("granite", ROTARY, 32),
    ("olmo2", ROTARY, 32),
    ("gpt_neox", ROTARY, 96),
    ("gpt_neox", ROTARY | {"attention_bias": False}, 96),
    ("starcoder2", ROTARY, 32),
    ("starcoder2", ROTARY | {"use_bias": False}, 32),
    ("bloom", GPT, 96),
    ("falcon", FALCON, 16),
    ("falcon", FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}, 32),
    ("falcon", FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1}, 32),
    ("falcon", FALCON | {"multi_query": False, "parallel_attn": False, "bias": True, "alibi": True}, 96),
]

QWEN3_4B = {
    "model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 9728, "vocab_size": 151936,
}  # fmt: skip
QWEN2_1_5B = {
    "model_type": "qwen2", "hidden_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 12,
    "num_key_value_heads": 2, "intermediate_size": 8960, "vocab_size": 151936,
}  # fmt: skip
MISTRAL_24B = {
    "model_type": "mistral", "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 32768, "vocab_size": 131072,
    "max_position_embeddings": 32768, "sliding_window": None,
}  # fmt: skip


def test_every_family_is_held_against_transformers() -> None:
    assert {kind for kind, _, _ in SMALL} == set(FAMILIES)
    assert not set(FAMILIES) & set(REFUSED)


@pytest.mark.parametrize(("kind", "config", "kv_width"), SMALL)
def test_parameters_and_kv_are_those_of_the_model_itself(kind: str, config: dict[str, Any], kv_width: int) -> None:
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **config)).eval()
        with torch.inference_mode():
            cache = model(torch.ones(1, 5, dtype=torch.int64), use_cache=True).past_key_values
    shape = shape_of_config({"model_type": kind} | config)
    assert shape.num_parameters == sum(parameter.numel() for parameter in model.parameters())
    kept = sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)
    # transformers keeps the KV heads of a grouped Falcon once for each head that shares them; engines keep them once.
    copies = shape.n_head // shape.n_kv_head if config.get("new_decoder_architecture") else 1
    assert shape.kv_bytes_per_token * 5 * copies == kept * shape.bytes_per_kv
    assert shape.kv_dim == kv_width


@pytest.mark.parametrize(
    ("config", "kv_bytes", "billions"),
    [(QWEN3_4B, 147_456, 4.4), (QWEN2_1_5B, 28_672, 1.78), (MISTRAL_24B, 163_840, 23.6)],
)
def test_kv_bytes_are_those_of_the_head_size_that_a_config_has(
    config: dict[str, Any], kv_bytes: int, billions: float
) -> None:
    """Not of hidden_size / heads (92,160, ...), nor of all heads (172,032)."""
    shape = shape_of_config(config)
    assert shape.kv_bytes_per_token == kv_bytes
    assert shape.num_parameters / 1e9 == pytest.approx(billions, rel=0.01)


def test_the_text_part_of_a_multimodal_model_is_what_is_sized() -> None:
    nested = {"model_type": "mistral3", "text_config": MISTRAL_24B, "vision_config": {"hidden_size": 1024}}
    assert shape_of_config(nested) == shape_of_config(MISTRAL_24B)
    text = {key: value for key, value in ROTARY.items() if key != "pad_token_id"} | {"head_dim": 32}
    assert shape_of_config({"model_type": "gemma3", "text_config": text}).kv_dim == 64
    with pytest.raises(ValueError, match="'llama4_text' can't be modelled"):
        shape_of_config({"model_type": "llama4", "text_config": {"model_type": "llama4_text"}})


@pytest.mark.parametrize(
    ("more", "dtype", "note"),
    [
        ({}, None, ""),
        ({"torch_dtype": "bfloat16"}, "bfloat16", ""),
        ({"dtype": "float16"}, "float16", ""),
        ({"torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8"}}, "float8", ""),
        ({"sliding_window": 1024, "max_position_embeddings": 4096}, None, "a sliding window of 1,024 of its 4,096"),
    ],
)
def test_what_a_config_says_of_dtype_and_window(
    tmp_path: Path, more: dict[str, Any], dtype: str | None, note: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(MISTRAL_24B | more))
    model = model_of_config(tmp_path)
    assert model.dtype == dtype
    assert model.note.startswith(note)
    assert bool(model.note) == bool(note)


def test_other_quantised_weights_must_be_given_a_dtype(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(MISTRAL_24B | {"quantization_config": {"quant_method": "awq"}}))
    with pytest.raises(ValueError, match="are quantised by awq: say as what with --dtype"):
        _ = model_of_config(tmp_path).dtype
