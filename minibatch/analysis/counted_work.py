"""Whether the work and the modelled times of a recording are those of its entries: what was altered shows here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import Code
from minibatch.recording.engine_recordings import engine_recordings
from minibatch.recording.schema import CODES, Recording
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape, Totals, operators, sums_of
from minibatch.roofline.step_model import StepModel

_COUNTED = ("flops", "bytes_weights", "bytes_kv", "bytes_activations")
_SWAPS = [CODES.index(code) for code in (Code.PREEMPTED_SWAP, Code.RESUMED)]


def check_counted_work(recording: Recording) -> None:
    """ValueError names the first iteration whose FLOPs or bytes are not those that `roofline.costs` counts.

    Without the shape of the model nothing is known, and nothing checked.
    """
    for part in engine_recordings(recording):
        if part.header.shape is not None and part.num_iterations:
            _check_work(part, _totals(part), _shape(part))


def check_modelled_times(recording: Recording) -> None:
    """ValueError names the first iteration of a modelled run that takes another time than `StepModel` says.

    Where KV was swapped, nothing says how much, and the time is at least that. Without the shape of the model or
    the ceilings of its device nothing is known, and nothing checked.
    """
    for part in engine_recordings(recording):
        header = part.header
        if header.clock == "modelled" and header.shape is not None and header.ceilings is not None:
            _check_times(part, _totals(part), _shape(part))


def _shape(recording: Recording) -> ModelShape:
    try:
        return ModelShape(**(recording.header.shape or {}))
    except TypeError as error:
        raise ValueError("the shape of its model is not one that this program knows: record it again") from error


def _totals(recording: Recording) -> Totals:
    """Of each iteration."""
    entries, n = recording.entries, recording.num_iterations
    computed = entries["tokens"] + entries["padding"]
    context = np.where(computed > 0, entries["start"] + computed, 0)
    # A decode checks every token proposed, so all of its rows give logits.
    sampled = np.where(entries["phase"] == Phase.DECODE, entries["tokens"], entries["generated"])
    return Totals(
        *(
            np.bincount(entries["iteration"], each.astype(np.float64), n).astype(np.int64)
            for each in (computed, computed * context, context, sampled)
        )
    )


def _check_work(recording: Recording, totals: Totals, shape: ModelShape) -> None:
    counted = sums_of(operators(totals, shape), recording.num_iterations)
    for name, values in zip(_COUNTED, counted, strict=True):
        wrong = np.flatnonzero(values != recording.iterations[name])
        if len(wrong):
            i = int(wrong[0])
            raise ValueError(
                f"iteration {i} has {name} of {int(recording.iterations[name][i]):,}, "
                f"and its entries count {int(values[i]):,}"
            )


def _check_times(recording: Recording, totals: Totals, shape: ModelShape) -> None:
    header, iterations, n = recording.header, recording.iterations, recording.num_iterations
    try:
        model = StepModel(shape, Ceilings.from_dict({**(header.ceilings or {}), "device": header.device}))
    except TypeError as error:
        raise ValueError("the ceilings of its device are not ones that this program knows: record it again") from error
    entries = recording.entries
    num_seqs = np.bincount(entries["iteration"], entries["tokens"] + entries["padding"] > 0, n)
    seconds = np.asarray(model.seconds(operators(totals, shape), totals.positions, num_seqs))
    modelled, taken = np.ceil(seconds * 1e9).astype(np.int64), iterations["duration_ns"]
    is_swapping = np.zeros(n + 1, dtype=bool)
    is_swapping[recording.reasons["iteration"][np.isin(recording.reasons["code"], _SWAPS)]] = True
    wrong = np.where(is_swapping[:n], taken < modelled, taken != modelled)
    wrong[: _modelled_from(header.fork)] = False
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"iteration {i} takes {int(taken[i]):,} ns, and the model says {int(modelled[i]):,}")


def _modelled_from(fork: Mapping[str, Any] | None) -> int:
    """The first iteration that this device modelled: what comes before a fork may be measured, or another device's."""
    return 0 if fork is None else int(fork["iteration"])
