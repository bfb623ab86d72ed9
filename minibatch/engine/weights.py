"""Finding and loading a model: the bundled one, one with random weights, or any GPT-2 checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from minibatch.engine.devices import parse_dtype, to_device
from minibatch.engine.gpt2 import GPT2, GPT2Config, random_weights

BUNDLED_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "storyteller"
RANDOM_PREFIX = "random:"
RANDOM_SEED = 0

# Sizes of the published checkpoints.
RANDOM_CONFIGS = {
    "gpt2": GPT2Config(eos_token_id=50256),
    "gpt2-medium": GPT2Config(n_layer=24, n_head=16, n_embd=1024, eos_token_id=50256),
    "gpt2-large": GPT2Config(n_layer=36, n_head=20, n_embd=1280, eos_token_id=50256),
    "gpt2-xl": GPT2Config(n_layer=48, n_head=25, n_embd=1600, eos_token_id=50256),
}

_SUPPORTED_ACTIVATIONS = ("gelu_new", "gelu_pytorch_tanh")


class ModelError(ValueError):
    """A model can't be loaded; one sentence that says what, where and what to do."""


class Tokenizer(Protocol):
    """Text to token ids and back."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, token_ids: list[int]) -> str: ...


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What was loaded.

    Attributes:
        name: as it was asked for.
        source: where the weights are from, in words.
        num_parameters: tied weights counted once.
        eos_token_id: the token that ends a text, where there is one.
    """

    name: str
    source: str
    dtype: str
    device: str
    num_parameters: int
    config: GPT2Config

    @property
    def eos_token_id(self) -> int | None:
        return self.config.eos_token_id


def load_model(
    name: str = "bundled", dtype: str = "float32", device: torch.device | str = "cpu"
) -> tuple[GPT2, Tokenizer | None, ModelInfo]:
    """Load a model by name.

    Args:
        name: "bundled"; "random:gpt2", "random:gpt2-medium", "random:gpt2-large" or
            "random:gpt2-xl" (random weights, the bundled tokenizer); or a GPT-2 checkpoint on the
            Hugging Face hub or in a local folder.
        dtype: float32, float64, bfloat16 or float16.
        device: "cpu", "cuda", or "auto".

    Returns:
        The model, its tokenizer if it has one, and what was loaded.

    Raises:
        ModelError: there is no such model, or it can't be read, or it is not a GPT-2.
        ValueError: there is no such dtype or device.
    """
    kind, where = parse_dtype(dtype), to_device(device)
    tokenizer: Tokenizer | None
    if name == "bundled":
        config, weights = _read_folder(BUNDLED_FOLDER)
        tokenizer = _bundled_tokenizer()
        source = "bundled with Minibatch"
    elif name.startswith(RANDOM_PREFIX):
        config = _random_config(name)
        weights = random_weights(config, RANDOM_SEED, kind, where)
        tokenizer = _bundled_tokenizer() if BUNDLED_FOLDER.is_dir() else None
        source = f"random weights, seed {RANDOM_SEED}"
    else:
        config, weights, tokenizer = _from_transformers(name)
        source = f"folder {name}" if Path(name).is_dir() else f"Hugging Face hub, {name}"
    try:
        model = GPT2(config, {key: tensor.to(where, kind) for key, tensor in weights.items()})
    except (KeyError, ValueError) as error:
        raise ModelError(
            f'model "{name}" lacks a weight that its config.json promises ({error}): get a complete copy of it'
        ) from error
    except RuntimeError as error:  # torch's out-of-memory errors are RuntimeErrors
        raise ModelError(
            f'model "{name}" in {dtype} doesn\'t fit the memory of {where}: choose a smaller model or dtype'
        ) from error
    return model, tokenizer, ModelInfo(name, source, dtype, str(where), model.shape.num_parameters, config)


def _random_config(name: str) -> GPT2Config:
    config = RANDOM_CONFIGS.get(name.removeprefix(RANDOM_PREFIX))
    if config is None:
        known = ", ".join(RANDOM_PREFIX + known for known in RANDOM_CONFIGS)
        raise ModelError(f'there is no model "{name}": random weights come as {known}')
    return config


