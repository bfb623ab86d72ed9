"""Fits the efficiencies of a device to measured steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from minibatch.roofline.calibration_store import Calibration, Floats, stacked
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape, operators
from minibatch.roofline.efficiency import Efficiency
from minibatch.roofline.step_model import StepModel
from minibatch.roofline.step_samples import Sample

FEWEST_STEPS = 12
"""Fewer leave too few to fit to and to check with."""

FEW_STEPS = 60
"""With fewer the errors vary much from one draw of steps to another: forty are left to fit nine figures to."""

_SUPPOSED = {
    "linear_compute": 0.5,
    "linear_memory": 0.5,
    "attention_compute": 0.5,
    "attention_memory": 0.5,
    "lm_head_compute": 0.5,
    "lm_head_memory": 0.5,
    "step_ns": 1e5,
    "seq_ns": 1e4,
    "batch_ns": 1e5,
}
"""What is supposed of each figure before anything is measured, and so what one stays at that no step depends on."""

_SUPPOSED_WEIGHT = 0.03
"""A figure that is e times what was supposed counts as much as a step that is off by this."""

_LARGE_ERROR = 0.15
"""Steps that are off by more pull with the same force: a machine that was busy for a moment spoils single steps."""

_SMALLEST_STEP = 1e-4
_MOST_ITERATIONS = 300
_LARGEST_DAMPING = 1e8


def fit_model(model: str, shape: ModelShape, ceilings: Ceilings, samples: Sequence[Sample]) -> Calibration:
    """Efficiencies fitted to two thirds of the samples, every third one held out to check them.

    A sample that repeats one of those fitted to checks nothing and is left out.

    Raises:
        ValueError: there are fewer than `FEWEST_STEPS` samples.
    """
    if len(samples) < FEWEST_STEPS:
        raise ValueError(f"the number of steps is {len(samples)}: use at least {FEWEST_STEPS}")
    fitted_to = [sample for k, sample in enumerate(samples) if k % 3 != 2]
    seen = {(sample.totals, sample.num_seqs) for sample in fitted_to}
    held_out = tuple(sample for sample in samples[2::3] if (sample.totals, sample.num_seqs) not in seen)
    if not held_out:
        raise ValueError("every step held out repeats one that was fitted to: use more steps")
    efficiency = fit_efficiency(fitted_to, shape, ceilings)
    fitted = Calibration(model, shape, replace(ceilings, efficiency=efficiency), len(fitted_to), held_out)
    source = (
        f"fitted to {len(fitted_to)} steps of {model} on this machine, "
        f"median error {fitted.errors()['all'].median:.1%} of {len(held_out)} others"
    )
    return replace(fitted, ceilings=replace(ceilings, efficiency=replace(efficiency, source=source)))


def fit_efficiency(samples: Sequence[Sample], shape: ModelShape, ceilings: Ceilings) -> Efficiency:
    """The efficiencies with which `StepModel` comes closest to the samples, by relative error.

    Minimises, over the logarithms p of the figures, which keeps them positive,

        sum over samples of h(ln(modelled / measured)) + weight^2 * |p - supposed|^2

    h being Huber's loss ("Robust estimation of a location parameter", 1964) and `weight` small. By
    Levenberg and Marquardt's method on the weighted residuals. From exact samples modelled steps
    come out within 2 % in the median; single figures may be further off where others make up for them.
    """
    totals, num_seqs, measured = stacked(samples)
    parts = operators(totals, shape)

    def residuals(logs: Floats) -> Floats:
        model = StepModel(shape, replace(ceilings, efficiency=_efficiency(logs)))
        found: Floats = np.log(model.seconds(parts, totals.positions, num_seqs) * 1e9 / measured)
        return found

    return _efficiency(_minimise(residuals, np.log(list(_SUPPOSED.values()))))


def _efficiency(logs: Floats) -> Efficiency:
    figures: dict[str, Any] = dict(zip(_SUPPOSED, map(math.exp, logs), strict=True))
    return Efficiency(**figures)


def _minimise(residuals: Callable[[Floats], Floats], supposed: Floats) -> Floats:
    """The logarithms of figures with the least loss, near `supposed` if there is a choice."""

    def loss(logs: Floats) -> float:
        error = np.abs(residuals(logs))
        huber = np.where(error < _LARGE_ERROR, error**2, _LARGE_ERROR * (2 * error - _LARGE_ERROR))
        return float(huber.sum() + _SUPPOSED_WEIGHT**2 * ((logs - supposed) ** 2).sum())

    logs, damping = supposed, 1e-2
    least = loss(logs)
    for _ in range(_MOST_ITERATIONS):
        found = residuals(logs)
        shifts = _SMALLEST_STEP * np.eye(len(logs))
        slopes = np.stack([(residuals(logs + shift) - found) / _SMALLEST_STEP for shift in shifts], axis=1)
        weights = np.minimum(1, _LARGE_ERROR / np.maximum(np.abs(found), 1e-12))[:, None]
        square = (slopes * weights).T @ slopes + _SUPPOSED_WEIGHT**2 * np.eye(len(logs))
        slope = (slopes * weights).T @ found + _SUPPOSED_WEIGHT**2 * (logs - supposed)
        while damping < _LARGEST_DAMPING:
            change = np.linalg.solve(square + damping * np.diag(np.diag(square)), slope)
            tried = logs - np.clip(change, -1, 1)
            if (reached := loss(tried)) < least:
                break
            damping *= 3
        else:
            return logs
        is_done = least - reached < 1e-9 * least
        logs, least, damping = tried, reached, max(damping / 3, 1e-7)
        if is_done:
            break
    return logs
