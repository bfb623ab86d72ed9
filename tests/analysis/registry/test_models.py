"""Shapes against transformers: parameters and FLOPs of the models themselves."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

from minibatch.analysis.registry.models import FILE, find_model, find_shape, load_models, shape_of_config
from minibatch.decisions.phase import Phase
from minibatch.roofline.costs import ModelShape, count
from minibatch.scheduling.plan import ScheduledSeq
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.request import Request
from tests.analysis.refusals import refusal

SMALL: dict[str, dict[str, Any]] = {
    "llama": {
        "model_type": "llama", "num_hidden_layers": 3, "hidden_size": 96, "num_attention_heads": 6,
        "num_key_value_heads": 2, "intermediate_size": 200, "vocab_size": 331, "max_position_embeddings": 256,
    },
    "opt": {
        "model_type": "opt", "num_hidden_layers": 3, "hidden_size": 96, "num_attention_heads": 6, "ffn_dim": 200,
        "word_embed_proj_dim": 96, "vocab_size": 331, "max_position_embeddings": 256,
    },
    "qwen3": {
        "model_type": "qwen3", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "head_dim": 32,
        "num_key_value_heads": 2, "intermediate_size": 160, "vocab_size": 331, "max_position_embeddings": 256,
    },
}  # fmt: skip


def built(config: dict[str, Any], device: str) -> torch.nn.Module:
    """The model that transformers makes of a config.json."""
    full = AutoConfig.for_model(**config)
    with torch.device(device):
        return AutoModelForCausalLM.from_config(full, attn_implementation="eager").eval()


def num_parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())  # tied ones are listed once


@pytest.mark.parametrize("name", load_models())
def test_parameters_are_those_that_transformers_has(name: str) -> None:
    model = find_model(name)
    truth = num_parameters(built(dict(model.config), "meta"))
    assert model.shape().num_parameters == truth


@pytest.mark.parametrize(
    ("name", "kv_bytes"),
    [("llama-3.1-8b", 131_072), ("llama-2-7b", 524_288), ("opt-13b", 819_200), ("llama-3.1-70b", 327_680)],
)
def test_kv_bytes_a_token_are_the_known_ones(name: str, kv_bytes: int) -> None:
    assert find_shape(name).kv_bytes_per_token == kv_bytes
    assert find_shape(name, "bfloat16", "float8").kv_bytes_per_token == kv_bytes / 2
    assert find_shape(name, "int4").kv_bytes_per_token == kv_bytes


def test_dtypes_change_bytes_and_nothing_else() -> None:
    shape = find_shape("llama-2-7b", "int4")
    assert (shape.bytes_per_weight, shape.bytes_per_kv, shape.bytes_per_activation) == (0.5, 2, 2)
    assert shape.weight_bytes == find_shape("llama-2-7b").weight_bytes / 4
    wide = find_shape("llama-2-7b", "float32")
    assert (wide.bytes_per_weight, wide.bytes_per_kv, wide.bytes_per_activation) == (4, 4, 4)
    with pytest.raises(ValueError, match="no dtype 'bf16' here: use one of"):
        find_shape("llama-2-7b", "bf16")


def seqs(num_seqs: int, start: int, num_tokens: int) -> list[ScheduledSeq]:
    requests = [RequestState(Request(i, (1,) * 128)) for i in range(num_seqs)]
    return [ScheduledSeq(r, i, Phase.PREFILL, start, num_tokens, samples=True) for i, r in enumerate(requests)]


@pytest.mark.parametrize("kind", SMALL)
def test_flops_agree_with_torchs_counter(kind: str) -> None:
    model = built(SMALL[kind], "cpu")
    shape = shape_of_config(SMALL[kind])
    # transformers renamed the argument within its versions 5.
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    cache = {name: DynamicCache(config=model.config)}
    for start, num_tokens in ((0, 100), (100, 1)):  # the prompts, then a decode
        tokens = torch.ones(3, num_tokens, dtype=torch.int64)
        with torch.inference_mode(), FlopCounterMode(display=False) as counter:
            model(tokens, **cache, use_cache=True, logits_to_keep=1)
        ours = count(seqs(3, start, num_tokens), shape).flops
        assert ours == pytest.approx(counter.get_total_flops(), rel=0.01)


def test_a_config_is_read_from_a_file_or_its_folder(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SMALL["llama"] | {"torch_dtype": "bfloat16"}))
    expected = ModelShape(
        n_layer=3, n_embd=96, n_head=6, n_kv_head=2, vocab_size=331, n_inner=200, head_dim=16,
        num_mlp_matrices=3, has_biases=False, tied=False, n_positions=256,
    )  # fmt: skip
    assert shape_of_config(tmp_path) == shape_of_config(str(tmp_path / "config.json")) == expected


def test_registered_shapes_are_those_of_their_configs() -> None:
    for model in load_models().values():
        whole, ours = shape_of_config(model.config), model.shape()
        assert whole.num_parameters == ours.num_parameters
        assert (whole.q_dim, whole.kv_dim, whole.n_positions) == (ours.q_dim, ours.kv_dim, ours.n_positions)


def test_what_a_config_leaves_out_has_transformers_defaults() -> None:
    assert shape_of_config({"model_type": "gpt2"}) == find_shape("gpt2")
    assert shape_of_config({"model_type": "qwen2", "sliding_window": 99, "use_sliding_window": False}).n_positions > 99
    assert shape_of_config({"model_type": "mistral", "sliding_window": 512}).n_positions == 512


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"model_type": "bert"}, "models of type 'bert' are not known here: choose one of type gpt2, opt"),
        ({"model_type": "mamba"}, "it keeps states in place of KV"),
        ({}, "its config.json has no model_type"),
        ({"model_type": "gpt_oss"}, "can't be modelled: its tokens choose among experts"),
        ({"model_type": "deepseek_v3"}, "its KV is a compressed one"),
        ({"model_type": "llama", "num_hidden_layers": "many"}, "its config.json"),
        ({"model_type": "llama", "num_attention_heads": 0}, "num_attention_heads is 0"),
        ({"model_type": "llama", "hidden_size": -5}, "hidden_size is -5"),
        ({"model_type": "gpt2", "n_layer": -1}, "n_layer is -1"),
        ({"model_type": "opt", "hidden_size": 1024, "word_embed_proj_dim": 512}, "projected embeddings"),
    ],
)
def test_a_config_that_is_not_known_gets_a_sentence(config: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        shape_of_config(config)


def test_a_file_that_is_no_config_gets_a_sentence(tmp_path: Path) -> None:
    for text in ("{", "[]", "\udcff"):
        (tmp_path / "config.json").write_text(text, errors="surrogateescape")
        with pytest.raises(ValueError, match=r"config\.json"):
            shape_of_config(tmp_path)
    with pytest.raises(ValueError, match="can't be read"):
        shape_of_config(tmp_path / "none")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "llama", "hidden_size": -5}))
    with pytest.raises(ValueError, match=re.escape(f"{path}: its config.json has sizes") + ".*hidden_size is -5"):
        find_model(str(path))


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("n_layer = 12\n", "", "[gpt2] its config.json has no n_layer"),
        ("n_layer = 12\n", "n_layer = 12.5\n", "not positive whole numbers (n_layer is 12.5)"),
        ('model_type = "gpt2"', 'model_type = "bert"', "models of type 'bert'"),
        ("checked = 2026-11-29", 'checked = "today"', "[gpt2] checked"),
        ("checked = 2026-11-29", "", "has no checked"),
    ],
)
def test_a_bad_entry_is_rejected_in_a_sentence(tmp_path: Path, before: str, after: str, says: str) -> None:
    damaged = FILE.read_text(encoding="utf-8").replace(before, after, 1)
    refusal(load_models, tmp_path / "models.toml", damaged, says)
    with pytest.raises(ValueError, match="unknown model 'gpt-5': choose from gpt2"):
        find_model("gpt-5")


def test_registered_models_need_neither_torch_nor_transformers() -> None:
    code = (
        "import sys; from minibatch.analysis.registry.models import find_shape; "
        "from minibatch.analysis.registry.accelerators import find_accelerator; find_shape('yi-34b'); "
        "find_accelerator('H100').ceilings(); "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
