"""Values of links: parameters of an address, read strictly into what the widgets take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

from minibatch.analysis.registry.accelerators import load_accelerators
from minibatch.recording.schema import Clock
from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.shared.choices import models_offered
from minibatch.ui.shared.machine import MachineChoice, devices_key, fewest_devices, numbers_of_devices

_KINDS = get_type_hints(SchedulerConfig)


class LinkError(ValueError):
    """A link that can't be followed; the message says why."""


def machine_of(parameters: Mapping[str, str], values: dict[str, Any] | None = None) -> MachineChoice:
    """The machine that a link names; what it says goes into `values`."""
    values = {} if values is None else values
    found: dict[str, Any] = {"clock": "measured", "model": "bundled", "accelerator": None}

    def take(name: str, known: Sequence[str], text: str) -> None:
        found[name] = values[name] = one_of(name, text, known)

    if "clock" in parameters:
        take("clock", get_args(Clock), parameters["clock"])
    is_modelled = found["clock"] == "modelled"
    if "model" in parameters:
        # Of a model with random weights only the sizes matter to a modelled run, and they are published.
        text = parameters["model"].removeprefix("random:") if is_modelled else parameters["model"]
        take("model", models_offered(found["clock"]), text)
    if "accelerator" in parameters:
        if not is_modelled:
            raise LinkError(f"accelerator is {parameters['accelerator']!r}: it needs clock=modelled")
        take("accelerator", tuple(load_accelerators()), parameters["accelerator"])
    model, accelerator, num_devices = found["model"], found["accelerator"], 1
    if accelerator is not None:
        num_devices = fewest_devices(accelerator, model)
        if "tensor_parallel" in parameters:
            allowed = tuple(map(str, numbers_of_devices(model)))
            num_devices = int(one_of("tensor_parallel", parameters["tensor_parallel"], allowed))
            values[devices_key(accelerator, model)] = num_devices
    return MachineChoice(model, found["clock"], accelerator, num_devices)


def parse_knob(name: str, text: str) -> Any:
    """A knob's value from text; LinkError if it is none of its kind. Limits are `SchedulerConfig`'s to check."""
    return _parse(name, text, _KINDS[name])


def in_range(name: str, text: str, kind: type, least: float, most: float) -> Any:
    """A number from text; LinkError if it is none, or none of those that a widget takes."""
    number = _parse(name, text, kind)
    if not least <= number <= most:
        wanted = f"at least {least}" if number < least else f"at most {most:,}"
        raise LinkError(f"{name} is {text!r}: expected {wanted}")
    return number


def policies_of(text: str) -> list[str]:
    """Policies from text; LinkError if there is none of such a name."""
    return [one_of("policies", name, tuple(POLICIES)) for name in text.split(",") if name]


def _parse(name: str, text: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return one_of(name, text, get_args(kind))
    if kind is bool:
        # Links have Python's words, the player has JavaScript's.
        return one_of(name, {"True": "true", "False": "false"}.get(text, text), ("true", "false")) == "true"
    number = number_of(text)
    if number is None or (kind is int and number != int(number)):
        raise LinkError(f"{name} is {text!r}: expected a {'whole ' if kind is int else ''}number")
    return kind(number)


def one_of(name: str, text: str, known: Sequence[str]) -> str:
    """`text`; LinkError names what is known where it is not among that."""
    if text not in known:
        raise LinkError(f"{name} is {text!r}: expected one of {', '.join(known)}")
    return text


def number_of(text: str | None) -> float | None:
    """A finite number below 2**53 from text; None if it is none."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) < 2**53 else None
