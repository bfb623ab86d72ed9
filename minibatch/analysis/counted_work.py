"""Whether the work that a recording counts is that of its entries: what was altered by hand shows here."""

from __future__ import annotations

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.recording.engine_recordings import engine_recordings
from minibatch.recording.schema import Recording
from minibatch.roofline.costs import ModelShape, Totals, operators, sums_of

_COUNTED = ("flops", "bytes_weights", "bytes_kv", "bytes_activations")


def check_counted_work(recording: Recording) -> None:
    """ValueError names the first iteration whose FLOPs or bytes are not those that `roofline.costs` counts.

    Without the shape of the model nothing is known, and nothing checked.
    """
    for part in engine_recordings(recording):
        if part.header.shape is not None and part.num_iterations:
            _check(part, _shape(part))


def _shape(recording: Recording) -> ModelShape:
    try:
        return ModelShape(**(recording.header.shape or {}))
    except TypeError as error:
        raise ValueError("the shape of its model is not one that this program knows: record it again") from error


def _check(recording: Recording, shape: ModelShape) -> None:
    entries, n = recording.entries, recording.num_iterations
    computed = entries["tokens"] + entries["padding"]
    context = np.where(computed > 0, entries["start"] + computed, 0)
    # A decode checks every token proposed, so all of its rows give logits.
    sampled = np.where(entries["phase"] == Phase.DECODE, entries["tokens"], entries["generated"])
    totals = Totals(
        *(
            np.bincount(entries["iteration"], each.astype(np.float64), n).astype(np.int64)
            for each in (computed, computed * context, context, sampled)
        )
    )
    counted = sums_of(operators(totals, shape), n)
    for name, values in zip(_COUNTED, counted, strict=True):
        wrong = np.flatnonzero(values != recording.iterations[name])
        if len(wrong):
            i = int(wrong[0])
            raise ValueError(
                f"iteration {i} has {name} of {int(recording.iterations[name][i]):,}, "
                f"and its entries count {int(values[i]):,}"
            )
