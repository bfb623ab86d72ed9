"""Decode graphs: the buffers and padding on any device, the CUDA capture where there is one."""

from __future__ import annotations

import pytest

from minibatch.decisions.phase import Phase
from minibatch.engine.torch_executor import TorchExecutor
from minibatch.model.decode_graphs import DecodeGraphs
from minibatch.model.gpt2 import GPT2
from minibatch.scheduling.plan import ScheduledSeq
from tests.tiny_gpt2 import Driver, prompts


@pytest.mark.parametrize("num_requests", [1, 3, 5])
def test_replayed_decodes_write_the_same_tokens(model: GPT2, num_requests: int) -> None:
    texts = prompts([3, 40, 17, 9, 30])[:num_requests]

    def tokens(with_graphs: bool) -> list[list[int]]:
        executor = TorchExecutor(model, num_kv_blocks=64, block_size=8, decode_graphs=with_graphs)
        if with_graphs and model.device.type == "cpu":
            # What a CUDA graph does, without CUDA: run the step again on the buffers it was made with.
            executor._graphs = DecodeGraphs(model, executor.cache, paged=False, capture=lambda step: step)
        drive = Driver(executor)
        requests = [drive.request(p) for p in texts]
        drive.run(*(drive.seq(r, r.num_tokens) for r in requests))
        finished = drive.request([1])
        for step in range(12):
            held = ScheduledSeq(finished, 9, Phase.PADDING, start=150 + step, num_tokens=0, num_padding=1)
            running = requests[: num_requests - (step > 8 and num_requests > 1)]
            drive.run(held, *(drive.seq(r) for r in running))
        return [r.output_token_ids for r in requests]

    assert tokens(True) == tokens(False)


def test_graphs_take_decodes_alone(model: GPT2) -> None:
    drive = Driver(TorchExecutor(model, num_kv_blocks=64, block_size=8))
    request, other = drive.request([1, 2, 3]), drive.request([4])
    prefill, decode = drive.seq(request, 3), drive.seq(other, 1)
    assert not DecodeGraphs.can_run([prefill, decode])
    assert DecodeGraphs.can_run([decode])
    assert not DecodeGraphs.can_run([])
