"""Runs plans on the model and measures how long they take."""

from __future__ import annotations

import time

import torch

from minibatch.engine.executor import Result
from minibatch.model.attention import paged_kernel_works
from minibatch.model.batch import pack
from minibatch.model.decode_graphs import DecodeGraphs
from minibatch.model.gpt2 import GPT2
from minibatch.model.kv_cache import KVCache
from minibatch.model.sampling import sample
from minibatch.recording.schema import Clock
from minibatch.roofline.devices import describe
from minibatch.scheduling.plan import Plan


class TorchExecutor:
    """Carries out plans with a GPT-2 and a paged KV cache.

    The duration of an iteration covers everything the device and the host do for it: swaps, packing
    the batch, the forward pass and sampling.

    Args:
        num_kv_blocks, block_size: the KV cache; block ids in plans are below `num_kv_blocks`.
        decode_graphs: on CUDA, replay iterations that only decode as CUDA graphs.

    Raises:
        ValueError: the cache is empty or doesn't fit the device's memory.
    """

    def __init__(self, model: GPT2, *, num_kv_blocks: int, block_size: int, decode_graphs: bool = True) -> None:
        config = model.config
        self.model = model
        self.cache = KVCache(
            n_layer=config.n_layer,
            n_head=config.n_head,
            head_dim=config.head_dim,
            num_kv_blocks=num_kv_blocks,
            block_size=block_size,
            dtype=model.dtype,
            device=model.device,
        )
        self._on_cuda = model.device.type == "cuda"
        self._device = f"{describe(model.device)}, {str(model.dtype).removeprefix('torch.')}"
        with torch.inference_mode():
            self._paged = paged_kernel_works(self.cache)
        self._graphs = DecodeGraphs(model, self.cache, paged=self._paged) if self._on_cuda and decode_graphs else None

    @property
    def clock(self) -> Clock:
        return "measured"

    @property
    def device(self) -> str:
        return self._device

    @torch.inference_mode()
    def execute(self, plan: Plan) -> Result:
        """Run one iteration.

        Raises:
            RuntimeError: a swap-in without its swap-out, or a failure of the device.
        """
        began = time.perf_counter_ns()
        for swap in plan.swap_out:
            self.cache.swap_out(swap)
        for swap in plan.swap_in:
            self.cache.swap_in(swap)
        token_ids = self._forward(plan) if plan.num_tokens else {}
        if self._on_cuda:
            torch.cuda.synchronize(self.model.device)
        return Result(token_ids, time.perf_counter_ns() - began)

    def forget(self, request_id: int) -> None:
        self.cache.forget(request_id)

    def _forward(self, plan: Plan) -> dict[int, int]:
        seqs = plan.seqs
        if self._graphs is not None and self._graphs.can_run(seqs):
            logits, sampled = self._graphs.run(seqs)
        else:
            batch = pack(seqs, self.cache, self.model.config.n_positions, paged=self._paged)
            logits = self.model.forward(batch.token_ids, batch.positions, batch.attention, batch.logit_rows)
            sampled = batch.sampled
        if logits is None:
            return {}
        requests = [seq.request for seq in sampled]
        return dict(zip((request.request_id for request in requests), sample(logits, requests), strict=True))