def _read_folder(folder: Path) -> tuple[GPT2Config, dict[str, Tensor]]:
    """Config and weights of the bundled model, read without importing transformers, which is slow."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return _config(config, "bundled"), load_file(folder / "model.safetensors")
    except ModelError:
        raise
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(
            f"the bundled model in {folder} can't be read ({_first_line(error)}): restore the folder from the repository"
        ) from error


class _FileTokenizer:
    """A tokenizer.json, read without importing transformers."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer as RustTokenizer

        self._tokenizer = RustTokenizer.from_file(str(path))

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def decode(self, token_ids: list[int]) -> str:
        text: str = self._tokenizer.decode(token_ids, skip_special_tokens=False)
        return text


def _bundled_tokenizer() -> Tokenizer:
    path = BUNDLED_FOLDER / "tokenizer.json"
    try:
        return _FileTokenizer(path)
    except Exception as error:  # the tokenizers package raises plain Exception
        raise ModelError(
            f"the bundled tokenizer {path} can't be read ({_first_line(error)}): restore it from the repository"
        ) from error


def _from_transformers(name: str) -> tuple[GPT2Config, dict[str, Tensor], Tokenizer | None]:
    """A checkpoint by hub name or local folder, through transformers' own loaders."""
    if Path(name).is_absolute() and not Path(name).is_dir():
        raise ModelError(
            f'there is no model folder "{name}": give a folder that holds config.json and model.safetensors'
        )
    try:
        from transformers import AutoConfig, AutoTokenizer, GPT2LMHeadModel
    except ImportError as error:
        raise ModelError(
            f'model "{name}" needs the transformers package, which is not installed: '
            "run `pip install transformers`, or use the bundled model"
        ) from error
    try:
        loaded = AutoConfig.from_pretrained(name, trust_remote_code=False)
    except Exception as error:  # transformers and the hub client raise many kinds
        raise _not_found(name, "config.json", error) from error
    if loaded.model_type != "gpt2":
        raise ModelError(
            f'model "{name}" is of type "{loaded.model_type}", and Minibatch runs GPT-2 alone: '
            "choose a checkpoint whose config.json says model_type gpt2"
        )
    config = _config(loaded.to_dict(), name)
    try:
        model = GPT2LMHeadModel.from_pretrained(
            name, config=loaded, use_safetensors=True, trust_remote_code=False, dtype="auto"
        )
    except Exception as error:
        raise _not_found(name, "model.safetensors", error) from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except Exception:  # a checkpoint without a tokenizer is still a model
        tokenizer = None
    return config, model.state_dict(), tokenizer


def _config(config: Mapping[str, Any], name: str) -> GPT2Config:
    """Our config from a checkpoint's config.json."""
    activation = config.get("activation_function", "gelu_new")
    if activation not in _SUPPORTED_ACTIVATIONS:
        raise ModelError(
            f'model "{name}" uses the activation "{activation}", and Minibatch knows only '
            f"{' and '.join(_SUPPORTED_ACTIVATIONS)}: choose another checkpoint"
        )
    if not config.get("scale_attn_weights", True) or config.get("scale_attn_by_inverse_layer_idx", False):
        raise ModelError(
            f'model "{name}" scales its attention in a way of its own: choose another checkpoint'
        )
    eos = config.get("eos_token_id")
    try:
        return GPT2Config(
            n_layer=config["n_layer"],
            n_head=config["n_head"],
            n_embd=config["n_embd"],
            vocab_size=config["vocab_size"],
            n_positions=config["n_positions"],
            n_inner=config.get("n_inner"),
            layer_norm_epsilon=config.get("layer_norm_epsilon", 1e-5),
            tied=config.get("tie_word_embeddings", True),
            eos_token_id=eos[0] if isinstance(eos, list) else eos,
        )
    except (KeyError, ValueError) as error:
        raise ModelError(
            f'the config.json of model "{name}" is not a GPT-2\'s ({error}): get a complete copy of the model'
        ) from error


def _not_found(name: str, file: str, error: Exception) -> ModelError:
    place = f"in folder {name}" if Path(name).is_dir() else "on the Hugging Face hub or as a local folder"
    advice = (
        f"give a folder that holds config.json and {file}"
        if Path(name).is_dir()
        else "check the name and the network, or use the bundled model"
    )
    return ModelError(
        f'no usable {file} of model "{name}" was found {place} ({_first_line(error)}): {advice}'
    )


def _first_line(error: Exception) -> str:
    """An exception's message cut down to fit inside a sentence."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
    return text if len(text) <= 160 else text[:157] + "..."
