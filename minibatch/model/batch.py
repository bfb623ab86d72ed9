"""Packs a plan's sequences into the arrays that one forward pass reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from minibatch.model.attention import Attention, Group, GroupedAttention, PagedAttention, causal_mask
from minibatch.model.kv_cache import KVCache
from minibatch.scheduling.plan import ScheduledSeq

# Sequences of unequal lengths share an attention call until their padding would copy this many
# bytes a layer: about what one more call costs on a CPU.
_PADDING_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """One iteration's input, on the device. Rows are packed in the order of their attention groups:

        row   0   1   2     3   4     5 6 7 8   9 ...
              d   d   d     d   d     p p p p   c c c c c      d decode, p prompt, c chunk
              | a group |   group |   group |   group   |

    Attributes:
        token_ids, positions: (T,) int64.
        attention: stores this batch's keys and values, and attends.
        logit_rows: (R,) int64, or None when every row needs logits, in order.
        sampled: the sequences that the R rows of logits belong to, in order.
    """

    token_ids: Tensor
    positions: Tensor
    attention: Attention
    logit_rows: Tensor | None
    sampled: list[ScheduledSeq]


def pack(seqs: Sequence[ScheduledSeq], cache: KVCache, n_positions: int, *, paged: bool = False) -> PackedBatch:
    """Lay out `seqs`, at least one position in all, for one forward pass.

    Args:
        n_positions: positions the model knows; padding beyond them reuses the last one.
        paged: attend by the kernel that reads block tables (see `attention.paged_kernel_works`).
    """
    groups = _group(seqs, cache)
    ordered = [seq for group in groups for seq in group]
    token_ids: list[int] = []
    positions: list[int] = []
    kv_rows: list[int] = []
    logit_rows: list[int] = []
    sampled: list[ScheduledSeq] = []
    for seq in ordered:
        if seq.samples:
            logit_rows.append(len(token_ids) + seq.num_tokens - 1)
            sampled.append(seq)
        _append_rows(seq, cache, token_ids, positions, kv_rows)
    last = n_positions - 1
    if max(positions) > last:
        positions = [min(position, last) for position in positions]

    device = cache.data.device
    rows_on_device = _put(kv_rows, device)
    attention: Attention
    if paged:
        attention = _paged_attention(ordered, cache, rows_on_device)
    else:
        first_rows = accumulate((sum(map(_width, group)) for group in groups), initial=0)
        attention = GroupedAttention(
            cache, rows_on_device, [_to_device(*pair, cache) for pair in zip(groups, first_rows, strict=False)]
        )
    return PackedBatch(
        token_ids=_put(token_ids, device),
        positions=_put(positions, device),
        attention=attention,
        logit_rows=None if len(logit_rows) == len(token_ids) else _put(logit_rows, device),
        sampled=sampled,
    )


def block_tables(seqs: Sequence[ScheduledSeq], width: int, cache: KVCache) -> npt.NDArray[np.int64]:
    """(len(seqs), width) block ids; where a sequence has no block, the scratch block."""
    tables = np.full((len(seqs), width), cache.scratch_block, dtype=np.int64)
    for row, seq in zip(tables, seqs, strict=True):
        blocks = seq.block_table[:width]
        row[: len(blocks)] = blocks
    return tables


def _width(seq: ScheduledSeq) -> int:
    return seq.num_tokens + seq.num_padding


def _append_rows(
    seq: ScheduledSeq, cache: KVCache, token_ids: list[int], positions: list[int], kv_rows: list[int]
) -> None:
    """Token, position and KV row of each of a sequence's rows; padding repeats token 0 into scratch."""
    start, stop, size, table = seq.start, seq.start + seq.num_tokens, cache.block_size, seq.block_table
    if seq.num_tokens:
        token_ids += seq.request.token_ids(start, stop)
        kv_rows += [table[position // size] * size + position % size for position in range(start, stop)]
    if seq.num_padding:
        token_ids += [0] * seq.num_padding
        scratch = cache.scratch_block * size
        kv_rows += [scratch + position % size for position in range(stop, stop + seq.num_padding)]
    positions += range(start, stop + seq.num_padding)


def _group(seqs: Sequence[ScheduledSeq], cache: KVCache) -> list[list[ScheduledSeq]]:
    """Sequences that share an attention call: single positions, fresh prompts, chunks, by length."""
    single = [seq for seq in seqs if _width(seq) == 1]
    fresh = [seq for seq in seqs if _width(seq) > 1 and seq.start == 0]
    chunks = [seq for seq in seqs if _width(seq) > 1 and seq.start > 0]
    heads, dim = cache.heads, cache.head_dim
    most_padding = _PADDING_BYTES // (2 * heads * dim * cache.data.element_size())
    return [group for kind in (single, fresh, chunks) for group in _by_length(kind, most_padding)]


def _by_length(seqs: list[ScheduledSeq], most_padding: int) -> list[list[ScheduledSeq]]:
    """Split into groups, longest first, of at most `most_padding` padded queries and keys each."""
    groups: list[list[ScheduledSeq]] = []
    longest = widest = padding = 0
    for seq in sorted(seqs, key=lambda seq: (-(seq.start + _width(seq)), -_width(seq))):
        width, context = _width(seq), seq.start + _width(seq)
        if groups:
            widening = max(0, width - widest)
            padding += longest - context + max(0, widest - width) + widening * len(groups[-1])
            if padding <= most_padding:
                groups[-1].append(seq)
                widest += widening
                continue
        groups.append([seq])
        longest, widest, padding = context, width, 0
    return groups


def _to_device(seqs: list[ScheduledSeq], first_row: int, cache: KVCache) -> Group:
    device = cache.data.device
    widths = [_width(seq) for seq in seqs]
    contexts = [seq.start + width for seq, width in zip(seqs, widths, strict=True)]
    query_len, context_len, num_rows = max(widths), max(contexts), sum(widths)
    query_rows = real_rows = blocks = mask = None
    if num_rows < query_len * len(seqs):
        # Row r of a sequence that has no row r repeats its last one; causality hides it from the others.
        columns = np.arange(query_len)
        first = np.cumsum([0, *widths[:-1]])[:, None]
        lengths = np.array(widths)[:, None]
        query_rows = _put((first + np.minimum(columns, lengths - 1)).ravel(), device)
        real_rows = _put(np.flatnonzero(columns < lengths), device)
    if query_len == 1 or seqs[0].start:
        width = -(-context_len // cache.block_size)
        blocks = _put(block_tables(seqs, width, cache).ravel(), device)
        if query_len > 1 or min(contexts) < context_len:
            starts = _put([seq.start for seq in seqs], device)
            mask = causal_mask(starts, query_len, context_len, cache.data.dtype)
    rows = slice(first_row, first_row + num_rows)
    return Group(rows, len(seqs), query_len, context_len, query_rows, real_rows, blocks, mask)


def _paged_attention(seqs: list[ScheduledSeq], cache: KVCache, kv_rows: Tensor) -> PagedAttention:
    device = cache.data.device
    widths = [_width(seq) for seq in seqs]
    contexts = [seq.start + width for seq, width in zip(seqs, widths, strict=True)]
    width = -(-max(contexts) // cache.block_size)
    return PagedAttention(
        cache=cache,
        kv_rows=kv_rows,
        cu_queries=_put(np.cumsum([0, *widths]), device).int(),
        context_lens=_put(contexts, device).int(),
        block_tables=_put(block_tables(seqs, width, cache), device).int(),
        max_query_len=max(widths),
        max_context_len=max(contexts),
    )


def _put(values: list[int] | npt.NDArray[np.int64], device: torch.device) -> Tensor:
    # numpy reads a list of ints twice as fast as torch does
    return torch.from_numpy(np.asarray(values, dtype=np.int64)).to(device)
