"""Published models by their sizes: what a modelled run needs to know of one, without its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from minibatch.analysis.registry.claims import CONFIDENCE, Confidence
from minibatch.analysis.registry.entries import PAST_DAY, TABLE, TEXT, read_entries
from minibatch.paths import ASSETS, REGISTRY
from minibatch.reading.files import read_file
from minibatch.reading.values import parse_json
from minibatch.roofline.costs import ModelShape

FILE = REGISTRY / "models.toml"
_BUNDLED = ASSETS / "storyteller"
BYTES_PER_ELEMENT = {
    "float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1, "int4": 0.5,
}  # fmt: skip
_LLAMA_LIKE = ("llama", "mistral", "qwen2", "qwen3")
_KINDS = ("gpt2", "opt", *_LLAMA_LIKE)
_SMALLEST_ACTIVATION = 2
"""Bytes: weights and KV are kept in fewer, and computed with in 16 bits."""


@dataclass(frozen=True, slots=True)
class Model:
    """One published model.

    Attributes:
        name: what `--model` takes for a modelled run.
        source: whose sizes these are.
        checked: the day on which they were last compared with the source.
        confidence: "primary" was read in the model's repository, "secondary" in a copy.
        config: the sizes under the keys of its config.json.
    """

    name: str
    source: str
    checked: date
    confidence: Confidence
    config: Mapping[str, Any]

    @property
    def source_in_words(self) -> str:
        """The source, and the word that must stand beside figures from it."""
        return self.source if self.confidence == "primary" else f"{self.source} ({self.confidence})"

    def shape(self, weight_dtype: str = "bfloat16", kv_dtype: str | None = None) -> ModelShape:
        """As `find_shape`."""
        return _shape(self.config, weight_dtype, kv_dtype)


@cache
def load_models(path: Path = FILE) -> Mapping[str, Model]:
    """Every model of a registry file, by name.

    Raises:
        ValueError: as `read_entries`; or its config lacks a size, or is of a kind not known here.
    """
    required = {"source": TEXT, "checked": PAST_DAY, "confidence": CONFIDENCE, "config": TABLE}
    models = {name: Model(name, **entry) for name, entry in read_entries(path, required, {}).items()}
    for model in models.values():
        try:
            model.shape()
        except ValueError as error:
            raise ValueError(f"{path.name}: [{model.name}] {error}") from error
    return MappingProxyType(models)


def find_model(name: str) -> Model:
    """The model called `name`; ValueError names those there are."""
    models = load_models()
    if name not in models:
        raise ValueError(f"unknown model {name!r}: choose from {', '.join(models)}")
    return models[name]


def find_shape(name: str, weight_dtype: str = "bfloat16", kv_dtype: str | None = None) -> ModelShape:
    """The sizes of the registered model called `name`.

    Args:
        weight_dtype: one of `BYTES_PER_ELEMENT`; activations have as many bytes, but at least two.
        kv_dtype: likewise; None means 16 bits, or that of the weights where it has more.

    Raises:
        ValueError: there is no such model or dtype.
    """
    return find_model(name).shape(weight_dtype, kv_dtype)


def bundled_shape(dtype: str) -> ModelShape:
    """The sizes of the model that ships with Minibatch, read without torch."""
    return _shape(_read(_BUNDLED), dtype, None)


def shape_of_config(
    config: Path | str | Mapping[str, Any], weight_dtype: str = "bfloat16", kv_dtype: str | None = None
) -> ModelShape:
    """The sizes of any GPT-2, OPT, Llama, Mistral, Qwen2 or Qwen3 by its config.json. Needs no network.

    Args:
        config: what the file holds, or where it is: the file itself or the folder that holds it.
        weight_dtype, kv_dtype: as for `find_shape`.

    Raises:
        ValueError: it can't be read, or is of another kind, or there is no such dtype.
    """
    given = dict(config) if isinstance(config, Mapping) else _read(Path(config))
    kind = given.pop("model_type", None)
    if kind not in _KINDS:
        raise ValueError(_unknown(kind))
    from transformers import AutoConfig

    try:
        full = AutoConfig.for_model(kind, **given).to_dict()
    except Exception as error:  # transformers raises many kinds
        raise ValueError(f"its config.json is not one of a {kind} ({' '.join(str(error).split())[:160]})") from error
    return _shape(full, weight_dtype, kv_dtype)


def _read(path: Path) -> dict[str, Any]:
    path = path / "config.json" if path.is_dir() else path
    try:
        found = parse_json(read_file(path, 1 << 20))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} can't be read ({error}): give a config.json or the folder that holds it") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds no object: give a model's config.json")
    return found


def _shape(config: Mapping[str, Any], weight_dtype: str, kv_dtype: str | None) -> ModelShape:
    """From the keys of a config.json; see `costs` for the biases and norms that are left out."""
    kind = config.get("model_type")
    if kind not in _KINDS:
        raise ValueError(_unknown(kind))
    weight = _bytes(weight_dtype)
    wide = max(weight, _SMALLEST_ACTIVATION)
    elements: dict[str, Any] = {
        "bytes_per_weight": weight,
        "bytes_per_kv": wide if kv_dtype is None else _bytes(kv_dtype),
        "bytes_per_activation": wide,
    }
    try:
        sizes = {"gpt2": _gpt2, "opt": _opt}.get(kind, _llama)(config)
    except KeyError as error:
        raise ValueError(f"its config.json has no {error.args[0]}: get a complete copy") from error
    counts = [size for name, size in sizes.items() if name not in ("tied", "has_biases", "head_dim")]
    if not all(type(count) is int and count >= 0 for count in counts) or not sizes["n_head"] or not sizes["n_kv_head"]:
        raise ValueError("its config.json has sizes that are no whole numbers: get a complete copy")
    return ModelShape(**sizes, **elements)


def _gpt2(config: Mapping[str, Any]) -> dict[str, Any]:
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


def _opt(config: Mapping[str, Any]) -> dict[str, Any]:
    """OPT is built as GPT-2 is, with a ReLU; its position table begins with two rows that it never reads."""
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


def _llama(config: Mapping[str, Any]) -> dict[str, Any]:
    """Gated MLP, grouped heads, no biases. With a sliding window the model is modelled up to that length:
    beyond it, attention would read less than `costs` counts."""
    positions = config["max_position_embeddings"]
    return {
        "n_layer": config["num_hidden_layers"],
        "n_embd": config["hidden_size"],
        "n_head": config["num_attention_heads"],
        "n_kv_head": config.get("num_key_value_heads") or config["num_attention_heads"],
        "vocab_size": config["vocab_size"],
        "n_inner": config["intermediate_size"],
        "head_dim": config.get("head_dim"),
        "num_mlp_matrices": 3,
        "has_biases": False,
        "tied": config.get("tie_word_embeddings", False),
        "n_positions": min(positions, config.get("sliding_window") or positions),
    }


def _bytes(dtype: str) -> float:
    if dtype not in BYTES_PER_ELEMENT:
        raise ValueError(f"there is no dtype {dtype!r} here: use one of {', '.join(BYTES_PER_ELEMENT)}")
    return BYTES_PER_ELEMENT[dtype]


def _unknown(kind: object) -> str:
    return f"models of type {kind!r} are not known here: choose one of type {', '.join(_KINDS)}"
