"""Attention of a ragged packed batch over the paged KV cache.

Two ways, one call signature, `attention(layer, qkv (T, 3C)) -> (T, C)`:

- `GroupedAttention`, everywhere: gathers each sequence's blocks and calls torch's scaled dot
  product attention, a few sequences of similar length a call.
- `PagedAttention`, on CUDA in float16 or bfloat16 where torch has a FlashAttention that reads
  block tables: one call for the whole batch, nothing is gathered. Which builds have one, and for
  which block sizes, differs (FlashAttention 2 wants multiples of 256 tokens or has no block tables
  at all; 3 takes any size), so `paged_kernel_works` asks the kernel itself instead of keeping a list.

T rows, C = H * D; H heads of size D.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from minibatch.model.kv_cache import KVCache


class Attention(Protocol):
    """Stores the new keys and values of one layer, then attends."""

    def __call__(self, layer: int, qkv: Tensor) -> Tensor: ...


@dataclass(frozen=True, slots=True)
class Group:
    """Sequences that share one attention call: B of them, each padded to Q queries and K keys.

    Attributes:
        rows: the group's rows of the packed batch.
        query_rows: (B * Q,) packed rows, relative to the group, that make the padded queries; None
            when every sequence has Q.
        real_rows: the padded rows that are real, in packed order; None like `query_rows`.
        blocks: (B * ceil(K / block_size),) block ids; None for fresh prompts, whose keys and
            values are all in this batch.
        mask: additive, broadcast over (B, H, Q, K); None when nothing needs masking beyond
            causality.
    """

    rows: slice
    num_seqs: int
    query_len: int
    context_len: int
    query_rows: Tensor | None = None
    real_rows: Tensor | None = None
    blocks: Tensor | None = None
    mask: Tensor | None = None

    def attend(self, layer: int, qkv: Tensor, cache: KVCache) -> Tensor:
        """(T, 3C) -> (rows of this group, C)."""
        heads, dim = cache.heads, cache.head_dim
        part = qkv[self.rows]
        if self.query_rows is not None:
            part = part.index_select(0, self.query_rows)
        q, k, v = part.view(self.num_seqs, self.query_len, 3, heads, dim).unbind(2)  # (B, Q, H, D)
        fresh = self.blocks is None
        if self.blocks is not None:
            kv = cache.gather(layer, self.blocks).view(self.num_seqs, -1, 2, heads, dim)
            k, v = kv[:, : self.context_len].unbind(2)  # (B, K, H, D)
        y = functional.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=self.mask, is_causal=fresh
        )  # (B, H, Q, D)
        y = y.transpose(1, 2).reshape(-1, heads * dim)
        return y if self.real_rows is None else y.index_select(0, self.real_rows)


def causal_mask(starts: Tensor, query_len: int, context_len: int, dtype: torch.dtype) -> Tensor:
    """Additive mask (B, 1, Q, K): query i of a sequence sees keys 0 .. start + i. `starts` is (B,)."""
    device = starts.device
    last_seen = starts.view(-1, 1, 1, 1) + torch.arange(query_len, device=device).view(-1, 1)
    mask = torch.zeros(len(starts), 1, query_len, context_len, dtype=dtype, device=device)
    return mask.masked_fill_(torch.arange(context_len, device=device) > last_seen, float("-inf"))


@dataclass(frozen=True, slots=True)
class GroupedAttention:
    """Attention by groups of similar length. `kv_rows` (T,) is where each row's KV is stored."""

    cache: KVCache
    kv_rows: Tensor
    groups: list[Group]

    def __call__(self, layer: int, qkv: Tensor) -> Tensor:
        self.cache.write(layer, self.kv_rows, qkv[:, qkv.shape[1] // 3 :])
        parts = [group.attend(layer, qkv, self.cache) for group in self.groups]
        return parts[0] if len(parts) == 1 else torch.cat(parts)


@dataclass(frozen=True, slots=True)
class PagedAttention:
    """Attention by one kernel call that reads the block tables.

    Attributes:
        cu_queries: (N + 1,) int32, where each sequence's rows begin.
        context_lens: (N,) int32.
        block_tables: (N, W) int32.
    """

    cache: KVCache
    kv_rows: Tensor
    cu_queries: Tensor
    context_lens: Tensor
    block_tables: Tensor
    max_query_len: int
    max_context_len: int

    def __call__(self, layer: int, qkv: Tensor) -> Tensor:
        from torch.nn.attention.varlen import varlen_attn

        cache = self.cache
        heads, dim = cache.heads, cache.head_dim
        cache.write(layer, self.kv_rows, qkv[:, heads * dim :])
        y = varlen_attn(
            qkv[:, : heads * dim].reshape(-1, heads, dim),
            cache.keys(layer),
            cache.values(layer),
            self.cu_queries,
            None,
            self.max_query_len,
            self.max_context_len,
            window_size=(-1, 0),  # causal
            seqused_k=self.context_lens,
            block_table=self.block_tables,
        )
        if isinstance(y, tuple):  # only with auxiliary outputs, which aren't asked for
            y = y[0]
        return y.reshape(-1, heads * dim)


def paged_kernel_works(cache: KVCache) -> bool:
    """Whether `PagedAttention` can serve this cache: tried on the cache itself, against `GroupedAttention`.

    Call it before the cache holds anything: it writes to the first two blocks.
    """
    if cache.data.device.type != "cuda" or cache.data.dtype not in (torch.float16, torch.bfloat16):
        return False
    if cache.num_kv_blocks < 2:
        return False
    try:
        from torch.nn.attention.varlen import varlen_attn

        if "block_table" not in inspect.signature(varlen_attn).parameters:
            return False
        return _paged_agrees(cache)
    except (ImportError, RuntimeError, TypeError, NotImplementedError, ValueError):
        return False


def _paged_agrees(cache: KVCache) -> bool:
    # One chunk that ends in the second block, through a block table that is out of order.
    device, dtype = cache.data.device, cache.data.dtype
    heads, dim = cache.heads, cache.head_dim
    start, n = cache.block_size - 1, 2
    blocks = torch.tensor([1, 0], device=device)
    kv_rows = torch.tensor([2 * cache.block_size - 1, 0], device=device)
    generator = torch.Generator(device).manual_seed(0)
    cache.data[0, :2].normal_(generator=generator)
    qkv = torch.randn(n, 3 * heads * dim, device=device, generator=generator).to(dtype)
    mask = causal_mask(torch.tensor([start], device=device), n, start + n, dtype)
    group = Group(slice(0, n), 1, n, start + n, blocks=blocks, mask=mask)
    right = GroupedAttention(cache, kv_rows, [group])(0, qkv)

    def int32(*values: int) -> Tensor:
        return torch.tensor(values, dtype=torch.int32, device=device)

    paged = PagedAttention(cache, kv_rows, int32(0, n), int32(start + n), blocks.int().view(1, 2), n, start + n)
    return bool(torch.allclose(paged(0, qkv).float(), right.float(), atol=2e-2, rtol=2e-2))
