"""How long an iteration takes by the roofline model, operator by operator."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import Amount, Count, ModelShape, Operator, Rates, all_reduce_bytes


class StepModel:
    """Durations of iterations of a model on a device, from their totals alone.

        step = sum over operators of max(FLOPs / (compute share * peak FLOP/s), bytes / (memory share * bandwidth))
               + all-reduces / link + step_ns + seq_ns * sequences + (batch_ns if positions > 1)

    after Williams, Waterman and Patterson, "Roofline" (CACM 2009), each operator under the roof by
    itself: one that waits for memory leaves the arithmetic units idle, and none fills another's gaps.
    The shares are `Ceilings.efficiency`, the operators `costs.operators`.

    The formulas hold for one iteration and, elementwise, for arrays of them, with the same
    rounding: the same totals always give the same number of nanoseconds.

    N devices divide all of the work by N, though each computes the norms and holds the inputs of
    its matrices whole; their all-reduces wait for the link's bandwidth and not for its latency, nor
    do they hide behind matrix products. So large batches on N devices are modelled well, and small
    ones too fast by some microseconds a layer.

    Attributes:
        rates: what the operators of the model cost by the unit.
        roofs: by operator, the FLOP/s and bytes/s that it reaches.

    Raises:
        ValueError: the devices can't share the heads evenly.
    """

    def __init__(self, shape: ModelShape, ceilings: Ceilings) -> None:
        if shape.n_head % ceilings.num_devices or shape.n_kv_head % ceilings.num_devices:
            raise ValueError(
                f"{ceilings.num_devices} devices can't share {shape.n_head} heads and {shape.n_kv_head} KV heads "
                "evenly: use a number of devices that divides both"
            )
        self.shape = shape
        self.ceilings = ceilings
        self.rates = Rates(shape)
        self.roofs = {
            name: (
                ceilings.flops_per_s * ceilings.efficiency.compute(name),
                ceilings.bytes_per_s * ceilings.efficiency.memory(name),
            )
            for name in ("embedding", "linear", "attention", "lm_head")
        }

    def seconds(self, parts: tuple[Operator, ...], positions: Count, num_seqs: Count) -> Amount:
        """Duration of iterations of at least one position, in seconds.

        Args:
            parts: `operators(totals, shape)`.
            num_seqs: sequences in the batch, padding included.
        """
        embedding, linear, attention, lm_head = parts
        return self.seconds_without_context((embedding, linear, lm_head), positions, num_seqs) + self.time(attention)

    def seconds_without_context(self, parts: Iterable[Operator], positions: Count, num_seqs: Count) -> Amount:
        """The part of `seconds` that is the same whatever the context; `parts` are `Rates.matrices`."""
        seconds: Amount = 0.0
        for part in parts:
            seconds = seconds + self.time(part)
        num_devices, link = self.ceilings.num_devices, self.ceilings.link_bytes_per_s
        if num_devices > 1 and link:
            seconds = seconds + all_reduce_bytes(positions, self.shape, num_devices) / link
        efficiency = self.ceilings.efficiency
        fixed_ns = efficiency.step_ns + efficiency.seq_ns * num_seqs + efficiency.batch_ns * (positions > 1)
        return seconds + fixed_ns / 1e9

    def time(self, part: Operator) -> Amount:
        """Seconds of one operator: the larger of computing and reading."""
        name, flops, weights, kv, activations = part
        peak, bandwidth = self.roofs[name]
        computing, reading = flops / peak, (weights + kv + activations) / bandwidth
        if isinstance(computing, float):
            return computing if computing > reading else reading
        return np.maximum(computing, reading)
