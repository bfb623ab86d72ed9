"""Fits the efficiencies of a device to measured steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import least_squares

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

    h being Huber's loss ("Robust estimation of a location parameter", 1964) and `weight` small, by
    scipy's trust-region least squares. From exact samples modelled steps come out within 2 % in the
    median; single figures may be further off where others make up for them.
    """
    totals, num_seqs, measured = stacked(samples)
    parts = operators(totals, shape)

    def residuals(logs: Floats) -> Floats:
        model = StepModel(shape, replace(ceilings, efficiency=_efficiency(logs)))
        errors: Floats = np.log(model.seconds(parts, totals.positions, num_seqs) * 1e9 / measured)
        return np.concatenate([errors, _SUPPOSED_WEIGHT * (logs - supposed)])

    supposed = np.log(list(_SUPPOSED.values()))
    return _efficiency(least_squares(residuals, supposed, loss="huber", f_scale=_LARGE_ERROR).x)


def _efficiency(logs: Floats) -> Efficiency:
    figures: dict[str, Any] = dict(zip(_SUPPOSED, map(math.exp, logs), strict=True))
    return Efficiency(**figures)
