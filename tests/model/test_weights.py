"""Loading: what works, and one clear sentence for everything that doesn't."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2LMHeadModel

from minibatch.engine.torch_executor import TorchExecutor
from minibatch.model import weights
from minibatch.model.gpt2 import GPT2Config
from minibatch.model.weights import ModelError, load_model, load_tokenizer
from tests.tiny_gpt2 import CONFIG, Driver, greedy, prompts


@pytest.fixture
def checkpoint(reference: GPT2LMHeadModel, tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    reference.save_pretrained(folder)
    assert (folder / "model.safetensors").is_file()
    return folder


def sentence(name: object, *words: str) -> None:
    """Loading fails, with one line that holds these words and advice."""
    with pytest.raises(ModelError) as caught:
        load_model(str(name))
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 500
    for word in (*words, ":"):
        assert word in text


def test_a_local_checkpoint(reference: GPT2LMHeadModel, checkpoint: Path, device: torch.device) -> None:
    model = load_model(str(checkpoint), "float64", device)
    assert load_tokenizer(str(checkpoint)) is None
    assert model.shape.num_parameters == sum(p.numel() for p in reference.parameters())
    drive = Driver(TorchExecutor(model, num_kv_blocks=16, block_size=16))
    prompt = prompts([11])[0]
    assert drive.finish(drive.request(prompt), 10) == greedy(reference, prompt, 10)


def test_a_bundled_checkpoint(reference: GPT2LMHeadModel, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read by our own reader, without transformers."""
    from tokenizers import Tokenizer, models

    Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[])).save(str(checkpoint / "tokenizer.json"))
    monkeypatch.setattr(weights, "BUNDLED_FOLDER", checkpoint)
    model, tokenizer = load_model("bundled", "float64"), load_tokenizer("bundled")
    assert tokenizer is not None
    assert tokenizer.encode("ab") == [0, 1]
    assert len(tokenizer) == 2
    assert model.config == CONFIG
    drive = Driver(TorchExecutor(model, num_kv_blocks=16, block_size=16))
    prompt = prompts([11])[0]
    assert drive.finish(drive.request(prompt), 4) == greedy(reference, prompt, 4)

    (checkpoint / "model.safetensors").write_bytes(b"\x00" * 100)
    sentence("bundled", "can't be read", "restore")
    (checkpoint / "tokenizer.json").unlink()
    assert load_tokenizer("random:gpt2") is None
    with pytest.raises(ModelError, match="restore the folder"):
        load_tokenizer("bundled")
    (checkpoint / "config.json").unlink()
    sentence("bundled", "can't be read", "restore")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_random_weights(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    monkeypatch.setitem(weights.RANDOM_CONFIGS, "gpt2", CONFIG)
    model, again = (load_model("random:gpt2", dtype) for _ in range(2))
    assert str(model.dtype) == f"torch.{dtype}"
    assert torch.equal(model.wte, again.wte)
    assert model.wte.float().std().item() == pytest.approx(0.02, rel=0.05)


def test_random_configs_have_the_published_sizes() -> None:
    sizes = {"gpt2": 124_439_808, "gpt2-medium": 354_823_168, "gpt2-large": 774_030_080, "gpt2-xl": 1_557_611_200}
    for name, config in weights.RANDOM_CONFIGS.items():
        inner = 4 * config.n_embd
        c, layer = config.n_embd, config.n_embd * (4 * config.n_embd + 2 * inner) + 9 * config.n_embd + inner
        assert (config.vocab_size + 1024) * c + config.n_layer * layer + 2 * c == sizes[name]


def test_errors_are_one_sentence(
    reference: GPT2LMHeadModel, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    sentence("random:gpt9", "random:gpt2-medium")
    sentence("no-such-owner/no-such-model", "no-such-owner/no-such-model", "network")
    sentence(tmp_path / "nowhere", str(tmp_path / "nowhere"), "folder")
    (tmp_path / "empty").mkdir()
    sentence(tmp_path / "empty", "config.json")

    pickled = tmp_path / "pickled"
    shutil.copytree(checkpoint, pickled)
    (pickled / "model.safetensors").unlink()
    torch.save(reference.state_dict(), pickled / "pytorch_model.bin")
    sentence(pickled, "model.safetensors")

    incomplete = tmp_path / "incomplete"
    shutil.copytree(checkpoint, incomplete)
    tensors = load_file(incomplete / "model.safetensors")
    del tensors["transformer.ln_f.weight"]
    save_file(tensors, incomplete / "model.safetensors", metadata={"format": "pt"})
    sentence(incomplete, "lacks 1 of its weights", "ln_f.weight")

    def changed(**changes: object) -> Path:
        config = json.loads((checkpoint / "config.json").read_text())
        (checkpoint / "config.json").write_text(json.dumps(config | changes))
        return checkpoint

    sentence(changed(n_inner=17), "model.safetensors")
    sentence(changed(n_inner=None, activation_function="relu"), "relu")
    sentence(changed(activation_function="gelu_new", scale_attn_by_inverse_layer_idx=True), "scales its attention")
    sentence(changed(model_type="gpt_neo"), "gpt_neo", "GPT-2 alone")


def test_a_hub_that_cannot_be_reached_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(weights, "getproxies", dict)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    assert weights._loading("no-such-owner/no-such-model")["local_files_only"] is True
    sentence("no-such-owner/no-such-model", "network")


def test_a_wrong_config_is_refused() -> None:
    with pytest.raises(ValueError, match="heads"):
        GPT2Config(n_head=5)
