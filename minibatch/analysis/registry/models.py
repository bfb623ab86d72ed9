"""Published models by their sizes: what a modelled run needs to know of one, without its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from minibatch.analysis.registry.claims import CONFIDENCE, Confidence
from minibatch.analysis.registry.dtypes import bytes_of, canonical
from minibatch.analysis.registry.entries import PAST_DAY, TABLE, TEXT, read_entries
from minibatch.analysis.registry.families import FAMILIES, REFUSED, window
from minibatch.paths import ASSETS, REGISTRY
from minibatch.reading.files import read_file
from minibatch.reading.values import parse_json
from minibatch.roofline.costs import ModelShape

FILE = REGISTRY / "models.toml"
_BUNDLED = ASSETS / "storyteller"
_OUTER = ("dtype", "torch_dtype", "tie_word_embeddings", "quantization_config")
"""Keys of a multimodal model that hold for the part that writes text."""
_TEXT_PARTS = {"gemma3": "gemma3_text", "llava": "llama", "llava_next": "llama", "mistral3": "mistral"}
"""The `model_type` of the part that writes text, where its config leaves it out."""
_AT_LEAST_ONE = ("n_layer", "n_embd", "n_head", "n_kv_head", "vocab_size", "n_inner", "n_positions")
_SIZES = ("n_", "num_", "hidden_size", "intermediate_size", "vocab_size", "max_position", "ffn_", "head_dim", "seq_len")
"""How keys of a config.json begin that hold sizes."""
_SMALLEST_ACTIVATION = 2
"""Bytes: weights and KV are kept in fewer, and computed with in 16 bits."""


@dataclass(frozen=True, slots=True)
class Model:
    """One published model.

    Attributes:
        name: what `--model` takes for a modelled run.
        source: where these sizes are published.
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

    @property
    def dtype(self) -> str | None:
        """Of its weights as published; None where its config doesn't say.

        Raises:
            ValueError: they are quantised in a way that is not known here.
        """
        quantised = self.config.get("quantization_config")
        if quantised:
            method = str(quantised.get("quant_method") if isinstance(quantised, Mapping) else quantised)
            if canonical(method) != "float8":
                raise ValueError(f"the weights of {self.name} are quantised by {method}: say as what with --dtype")
            return "float8"
        stored = self.config.get("dtype") or self.config.get("torch_dtype")
        return None if stored is None else canonical(str(stored))

    @property
    def note(self) -> str:
        """What its sizes leave out; may be empty."""
        size, longest = window(self.config), self.config.get("max_position_embeddings")
        if not size or not longest or size >= longest:
            return ""
        return (
            f"a sliding window of {size:,} of its {longest:,} tokens: modelled up to that length, "
            "since beyond it attention reads less than is counted"
        )

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


def known_model(name: str) -> Model | None:
    """The registered model of that name, or the one whose config.json is there; None where neither is."""
    registered = load_models().get(name)
    return model_of_config(Path(name)) if registered is None and is_config(name) else registered


def find_model(name: str) -> Model:
    """As `known_model`; ValueError names those there are."""
    if (model := known_model(name)) is None:
        raise ValueError(
            f"unknown model {name!r}: choose from {', '.join(load_models())}, or give a config.json "
            "or the folder that holds it"
        )
    return model


def find_shape(name: str, weight_dtype: str = "bfloat16", kv_dtype: str | None = None) -> ModelShape:
    """The sizes of the model called `name`, as `find_model`.

    Args:
        weight_dtype: one of `dtypes.BYTES_PER_ELEMENT`; activations have as many bytes, but at least two.
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
    """The sizes of any model of one of `FAMILIES` by its config.json. Needs no network.

    Args:
        config: what the file holds, or where it is: the file itself or the folder that holds it.
        weight_dtype, kv_dtype: as for `find_shape`.

    Raises:
        ValueError: it can't be read, or is of another kind, or there is no such dtype.
    """
    return _shape(_completed(config if isinstance(config, Mapping) else _read(Path(config))), weight_dtype, kv_dtype)


def is_config(name: str) -> bool:
    """Whether `name` is a config.json, or the folder that holds that of a model whose weights don't run here."""
    path = Path(name)
    if path.suffix == ".json":
        return True
    return (path / "config.json").is_file() and _read(path).get("model_type") != "gpt2"


