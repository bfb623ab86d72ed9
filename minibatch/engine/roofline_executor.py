"""Plans timed by the roofline model: nothing is computed, durations come from FLOPs and bytes."""

from __future__ import annotations

import math

from minibatch.engine.ceilings import Ceilings
from minibatch.engine.costs import ModelShape, all_reduce_bytes, count, swap_bytes
from minibatch.engine.executor import Result
from minibatch.recording.schema import Clock
from minibatch.scheduling.plan import Plan

PLACEHOLDER_TOKEN = 0
"""The token that every request writes, because no model says which."""


class RooflineExecutor:
    """Says how long a plan would take on a device of given ceilings.

        duration = max(FLOPs / peak FLOP/s, bytes / bandwidth) + all-reduces / link
                   + overhead + swapped bytes / host link

    after Williams, Waterman and Patterson, "Roofline" (CACM 2009), and for tensor-parallel devices
    after `costs`. The same plan always gives the same number of nanoseconds.

    N devices divide all of the work by N, though each computes the norms and holds the inputs of
    its matrices whole; their all-reduces wait for the link's bandwidth and not for its latency, nor
    do they hide behind matrix products; and each device swaps over a host link of its own. So large
    batches on N devices are modelled well, and small ones too fast by some microseconds a layer.

    Args:
        block_size: tokens a KV block, for the bytes of a swap.
        overhead_ns: host time of an iteration that the device waits for, in nanoseconds.
        host_link_bytes_per_s: of one direction of the host link; the default is an assumption, not a measurement.
    """

    def __init__(
        self,
        shape: ModelShape,
        ceilings: Ceilings,
        *,
        block_size: int = 16,
        overhead_ns: int = 0,
        host_link_bytes_per_s: float = 25e9,
    ) -> None:
        if overhead_ns < 0 or not host_link_bytes_per_s > 0:
            raise ValueError(
                f"overhead of {overhead_ns} ns and a host link of {host_link_bytes_per_s} bytes/s can't be: "
                "use 0 or more, and a positive number"
            )
        if shape.n_head % ceilings.num_devices or shape.n_kv_head % ceilings.num_devices:
            raise ValueError(
                f"{ceilings.num_devices} devices can't share {shape.n_head} heads and {shape.n_kv_head} KV heads "
                "evenly: use a number of devices that divides both"
            )
        self.shape = shape
        self.ceilings = ceilings
        self._block_size = block_size
        self._overhead_ns = overhead_ns
        self._host_link = host_link_bytes_per_s

    @property
    def clock(self) -> Clock:
        return "modelled"

    @property
    def device(self) -> str:
        return self.ceilings.device

    def execute(self, plan: Plan) -> Result:
        swapped = sum(len(swap.block_table) for swap in (*plan.swap_out, *plan.swap_in))
        num_devices, link = self.ceilings.num_devices, self.ceilings.link_bytes_per_s
        seconds = swap_bytes(swapped, self._block_size, self.shape) / (num_devices * self._host_link)
        overhead_ns = 0
        if plan.seqs:
            costs = count(plan.seqs, self.shape)
            seconds += max(costs.flops / self.ceilings.flops_per_s, costs.bytes / self.ceilings.bytes_per_s)
            if num_devices > 1 and link:
                seconds += all_reduce_bytes(plan.seqs, self.shape, num_devices) / link
            overhead_ns = self._overhead_ns
        tokens = {seq.request.request_id: PLACEHOLDER_TOKEN for seq in plan.seqs if seq.samples}
        # Rounded up: an iteration that does something takes time.
        return Result(tokens, math.ceil(seconds * 1e9) + overhead_ns)
