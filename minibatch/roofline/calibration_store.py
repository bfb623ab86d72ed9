"""A model's steps on this machine, measured and modelled: what was fitted to some of them, and the others as a check.

Kept as JSON beside the ceilings, one file for each device, dtype and shape of a model: models of
equal sizes take equally long, whatever their weights. Importing this module imports no torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minibatch.reading.files import read_file
from minibatch.reading.values import parse_json
from minibatch.recording.storage import write_atomically
from minibatch.roofline.ceilings import Ceilings, cache_name, default_cache_dir
from minibatch.roofline.costs import ModelShape, Totals, operators
from minibatch.roofline.step_model import StepModel
from minibatch.roofline.step_samples import KINDS, Sample

_VERSION = 1
_PREFIX = "steps-"

Floats = npt.NDArray[np.float64]


class CalibrationError(ValueError):
    """A file that holds no calibration, or not a whole one; the message says what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class Error:
    """How far modelled steps are from measured ones, as shares of the measured time.

    Attributes:
        median, p90: of |modelled / measured - 1|.
    """

    count: int
    median: float
    p90: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """A model's efficiencies on a device and the measured steps that they were not fitted to.

    Attributes:
        model: its name, as the user gave it.
        ceilings: measured when the steps were, with the fitted efficiency.
        num_fitted: steps that the efficiency was fitted to.
        held_out: other steps.
    """

    model: str
    shape: ModelShape
    ceilings: Ceilings
    num_fitted: int
    held_out: tuple[Sample, ...]

    def modelled_ns(self) -> Floats:
        """What the model says of each step of `held_out`, nanoseconds."""
        return modelled_ns(self.held_out, self.shape, self.ceilings)

    @property
    def spread(self) -> float:
        """How far runs of one and the same step lie around their median: the median of `Sample.spread`."""
        return float(np.median([sample.spread for sample in self.held_out]))

    def errors(self) -> dict[str, Error]:
        """Of the steps held out: of each kind that there is, and of "all"."""
        return errors_by_kind(self.held_out, self.modelled_ns())


def stacked(samples: Sequence[Sample]) -> tuple[Totals, npt.NDArray[np.int64], Floats]:
    """Totals, numbers of sequences and measured nanoseconds, as arrays with an entry a sample."""

    def column(name: str) -> npt.NDArray[np.int64]:
        return np.array([getattr(sample.totals, name) for sample in samples], dtype=np.int64)

    totals = Totals(*(column(name) for name in ("positions", "rectangle", "context", "sampled")))
    num_seqs = np.array([sample.num_seqs for sample in samples], dtype=np.int64)
    return totals, num_seqs, np.array([sample.measured_ns for sample in samples], dtype=np.float64)


def modelled_ns(samples: Sequence[Sample], shape: ModelShape, ceilings: Ceilings) -> Floats:
    """What `StepModel` says of each of the samples, nanoseconds."""
    totals, num_seqs, _ = stacked(samples)
    seconds: Floats = StepModel(shape, ceilings).seconds(operators(totals, shape), totals.positions, num_seqs)
    return seconds * 1e9


def errors_by_kind(samples: Sequence[Sample], modelled: Floats) -> dict[str, Error]:
    """Of each kind that there is, in the order of `KINDS`, and of "all" where there is any."""
    measured = np.array([sample.measured_ns for sample in samples], dtype=np.float64)
    kinds = np.array([sample.kind for sample in samples])
    relative = np.abs(modelled / measured - 1)
    groups: dict[str, Floats] = {kind: relative[kinds == kind] for kind in KINDS}
    return {
        name: Error(len(errors), float(np.median(errors)), float(np.quantile(errors, 0.9)))
        for name, errors in (*groups.items(), ("all", relative))
        if len(errors)
    }


def calibration_path(device: str, dtype: str, shape: ModelShape, folder: Path | None = None) -> Path:
    """Where the calibration of models of this shape is or would be."""
    return (folder or default_cache_dir()) / f"{_PREFIX}{cache_name(device, dtype)}-{_shape_key(shape)}.json"


def save_calibration(fitted: Calibration, folder: Path | None = None) -> Path:
    """Remember it, whole or not at all; OSError if that fails."""
    path = calibration_path(fitted.ceilings.device, fitted.ceilings.dtype, fitted.shape, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps({"version": _VERSION, **asdict(fitted)}, indent=1).encode())
    return path


def load_calibration(path: Path) -> Calibration:
    """What `save_calibration` wrote.

    Raises:
        OSError: it can't be read.
        CalibrationError: it is damaged, or of another version.
    """
    try:
        stored = parse_json(read_file(path, 64 << 20))
        if stored.pop("version") != _VERSION:
            raise CalibrationError(
                f"{path.name} is of another version of Minibatch: run `python -m minibatch calibrate`"
            )
        return _from_dict(stored)
    except CalibrationError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise CalibrationError(f"{path.name} is damaged: run `python -m minibatch calibrate` again") from error


def calibration_files(folder: Path | None = None) -> list[Path]:
    """Every calibration that is remembered, the newest first."""
    found = (folder or default_cache_dir()).glob(f"{_PREFIX}*.json")
    return sorted(found, key=lambda path: (-path.stat().st_mtime, path.name))


def with_calibration(ceilings: Ceilings, shape: ModelShape, folder: Path | None = None) -> Ceilings:
    """The ceilings with the efficiency that was fitted for models of this shape, or `ceilings` where none was.

    What is fitted holds for the ceilings that were measured with it, so both are given. A file that
    is damaged counts as none. Models of other sizes keep the bare roofline: shares differ too much
    with whether weights stay in a cache.
    """
    try:
        found = load_calibration(calibration_path(ceilings.device, ceilings.dtype, shape, folder))
    except (OSError, CalibrationError):
        return ceilings
    same = (found.ceilings.device, found.ceilings.dtype) == (ceilings.device, ceilings.dtype)
    return found.ceilings if same else ceilings


def _shape_key(shape: ModelShape) -> str:
    """Twelve digits that differ for shapes whose steps may take different times."""
    sizes = {
        "n_layer": shape.n_layer,
        "n_embd": shape.n_embd,
        "q_dim": shape.q_dim,
        "n_head": shape.n_head,
        "kv_dim": shape.kv_dim,
        "n_kv_head": shape.n_kv_head,
        "vocab_size": shape.vocab_size,
        "n_inner": shape.n_inner,
        "num_mlp_matrices": shape.num_mlp_matrices,
        "has_biases": int(shape.has_biases),
        "bytes_per_weight": float(shape.bytes_per_weight),
        "bytes_per_kv": float(shape.bytes_per_kv),
        "bytes_per_activation": float(shape.bytes_per_activation),
    }
    return hashlib.sha256(json.dumps(sizes).encode()).hexdigest()[:12]


def _from_dict(stored: dict[str, Any]) -> Calibration:
    fitted = Calibration(
        model=str(stored["model"]),
        shape=ModelShape(**stored["shape"]),
        ceilings=Ceilings.from_dict(stored["ceilings"]),
        num_fitted=int(stored["num_fitted"]),
        held_out=tuple(Sample(**{**each, "totals": Totals(**each["totals"])}) for each in stored["held_out"]),
    )
    if not fitted.held_out or fitted.num_fitted < 1 or not np.isfinite(fitted.modelled_ns()).all():
        raise ValueError("there are no steps, or no times of them")
    return fitted