def model_of_config(path: Path) -> Model:
    """The model of a config.json, or of the folder that holds it; ValueError as `shape_of_config`."""
    try:
        config = _completed(_read(path))
        model = Model(str(path), f"{path}", datetime.now(UTC).date(), "primary", config)
        model.shape()
    except ValueError as error:
        raise ValueError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    return model


def _completed(config: Mapping[str, Any]) -> dict[str, Any]:
    """The whole config of the part that writes text, with the defaults of transformers for what is left out."""
    given = dict(config)
    text = given.get("text_config")
    if isinstance(text, Mapping):
        outer = {key: given[key] for key in _OUTER if key in given}
        given = outer | {"model_type": _TEXT_PARTS.get(given.get("model_type", ""))} | dict(text)
    kind = given.pop("model_type", None)
    if kind not in FAMILIES:
        raise ValueError(_unknown(kind))
    kept = {key: given.get(key) for key in ("quantization_config",) if given.get(key)}
    for key in ("auto_map", "architectures", "transformers_version", "quantization_config"):
        given.pop(key, None)
    from transformers import AutoConfig

    try:
        return AutoConfig.for_model(kind, **given).to_dict() | kept
    except Exception as error:  # transformers raises many kinds
        if _bad_sizes(given):
            raise ValueError(_no_sizes(given)) from error
        raise ValueError(f"its config.json is not one of a {kind} ({' '.join(str(error).split())[:160]})") from error


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
    """From the keys of a config.json."""
    kind = str(config.get("model_type"))
    if kind not in FAMILIES:
        raise ValueError(_unknown(config.get("model_type")))
    weight = bytes_of(weight_dtype)
    wide = max(weight, _SMALLEST_ACTIVATION)
    elements: dict[str, Any] = {
        "bytes_per_weight": weight,
        "bytes_per_kv": wide if kv_dtype is None else bytes_of(kv_dtype),
        "bytes_per_activation": wide,
    }
    try:
        sizes = FAMILIES[kind](config)
    except KeyError as error:
        raise ValueError(f"its config.json has no {error.args[0]}: get a complete copy") from error
    except (TypeError, ZeroDivisionError) as error:
        raise ValueError(_no_sizes(config)) from error
    counts = {name: size for name, size in sizes.items() if name not in ("tied", "has_biases", "head_dim")}
    if not all(type(count) is int and count >= (name in _AT_LEAST_ONE) for name, count in counts.items()):
        raise ValueError(_no_sizes(config))
    return ModelShape(**sizes, **elements)


def _bad_sizes(config: Mapping[str, Any]) -> str:
    """The keys of a config.json that hold sizes and no positive whole number; "" where none does."""
    bad = [
        f"{key} is {config[key]!r}"
        for key in sorted(config)
        if key.startswith(_SIZES) and not (type(config[key]) is int and config[key] > 0)
        if config[key] is not None and not isinstance(config[key], bool)
    ]
    return ", ".join(bad)[:160]


def _no_sizes(config: Mapping[str, Any]) -> str:
    said = _bad_sizes(config)
    return f"its config.json has sizes that are not positive whole numbers{said and f' ({said})'}: get a complete copy"


def _unknown(kind: object) -> str:
    known = f"choose one of type {', '.join(FAMILIES)}"
    if kind is None:
        return f"its config.json has no model_type, which says how the model is built: {known}"
    if isinstance(kind, str) and kind in REFUSED:
        return f"a model of type {kind!r} can't be modelled: {REFUSED[kind]}; {known}"
    return f"models of type {kind!r} are not known here: {known}"
