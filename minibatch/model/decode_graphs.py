"""Iterations that only decode, replayed as CUDA graphs.

A decode step of a small model is a few hundred tiny kernels, and launching them one by one takes
longer than running them. A graph launches them at once, but only at the addresses and sizes it was
captured with: so the inputs live in fixed buffers, and batches are padded to a power of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from minibatch.model.attention import Attention, Group, GroupedAttention, PagedAttention, causal_mask
from minibatch.model.batch import block_tables
from minibatch.model.gpt2 import GPT2
from minibatch.model.kv_cache import KVCache
from minibatch.scheduling.plan import ScheduledSeq

Replay = Callable[[], Tensor]
"""Runs the step again on what the input buffers hold now; gives the logits (B, V)."""


@dataclass(frozen=True, slots=True)
class _Graph:
    inputs: Tensor  # (B, 3 + W) int64: token, position, KV row, and the W blocks of the table
    replay: Replay


class DecodeGraphs:
    """One graph for each (batch size, block table width), both rounded up to powers of two.

    Padding rows compute token 0 at position 0 in the scratch block; their logits are dropped.

    Args:
        capture: turns a step into its replay; by default `torch.cuda.graph` with a warm-up.
    """

    def __init__(
        self, model: GPT2, cache: KVCache, *, paged: bool, capture: Callable[[Replay], Replay] | None = None
    ) -> None:
        self._model = model
        self._cache = cache
        self._paged = paged
        self._capture = capture or _CudaCapture()
        self._graphs: dict[tuple[int, int], _Graph] = {}

    @staticmethod
    def can_run(seqs: Sequence[ScheduledSeq]) -> bool:
        """Whether the iteration computes one position a sequence and nothing else."""
        return bool(seqs) and all(seq.num_tokens + seq.num_padding == 1 for seq in seqs)

    def run(self, seqs: Sequence[ScheduledSeq]) -> tuple[Tensor | None, list[ScheduledSeq]]:
        """Logits (R, V) of the sequences that sample, and those sequences."""
        cache, size = self._cache, self._cache.block_size
        batch_size = _power_of_two(len(seqs))
        width = _power_of_two(-(-(max(seq.start for seq in seqs) + 1) // size))
        graph = self._graphs.get((batch_size, width))
        if graph is None:
            graph = self._graphs[batch_size, width] = self._new(batch_size, width)
        # columns: token, position, KV row, block table; see _Graph
        inputs = np.full((batch_size, 3 + width), cache.scratch_block, dtype=np.int64)
        inputs[:, 0] = inputs[:, 1] = 0
        inputs[:, 2] = cache.scratch_block * size
        inputs[: len(seqs), 1] = [seq.start for seq in seqs]
        inputs[: len(seqs), 3:] = block_tables(seqs, width, cache)
        for row, seq in zip(inputs, seqs, strict=False):
            if seq.num_tokens:
                row[0] = seq.request.token_ids(seq.start, seq.start + 1)[0]
                row[2] = seq.block_table[seq.start // size] * size + seq.start % size
        graph.inputs.copy_(torch.from_numpy(inputs), non_blocking=True)
        logits = graph.replay()
        rows = [i for i, seq in enumerate(seqs) if seq.samples]
        if not rows:
            return None, []
        sampled = [seqs[i] for i in rows]
        if rows[-1] == len(rows) - 1:
            return logits[: len(rows)], sampled
        return logits[torch.tensor(rows, device=logits.device)], sampled

    def _new(self, batch_size: int, width: int) -> _Graph:
        cache = self._cache
        inputs = torch.full((batch_size, 3 + width), cache.scratch_block, device=cache.data.device)
        inputs[:, :2] = 0
        inputs[:, 2] = cache.scratch_block * cache.block_size

        def step() -> Tensor:
            positions = inputs[:, 1]
            logits = self._model.forward(
                inputs[:, 0], positions.clamp(max=self._model.config.n_positions - 1), attention(inputs), None
            )
            if logits is None:
                raise RuntimeError("a decode step gave no logits")
            return logits

        def attention(inputs: Tensor) -> Attention:
            kv_rows, tables, starts = inputs[:, 2].contiguous(), inputs[:, 3:].contiguous(), inputs[:, 1]
            context_len = width * cache.block_size
            if self._paged:
                cu_queries = torch.arange(batch_size + 1, dtype=torch.int32, device=inputs.device)
                return PagedAttention(
                    cache,
                    kv_rows,
                    cu_queries,
                    (starts + 1).int(),
                    tables.int(),
                    max_query_len=1,
                    max_context_len=context_len,
                )
            mask = causal_mask(starts, 1, context_len, cache.data.dtype)
            group = Group(slice(0, batch_size), batch_size, 1, context_len, blocks=tables.view(-1), mask=mask)
            return GroupedAttention(cache, kv_rows, [group])

        return _Graph(inputs, self._capture(step))


class _CudaCapture:
    """Captures steps into one shared memory pool, so that many graphs cost little memory."""

    def __init__(self) -> None:
        self._memory: Any = None  # torch's handle of the memory pool

    def __call__(self, step: Replay) -> Replay:
        # Kernels that are chosen or compiled at their first call must not be captured.
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._memory):
            logits = step()
        self._memory = graph.pool()

        def replay() -> Tensor:
            graph.replay()
            return logits

        return replay


def _power_of_two(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << (n - 1).bit_length()
