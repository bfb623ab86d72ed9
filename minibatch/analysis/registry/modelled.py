"""What a modelled run is computed for: models by their sizes alone, and accelerators by their data sheets."""

from __future__ import annotations

from typing import Any

from minibatch.analysis.registry.accelerators import find_accelerator
from minibatch.analysis.registry.models import Model, find_model, known_model
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape


def elsewhere(
    model: str, accelerator: str | None = None, num_devices: int = 1, dtype: str = "auto", device: str = "auto"
) -> dict[str, Any]:
    """The `shape` and `ceilings` of an engine's `Job`, each where `model` or `accelerator` is not here.

    Args:
        model: as `known_model` takes it; of any other the weights must be here.
        accelerator: None means this machine, whose ceilings are measured.
        dtype: "auto" is the accelerator's, or what the model's config.json says where the accelerator has that.
        device: of this machine, which says what dtype "auto" is there.

    Raises:
        ValueError: there is no such accelerator, its figures are of another dtype, or the model can't be modelled.
    """
    found: dict[str, Any] = {}
    known = known_model(model)
    if accelerator is not None:
        found["ceilings"] = ceilings_for(known, accelerator, num_devices, dtype)
        dtype = found["ceilings"].dtype
    if known is not None:
        from minibatch.roofline.devices import choose_dtype, to_device

        found["shape"] = known.shape(dtype if accelerator is not None else choose_dtype(dtype, to_device(device)))
    return found


def sizes_and_ceilings(model: str, accelerator: str, num_devices: int, dtype: str) -> tuple[ModelShape, Ceilings]:
    """As `elsewhere`, of what need not be here; ValueError where the model is not known."""
    known = find_model(model)
    ceilings = ceilings_for(known, accelerator, num_devices, dtype)
    return known.shape(ceilings.dtype), ceilings


def ceilings_for(model: Model | None, accelerator: str, num_devices: int = 1, dtype: str = "auto") -> Ceilings:
    """The ceilings of accelerators for a model; "auto" and errors as for `elsewhere`."""
    sheet = find_accelerator(accelerator)
    if dtype == "auto" and model is not None and model.dtype in sheet.peaks:
        dtype = model.dtype
    return sheet.ceilings(dtype, num_devices)
