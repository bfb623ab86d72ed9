"""The cost of decode batches that differ in their context alone: what they share is computed once for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from minibatch.roofline.costs import Amount, Count, Totals, sums_of, together
from minibatch.roofline.step_model import StepModel

Ints = npt.NDArray[np.int64]


class DecodeCost:
    """Iterations of equally many positions, sampled rows and sequences.

    Attributes:
        alike: the work that does not see the context.
        seconds: what that takes.
    """

    def __init__(self, model: StepModel, positions: int, sampled: int, num_seqs: int) -> None:
        parts = model.rates.matrices(positions, sampled)
        self.alike = together(parts)
        self.seconds = float(model.seconds_without_context(parts, positions, num_seqs))
        self._positions = positions
        self._rates = model.rates
        self._alike_bytes = self.alike.bytes
        self._activations = self._rates.attention_bytes * positions
        self._roof = model.roofs["attention"]

    # -- iterations of one token a sequence ----------------------------------------------------------

    def run(self, contexts: Sequence[int], start_ns: int, before_ns: float) -> tuple[list[int], list[int]]:
        """Iterations one after the other, as long as they begin before `before_ns`: durations and starts, in ns.

        Args:
            contexts: KV entries that each of them reads. The first one begins at `start_ns`.
        """
        # Plain floats, with the rounding of `StepModel`: numpy is slower for the twenty or so of most runs.
        seconds, positions, (peak, bandwidth) = self.seconds, self._positions, self._roof
        flops, bytes_kv, activations = self._rates.attention_flops, self._rates.kv_bytes, self._activations
        ceil = math.ceil
        durations: list[int] = []
        starts: list[int] = []
        for context in contexts:
            if start_ns >= before_ns:
                break
            computing, reading = flops * context / peak, (bytes_kv * (positions + context) + activations) / bandwidth
            duration_ns = ceil((seconds + (computing if computing > reading else reading)) * 1e9)
            durations.append(duration_ns)
            starts.append(start_ns)
            start_ns += duration_ns
        return durations, starts

    def flops(self, context: Count) -> Count:
        """FLOPs of an iteration that reads `context` KV entries."""
        return self.alike.flops + self._rates.attention_flops * context

    def bytes(self, context: Count) -> Amount:
        """Bytes that it moves."""
        return self._alike_bytes + (self._rates.kv_bytes * (self._positions + context) + self._activations)

    def costs(self, contexts: Sequence[int]) -> Ints:
        """(4, num_steps) FLOPs, and bytes of weights, KV and activations."""
        context = np.array(contexts, dtype=np.int64)
        totals = Totals(self._positions, rectangle=context, context=context, sampled=0)
        return sums_of((self.alike, self._rates.attention(totals)), len(contexts))
