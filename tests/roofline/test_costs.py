"""FLOPs agree with torch's own counter; bytes with the tensors that hold them."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from minibatch.engine.torch_executor import TorchExecutor
from minibatch.model import batch
from minibatch.model.batch import pack
from minibatch.model.gpt2 import GPT2, GPT2Config, random_weights
from minibatch.roofline.costs import Costs, ModelShape, count, swap_bytes
from minibatch.scheduling.plan import ScheduledSeq
from tests.tiny_gpt2 import Driver

CONFIG = GPT2Config(n_layer=3, n_head=4, n_embd=64, vocab_size=301, n_positions=256, n_inner=160)


@pytest.fixture(scope="module")
def small() -> GPT2:
    cpu = torch.device("cpu")
    return GPT2(CONFIG, random_weights(CONFIG, 0, torch.float64, cpu))


def counted(executor: TorchExecutor, seqs: list[ScheduledSeq]) -> int:
    """FLOPs of the real forward pass, by torch's counter."""
    cpu_attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    mapping = {cpu_attention: lambda q, k, v, *_, **__: sdpa_flop_count(q, k, v)}
    packed = pack(seqs, executor.cache, CONFIG.n_positions)
    with torch.inference_mode(), FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        executor.model.forward(packed.token_ids, packed.positions, packed.attention, packed.logit_rows)
    return int(counter.get_total_flops())


def plans(drive: Driver) -> dict[str, list[ScheduledSeq]]:
    def ready(num_prompt: int, num_computed: int) -> ScheduledSeq:
        request = drive.request([1] * num_prompt)
        drive.seq(request, num_prompt)
        request.num_computed_tokens = num_computed
        return drive.seq(request, num_prompt - num_computed)

    chunk = drive.request([1] * 100)
    return {
        "decode": [ready(50, 49) for _ in range(4)],
        "prompt": [ready(120, 0)],
        "chunk without logits": [drive.seq(chunk, 60)],
        "mixed": [ready(50, 49), ready(33, 32), ready(90, 40), ready(64, 0), drive.seq(chunk, 60, 20)],
    }


@pytest.mark.parametrize("kind", ["decode", "prompt", "chunk without logits", "mixed"])
def test_flops_agree_with_torchs_counter(small: GPT2, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The padding inside an attention call is this engine's own business, not a cost of the plan.
    monkeypatch.setattr(batch, "_PADDING_BYTES", 0)
    executor = TorchExecutor(small, num_kv_blocks=128, block_size=16)
    seqs = plans(Driver(executor))[kind]
    assert count(seqs, small.shape).flops == pytest.approx(counted(executor, seqs), rel=0.01)


def test_weight_bytes_are_the_weights(small: GPT2) -> None:
    executor = TorchExecutor(small, num_kv_blocks=128, block_size=16)
    seqs = plans(Driver(executor))["decode"]
    weights = random_weights(CONFIG, 0, torch.float64, torch.device("cpu"))
    total = sum(tensor.nbytes for tensor in weights.values())
    assert small.shape.num_parameters * 8 == total
    # All but the position table, of which four rows are read, as are four more of the tokens.
    read = total - weights["wpe.weight"].nbytes + 8 * 64 * (4 + 4)
    assert count(seqs, small.shape).bytes_weights == read


def test_kv_bytes_are_written_and_read_once(small: GPT2) -> None:
    drive = Driver(TorchExecutor(small, num_kv_blocks=128, block_size=16))
    one_token = 2 * 3 * 64 * 8  # keys and values, layers, width, bytes
    assert small.shape.kv_bytes_per_token == one_token
    seqs = plans(drive)["decode"]
    assert count(seqs, small.shape).bytes_kv == 4 * (1 + 50) * one_token
    assert swap_bytes(2, 16, small.shape) == 32 * one_token


def test_padding_costs_what_tokens_cost(small: GPT2) -> None:
    drive = Driver(TorchExecutor(small, num_kv_blocks=128, block_size=16))
    request = drive.request([1] * 100)
    padded, plain = drive.seq(request, 20, 30), drive.seq(request, 50)
    assert count([padded], small.shape) == count([plain], small.shape)


def test_nothing_costs_nothing() -> None:
    shape = ModelShape(n_layer=2, n_embd=8, n_head=2, n_kv_head=2, vocab_size=10, n_inner=32)
    assert count([], shape) == Costs()
    assert Costs().intensity == 0


def test_a_llama_is_counted_too() -> None:
    """Llama 3 8B: 8.03 billion parameters; 128 KiB of KV a token in 16 bits (model card, config.json)."""
    shape = ModelShape(
        n_layer=32,
        n_embd=4096,
        n_head=32,
        n_kv_head=8,
        vocab_size=128256,
        n_inner=14336,
        num_mlp_matrices=3,
        has_biases=False,
        tied=False,
    )
    assert shape.num_parameters == pytest.approx(8.03e9, rel=1e-3)
    assert shape.kv_bytes_per_token == 128 * 1024
