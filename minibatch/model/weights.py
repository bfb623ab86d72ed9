"""Finding and loading a model: the bundled one, one with random weights, or any GPT-2 checkpoint."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import torch
from torch import Tensor

from minibatch.model.gpt2 import GPT2, GPT2Config, random_weights
from minibatch.model.text import Tokenizer
from minibatch.paths import ASSETS
from minibatch.reading.files import read_file
from minibatch.reading.values import parse_json
from minibatch.roofline.devices import parse_dtype, to_device

BUNDLED_FOLDER = ASSETS / "storyteller"
BUNDLED = "bundled"
RANDOM_PREFIX = "random:"
RANDOM_SEED = 0

_REGISTRY = BUNDLED_FOLDER.parent / "registry" / "models.toml"

# Sizes of the published checkpoints.
RANDOM_CONFIGS = {
    name: GPT2Config(**{key: size for key, size in model["config"].items() if key != "model_type"})
    for name, model in tomllib.loads(_REGISTRY.read_text(encoding="utf-8")).items()
    if model["config"]["model_type"] == "gpt2"
}

_SUPPORTED_ACTIVATIONS = ("gelu_new", "gelu_pytorch_tanh")


class ModelError(ValueError):
    """A model can't be loaded; one sentence that says what, where and what to do."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Everything that makes a `GPT2`, before it is laid out to run.

    Attributes:
        tensors: by checkpoint name; linear weights are (in, out).
    """

    config: GPT2Config
    tensors: dict[str, Tensor]


def load_model(name: str = "bundled", dtype: str = "float32", device: torch.device | str = "cpu") -> GPT2:
    """Load a model by name.

    Args:
        name: "bundled"; "random:gpt2", "random:gpt2-medium", "random:gpt2-large" or
            "random:gpt2-xl" (random weights, the bundled tokenizer); or a GPT-2 checkpoint on the
            Hugging Face hub or in a local folder.
        dtype: float32, float64, bfloat16 or float16.
        device: "cpu", "cuda", or "auto".

    Raises:
        ModelError: there is no such model, or it can't be read, or it is not a GPT-2.
        ValueError: there is no such dtype or device.
    """
    weights = load_weights(name, dtype, device)
    try:
        return GPT2(weights.config, weights.tensors)
    except (KeyError, ValueError) as error:
        raise ModelError(
            f'the weights of model "{name}" are not what its config.json says ({_first_line(error)}): '
            "get a complete copy of the model"
        ) from error


def load_weights(name: str, dtype: str = "float32", device: torch.device | str = "cpu") -> Weights:
    """The weights of a model, named as for `load_model`, in one dtype and on one device.

    Raises:
        ModelError, ValueError: as `load_model`.
    """
    kind, where = parse_dtype(dtype), to_device(device)
    config = read_config(name)
    try:
        if name.startswith(RANDOM_PREFIX):
            return Weights(config, random_weights(config, RANDOM_SEED, kind, where))
        tensors = _bundled_tensors() if name == BUNDLED else _checkpoint_tensors(name)
        return Weights(config, {key: tensor.to(where, kind) for key, tensor in tensors.items()})
    except RuntimeError as error:  # torch's out-of-memory errors are RuntimeErrors
        raise ModelError(
            f'model "{name}" in {dtype} doesn\'t fit the memory of {where} ({_first_line(error)}): '
            "choose a smaller model or dtype"
        ) from error


def read_config(name: str) -> GPT2Config:
    """The sizes of a model, named as for `load_model`, without loading its weights.

    Raises:
        ModelError: there is no such model, or it is not a GPT-2.
    """
    if name.startswith(RANDOM_PREFIX):
        config = RANDOM_CONFIGS.get(name.removeprefix(RANDOM_PREFIX))
        if config is None:
            known = ", ".join(RANDOM_PREFIX + known for known in RANDOM_CONFIGS)
            raise ModelError(f'there is no model "{name}": random weights come as {known}')
        return config
    if name == BUNDLED:
        try:
            sizes = parse_json(read_file(BUNDLED_FOLDER / "config.json", 1 << 20))
        except (OSError, ValueError) as error:
            raise _bundled_damaged(error) from error
        return _config(sizes, name)
    if Path(name).is_absolute() and not Path(name).is_dir():
        raise ModelError(
            f'there is no model folder "{name}": give a folder that holds config.json and model.safetensors'
        )
    try:
        loaded = _transformers(name).AutoConfig.from_pretrained(name, **_loading(name))
    except ModelError:
        raise
    except Exception as error:  # transformers and the hub client raise many kinds
        raise _not_found(name, "config.json", error) from error
    if loaded.model_type != "gpt2":
        raise ModelError(
            f'model "{name}" is of type "{loaded.model_type}", and Minibatch runs GPT-2 alone: '
            "choose a checkpoint whose config.json says model_type gpt2"
        )
    return _config(loaded.to_dict(), name)


def load_tokenizer(name: str) -> Tokenizer | None:
    """The tokenizer of a model, named as for `load_model`; None for a checkpoint that has none.

    Models with random weights borrow the bundled one where there is one. Nothing else of the model is loaded.

    Raises:
        ModelError: the bundled tokenizer can't be read.
    """
    if name == BUNDLED or name.startswith(RANDOM_PREFIX):
        path = BUNDLED_FOLDER / "tokenizer.json"
        if name != BUNDLED and not path.exists():
            return None
        try:
            return _FileTokenizer(path)
        except Exception as error:  # the tokenizers package raises plain Exception
            raise _bundled_damaged(error) from error
    try:
        tokenizer: Any = _transformers(name).AutoTokenizer.from_pretrained(name, **_loading(name))
    except ModelError:
        raise
    except Exception:  # a checkpoint without a tokenizer is still a model
        return None
    # For a folder without tokenizer files transformers makes one that encodes everything to nothing.
    return tokenizer if tokenizer.encode("a") else None


class _FileTokenizer:
    """A tokenizer.json, read without importing transformers, which is slow."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer as RustTokenizer

        self._tokenizer = RustTokenizer.from_file(str(path))

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def decode(self, token_ids: list[int]) -> str:
        text: str = self._tokenizer.decode(token_ids, skip_special_tokens=False)
        return text

    def __len__(self) -> int:
        size: int = self._tokenizer.get_vocab_size()
        return size


