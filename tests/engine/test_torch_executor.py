"""The engine computes what transformers computes, however the work is cut up."""

from __future__ import annotations

import random

import pytest
import torch
from transformers import GPT2LMHeadModel

from minibatch.decisions.phase import Phase
from minibatch.engine.torch_executor import TorchExecutor
from minibatch.model.batch import pack
from minibatch.model.gpt2 import GPT2
from minibatch.scheduling.plan import Plan, ScheduledSeq, Swap
from tests.tiny_gpt2 import CONFIG, Driver, greedy, make_model, prompts

BLOCK_SIZES = [1, 3, 16, 64]


def driver(model: GPT2, block_size: int = 16, num_tokens: int = 2048) -> Driver:
    return Driver(TorchExecutor(model, num_kv_blocks=num_tokens // block_size, block_size=block_size))


def logits_of_batch(drive: Driver, *seqs: ScheduledSeq) -> torch.Tensor:
    """Logits of every row that samples, in the order of `seqs`; the batch is then committed."""
    executor = drive.executor
    with torch.inference_mode():
        batch = pack(seqs, executor.cache, CONFIG.n_positions)
        logits = executor.model.forward(batch.token_ids, batch.positions, batch.attention, batch.logit_rows)
    assert logits is not None
    order = [batch.sampled.index(seq) for seq in seqs if seq.samples]
    for seq in seqs:
        seq.request.num_computed_tokens += seq.num_tokens
        if seq.samples:
            seq.request.output_token_ids.append(int(logits[batch.sampled.index(seq)].argmax()))
    return logits[order].cpu()


@torch.inference_mode()
def right_logits(reference: GPT2LMHeadModel, tokens: list[int]) -> torch.Tensor:
    logits: torch.Tensor = reference(torch.tensor([tokens])).logits[0, -1]
    return logits


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_mixed_batches_give_the_logits_of_transformers(
    reference: GPT2LMHeadModel, model: GPT2, block_size: int
) -> None:
    drive = driver(model, block_size)
    rng = random.Random(block_size)
    requests = [drive.request(p) for p in prompts([1, 2, 5, 17, 17, 33, 64, 70, 90, 16])]
    compared = 0
    for step in range(14):
        seqs = []
        for i, request in enumerate(requests):
            left = request.num_tokens - request.num_computed_tokens
            if i > 2 * step:  # later requests join later, so that every kind of work meets
                continue
            whole = i % 2 or left == 1
            seqs.append(drive.seq(request, left if whole else rng.randint(1, left), rng.choice([0, 0, 0, 3])))
        rng.shuffle(seqs)
        sampled = [seq.request for seq in seqs if seq.samples]
        if not sampled:
            drive.run(*seqs)
            continue
        before = [request.token_ids(0, request.num_tokens) for request in sampled]
        found = logits_of_batch(drive, *seqs)
        for row, tokens in zip(found, before, strict=True):
            right = right_logits(reference, tokens)
            torch.testing.assert_close(row, right, rtol=0, atol=1e-9)
            assert row.argmax() == right.argmax()
            compared += 1
    assert compared > 60


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_greedy_tokens_equal_generate(reference: GPT2LMHeadModel, model: GPT2, block_size: int) -> None:
    drive = driver(model, block_size)
    requests = [drive.request(p) for p in prompts([3, 40, 40, 7, 100])]
    drive.run(*(drive.seq(r, r.num_tokens) for r in requests))
    for _ in range(11):
        drive.run(*(drive.seq(r) for r in requests))
    for request in requests:
        right = greedy(reference, list(request.request.prompt_token_ids), 12)
        assert request.output_token_ids == right


@pytest.mark.parametrize("chunk", [1, 2, 7, 16, 50])
def test_chunked_prefill_equals_whole(model: GPT2, chunk: int) -> None:
    prompt = prompts([53])[0]
    whole, chunked = driver(model), driver(model)
    right = whole.finish(whole.request(prompt), 8)
    request = chunked.request(prompt)
    while request.num_tokens - request.num_computed_tokens > chunk:
        assert chunked.run(chunked.seq(request, chunk)) == {}
    assert chunked.finish(request, 8) == right


def test_padding_changes_no_ones_tokens(model: GPT2) -> None:
    texts = prompts([4, 30, 30, 50])
    plain = driver(model)
    right = [plain.finish(plain.request(p), 6) for p in texts]
    padded = driver(model, block_size=8)
    requests = [padded.request(p) for p in texts]
    padded.run(*(padded.seq(r, r.num_tokens, 50 - r.num_tokens) for r in requests))
    finished = padded.request([1])
    for step in range(5):
        held = ScheduledSeq(finished, 9, Phase.PADDING, start=50 + step, num_tokens=0, num_padding=1)
        far = ScheduledSeq(finished, 10, Phase.PADDING, start=CONFIG.n_positions + 5, num_tokens=0, num_padding=2)
        padded.run(*(padded.seq(r) for r in requests), held, far)
    assert [r.output_token_ids for r in requests] == right


def test_padding_alone_runs(model: GPT2) -> None:
    drive = driver(model)
    held = ScheduledSeq(drive.request([1]), 0, Phase.PADDING, start=20, num_tokens=0, num_padding=1)
    assert drive.run(held) == {}


def test_an_empty_plan_does_nothing(model: GPT2) -> None:
    assert driver(model).executor.execute(Plan()).token_ids == {}


def test_swapping_out_and_in_keeps_tokens(model: GPT2) -> None:
    texts = prompts([20, 25])
    plain = driver(model)
    right = [plain.finish(plain.request(p), 10) for p in texts]
    drive = driver(model, block_size=8)
    a, b = (drive.request(p) for p in texts)
    drive.run(drive.seq(a, 20), drive.seq(b, 25))
    for _ in range(3):
        drive.run(drive.seq(a), drive.seq(b))
    out = Swap(a, tuple(a.block_table))
    assert drive.executor.execute(Plan(swap_out=(out,))).token_ids == {}
    with torch.inference_mode():
        drive.executor.cache.data[:, list(a.block_table)] = float("nan")  # others have them now
    drive.run(drive.seq(b))
    a.block_table = [drive.free.pop() for _ in a.block_table]
    # b is swapped out in the same iteration, and a gets blocks that b has just left
    taken, a.block_table[0] = b.block_table[0], b.block_table[0]
    drive.executor.execute(Plan(swap_out=(Swap(b, tuple(b.block_table)),), swap_in=(Swap(a, tuple(a.block_table)),)))
    assert taken in a.block_table
    b.block_table = [drive.free.pop() for _ in b.block_table]
    drive.executor.execute(Plan(swap_in=(Swap(b, tuple(b.block_table)),)))
    assert [drive.finish(a, 10), drive.finish(b, 10)] == right


def test_swap_in_needs_a_swap_out(model: GPT2) -> None:
    drive = driver(model)
    request = drive.request([1, 2, 3])
    drive.run(drive.seq(request, 3))
    swap = Swap(request, tuple(request.block_table))
    with pytest.raises(RuntimeError, match="request 0 has no KV in host memory"):
        drive.executor.execute(Plan(swap_in=(swap,)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_other_precisions_agree_roughly(reference: GPT2LMHeadModel, device: torch.device, dtype: str) -> None:
    model = make_model(reference, dtype, device)
    drive = driver(model)
    requests = [drive.request(p) for p in prompts([9, 30, 1])]
    drive.run(*(drive.seq(r, r.num_tokens) for r in requests[:2]))
    before = [r.token_ids(0, r.num_tokens) for r in requests]
    found = logits_of_batch(drive, *(drive.seq(r) for r in requests)).double()
    tolerance = {"float32": 1e-4, "bfloat16": 0.5, "float16": 0.1}[dtype]
    for row, tokens in zip(found, before, strict=True):
        torch.testing.assert_close(row, right_logits(reference, tokens), rtol=tolerance, atol=tolerance)


def test_the_cache_must_hold_something_and_fit(model: GPT2) -> None:
    with pytest.raises(ValueError, match="use at least 1"):
        TorchExecutor(model, num_kv_blocks=0, block_size=16)
    with pytest.raises(ValueError, match="use fewer blocks"):
        TorchExecutor(model, num_kv_blocks=10**9, block_size=16)


def test_it_says_what_it_is(model: GPT2) -> None:
    executor = TorchExecutor(model, num_kv_blocks=4, block_size=16)
    assert executor.clock == "measured"
    assert "float64" in executor.device
