"""What a modelled run is computed for: models by their sizes alone, and accelerators by their data sheets."""

from __future__ import annotations

from typing import Any

from minibatch.analysis.registry.accelerators import find_accelerator
from minibatch.analysis.registry.models import load_models


def elsewhere(
    model: str, accelerator: str | None = None, num_devices: int = 1, dtype: str = "auto", device: str = "auto"
) -> dict[str, Any]:
    """The `shape` and `ceilings` of an engine's `Job`, each where `model` or `accelerator` is not here.

    Args:
        accelerator: None means this machine, whose ceilings are measured.
        device: of this machine, which says what dtype "auto" is there.

    Raises:
        ValueError: there is no such accelerator, or its figures are of another dtype.
    """
    found: dict[str, Any] = {}
    if accelerator is not None:
        found["ceilings"] = find_accelerator(accelerator).ceilings(dtype, num_devices)
        dtype = found["ceilings"].dtype
    registered = load_models().get(model)
    if registered is not None:
        from minibatch.roofline.devices import choose_dtype, to_device

        found["shape"] = registered.shape(choose_dtype(dtype, to_device(device)))
    return found
