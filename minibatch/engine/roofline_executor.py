"""Plans timed by the roofline model: nothing is computed, durations come from FLOPs and bytes."""

from __future__ import annotations

import math
from functools import lru_cache, partial

from minibatch.engine.executor import Result
from minibatch.recording.schema import Clock
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape, sum_of, swap_bytes, total
from minibatch.roofline.decode_cost import DecodeCost
from minibatch.roofline.step_model import StepModel
from minibatch.scheduling.plan import Plan

PLACEHOLDER_TOKEN = 0
"""The token that every request generates, because no model says which."""


class RooflineExecutor:
    """Says how long a plan would take on a device of given ceilings.

        duration = step by `StepModel` + swapped bytes / host link

    Each of several devices swaps over a host link of its own. The same plan always gives the same
    number of nanoseconds.

    Args:
        block_size: tokens a KV block, for the bytes of a swap.
        host_link_bytes_per_s: of one direction of the host link; the default is an assumption, not a measurement.

    Raises:
        ValueError: as `StepModel`, or the host link is none.
    """

    def __init__(
        self, shape: ModelShape, ceilings: Ceilings, *, block_size: int = 16, host_link_bytes_per_s: float = 25e9
    ) -> None:
        if not host_link_bytes_per_s > 0:
            raise ValueError(f"the host link has {host_link_bytes_per_s} bytes/s: use a positive number")
        self.shape = shape
        self.ceilings = ceilings
        self.model = StepModel(shape, ceilings)
        self._block_size = block_size
        self._host_link = host_link_bytes_per_s
        self.decode_cost_of = lru_cache(maxsize=4096)(partial(DecodeCost, self.model))
        """Of runs of decodes, which come again and again: by positions, sampled rows and sequences."""

    @property
    def clock(self) -> Clock:
        return "modelled"

    @property
    def device(self) -> str:
        return self.ceilings.device

    def execute(self, plan: Plan) -> Result:
        seconds = 0.0
        if plan.swap_out or plan.swap_in:
            swapped = sum(len(swap.block_table) for swap in (*plan.swap_out, *plan.swap_in))
            link = self.ceilings.num_devices * self._host_link
            seconds = swap_bytes(swapped, self._block_size, self.shape) / link
        costs = None
        if plan.num_seqs:
            totals = total(plan.not_decoding, plan.decodes.starts)
            parts = self.model.rates.operators(totals)
            seconds += self.model.seconds(parts, totals.positions, plan.num_seqs)
            costs = sum_of(parts)
        writers = [request.request_id for request in plan.decodes.requests]
        writers += [seq.request.request_id for seq in plan.prefills if seq.samples]
        tokens = dict.fromkeys(writers, PLACEHOLDER_TOKEN)
        # Rounded up: an iteration that does something takes time.
        return Result(tokens, math.ceil(seconds * 1e9), costs=costs)

    def forget(self, request_id: int) -> None:
        """It keeps nothing of requests."""
