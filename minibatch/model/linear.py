"""A linear layer that picks the fastest way to multiply for its device, dtype and batch."""

from __future__ import annotations

import torch
from torch import Tensor

# oneDNN lays packed weights out for the batch size it is told; the layout for 64 rows was within
# 5 % of the best from 2 to 64 rows (GPT-2 shapes, AVX2).
_PACKED_ROWS = range(2, 65)
# Below this many weights a product is too short to repay the longer call.
_SMALLEST_PACKED = 2**19


class Linear:
    """`y = x @ weight + bias` for x of shape (rows, in_features).

    In float32 on a CPU, large weights are also kept in oneDNN's packed layout, which is up to twice
    as fast between 2 and 64 rows, where decoding lives. One row, or many, are faster on the plain
    (in, out) layout. With `keep_plain=False` the packed copy serves every batch and the plain one
    is dropped: half the memory for about 15 % of the speed at one row and at hundreds.

    Attributes:
        weight: (in_features, out_features), or None where only the packed copy is kept.
        bias: (out_features,), or None.
    """

    __slots__ = ("_packed", "bias", "weight")

    def __init__(self, weight: Tensor, bias: Tensor | None, *, keep_plain: bool = True) -> None:
        self.bias = bias
        self._packed = _pack(weight)
        if weight.device.type == "cpu":
            weight = weight.contiguous()  # a tied output matrix comes transposed, half as fast at one row
        self.weight = weight if keep_plain or self._packed is None else None

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in_features) -> (rows, out_features)."""
        weight = self.weight
        if weight is None or (self._packed is not None and x.shape[0] in _PACKED_ROWS):
            # The overload is named because torch would try the others first, which is slow.
            return torch.ops.mkldnn._linear_pointwise.default(x, self._packed, self.bias, "none", [], "")
        if self.bias is None:
            return x @ weight
        return torch.addmm(self.bias, x, weight)

    def plus(self, x: Tensor, residual: Tensor) -> Tensor:
        """`self(x) + residual`, in one pass over the output where the device can."""
        weight = self.weight
        if weight is None or (self._packed is not None and x.shape[0] in _PACKED_ROWS):
            return torch.ops.mkldnn._linear_pointwise.binary(x, residual, self._packed, self.bias, "add")
        return self(x).add_(residual)


def _pack(weight: Tensor) -> Tensor | None:
    """The packed copy of an (in, out) weight, or None where this device or dtype has none."""
    if weight.device.type != "cpu" or weight.dtype != torch.float32 or weight.numel() < _SMALLEST_PACKED:
        return None
    try:
        packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.t().contiguous(), _PACKED_ROWS[-1])
        # The operators are private to torch: one that has changed must cost speed, not correctness.
        probe = torch.ones(2, weight.shape[0])
        found = torch.ops.mkldnn._linear_pointwise.default(probe, packed, None, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):
        return None
    return packed if torch.allclose(found, probe @ weight, rtol=1e-3, atol=1e-3) else None
