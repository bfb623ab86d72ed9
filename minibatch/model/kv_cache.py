"""The KV cache: keys and values of every request, in blocks that belong to no one in particular."""

from __future__ import annotations

import torch
from torch import Tensor

from minibatch.scheduling.plan import Swap


class KVCache:
    """Keys and values of all layers, `block_size` tokens a block.

        data: (n_layer, num_kv_blocks + 1, block_size, 2, n_head, head_dim)
                                       |              +- 0: keys, 1: values
                                       +- the last block is scratch

    A token's keys and values lie side by side, so that one copy writes both and one gather reads
    both. Positions whose KV belongs nowhere (padding) write to the scratch block.

    Swapped-out KV waits in host memory under its request's id.
    """

    def __init__(
        self,
        *,
        n_layer: int,
        n_head: int,
        head_dim: int,
        num_kv_blocks: int,
        block_size: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        if num_kv_blocks < 1 or block_size < 1:
            raise ValueError(
                f"a KV cache of {num_kv_blocks} blocks of {block_size} tokens holds nothing: use at least 1 of each"
            )
        self.heads = n_head
        self.head_dim = head_dim
        self.block_size = block_size
        self.num_kv_blocks = num_kv_blocks
        self.scratch_block = num_kv_blocks
        shape = (n_layer, num_kv_blocks + 1, block_size, 2, n_head, head_dim)
        try:
            self.data = torch.zeros(shape, dtype=dtype, device=device)
        except RuntimeError as error:  # torch's out-of-memory errors are RuntimeErrors
            gib = dtype.itemsize * torch.Size(shape).numel() / 2**30
            raise ValueError(
                f"{num_kv_blocks} KV blocks of {block_size} tokens need {gib:.1f} GiB on {device}, "
                "which is more than is free: use fewer blocks or a smaller model"
            ) from error
        row = 2 * n_head * head_dim
        self._token_rows = [layer.view(-1, row) for layer in self.data]
        self._block_rows = [layer.view(num_kv_blocks + 1, block_size * row) for layer in self.data]
        self._host: dict[int, Tensor] = {}
        self._gathered = torch.empty(0, dtype=dtype)

    def keys(self, layer: int) -> Tensor:
        """(num_kv_blocks + 1, block_size, n_head, head_dim), a view."""
        return self.data[layer, :, :, 0]

    def values(self, layer: int) -> Tensor:
        """(num_kv_blocks + 1, block_size, n_head, head_dim), a view."""
        return self.data[layer, :, :, 1]

    def write(self, layer: int, kv_rows: Tensor, kv: Tensor) -> None:
        """Store kv (tokens, 2 * n_head * head_dim) at `kv_rows` (tokens,): block * block_size + offset."""
        self._token_rows[layer].index_copy_(0, kv_rows, kv)

    def gather(self, layer: int, blocks: Tensor) -> Tensor:
        """Copy `blocks` (n,) out: (n, block_size * 2 * n_head * head_dim), which the next call may overwrite.

        On the CPU always into the same memory: the C library would give that of each call back to the
        system, and touching new pages takes longer than copying.
        """
        rows = self._block_rows[layer]
        if self.data.device.type != "cpu":
            return rows.index_select(0, blocks)
        wanted = len(blocks) * rows.shape[1]
        if self._gathered.numel() < wanted:
            self._gathered = torch.empty(wanted + wanted // 4, dtype=self.data.dtype)
        return torch.index_select(rows, 0, blocks, out=self._gathered[:wanted].view(len(blocks), rows.shape[1]))

    def swap_out(self, swap: Swap) -> None:
        """Copy a request's blocks to host memory."""
        self._host[swap.request.request_id] = self.data[:, self._ids(swap.block_table)].to("cpu")

    def swap_in(self, swap: Swap) -> None:
        """Copy a request's KV back into the first of the blocks given, and forget the host copy."""
        request_id = swap.request.request_id
        stored = self._host.pop(request_id, None)
        if stored is None:
            raise RuntimeError(f"request {request_id} has no KV in host memory: swap it out before swapping it in")
        n = stored.shape[1]
        if n > len(swap.block_table):
            raise RuntimeError(
                f"request {request_id} has {n} blocks of KV in host memory and was given "
                f"{len(swap.block_table)}: give it at least as many"
            )
        self.data[:, self._ids(swap.block_table[:n])] = stored.to(self.data.device)

    def forget(self, request_id: int) -> None:
        """Drop the host copy of a request that will not come back, if there is one."""
        self._host.pop(request_id, None)

    def _ids(self, block_table: tuple[int, ...]) -> Tensor:
        return torch.tensor(block_table, dtype=torch.int64, device=self.data.device)