def _bundled_tensors() -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors: dict[str, Tensor] = load_file(BUNDLED_FOLDER / "model.safetensors")
    except (OSError, SafetensorError) as error:
        raise _bundled_damaged(error) from error
    return tensors


def _checkpoint_tensors(name: str) -> dict[str, Tensor]:
    """Weights on the hub or in a local folder, through transformers' own loader; safetensors alone."""
    try:
        model, report = _transformers(name).GPT2LMHeadModel.from_pretrained(
            name, use_safetensors=True, dtype="auto", output_loading_info=True, **_loading(name)
        )
    except ModelError:
        raise
    except Exception as error:
        raise _not_found(name, "model.safetensors", error) from error
    if missing := sorted(report["missing_keys"]):
        raise ModelError(
            f'model "{name}" lacks {len(missing)} of its weights ({missing[0]}): get a complete copy of the model'
        )
    tensors: dict[str, Tensor] = model.state_dict()
    return tensors


def _transformers(name: str) -> Any:
    """The transformers package, imported when a checkpoint needs it."""
    try:
        import transformers
    except ImportError as error:
        raise ModelError(
            f'model "{name}" needs the transformers package, which is not installed: '
            "run `pip install transformers`, or use the bundled model"
        ) from error
    return transformers


def _loading(name: str) -> dict[str, Any]:
    """Options of transformers' loaders: never run a checkpoint's code, and no hub that can't be reached.

    The hub's client tries an unreachable host for half a minute. Where the name of the host doesn't
    resolve, only what was downloaded before is used.
    """
    from huggingface_hub import constants

    options: dict[str, Any] = {"trust_remote_code": False}
    if not Path(name).is_dir() and not getproxies():
        try:
            socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, None)
        except OSError:
            options["local_files_only"] = True
    return options


def _config(config: Mapping[str, Any], name: str) -> GPT2Config:
    """Our config from a checkpoint's config.json."""
    activation = config.get("activation_function", "gelu_new")
    if activation not in _SUPPORTED_ACTIVATIONS:
        raise ModelError(
            f'model "{name}" uses the activation "{activation}", and Minibatch knows only '
            f"{' and '.join(_SUPPORTED_ACTIVATIONS)}: choose another checkpoint"
        )
    if not config.get("scale_attn_weights", True) or config.get("scale_attn_by_inverse_layer_idx", False):
        raise ModelError(f'model "{name}" scales its attention in a way of its own: choose another checkpoint')
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


def _bundled_damaged(error: Exception) -> ModelError:
    return ModelError(
        f"the bundled model in {BUNDLED_FOLDER} can't be read ({_first_line(error)}): "
        "restore the folder from the repository"
    )


def _not_found(name: str, file: str, error: Exception) -> ModelError:
    place = f"in folder {name}" if Path(name).is_dir() else "on the Hugging Face hub or as a local folder"
    advice = (
        f"give a folder that holds config.json and {file}"
        if Path(name).is_dir()
        else "check the name and the network, or use the bundled model"
    )
    return ModelError(f'no usable {file} of model "{name}" was found {place} ({_first_line(error)}): {advice}')


def _first_line(error: Exception) -> str:
    """An exception's message cut down to fit inside a sentence."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
    return text if len(text) <= 160 else text[:157] + "..."
