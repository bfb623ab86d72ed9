"""Links: what the page shows as parameters of its address, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from minibatch.recording.schema import Clock
from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.choices import MODELS, RUN, TYPED
from minibatch.ui.knobs import knob_key
from minibatch.workload.scenarios import SCENARIOS

_KINDS = get_type_hints(SchedulerConfig)
_MOST_TEXT = 20_000
"""Characters of typed prompts that a link may bring."""


class LinkError(ValueError):
    """A link that can't be followed; the message says why."""


def recording_link(path: Path, policies: Sequence[str], offered: Sequence[str]) -> dict[str, str]:
    """Parameters that bring back a bundled recording."""
    return {"recording": path.stem} | _policies(policies, offered)


def run_link(job: Mapping[str, Any], knobs: Mapping[str, Any]) -> dict[str, str] | None:
    """Parameters that run a job again; None for one with a model that a link may not name."""
    if job["model"] not in MODELS:
        return None
    scenario = job["scenario"] or TYPED
    preset = knob_preset(scenario)
    link = {"scenario": scenario, "model": job["model"], "clock": job["clock"]}
    link |= {name: str(job[name]) for name in ("seed", "temperature")}
    if scenario == TYPED:
        link |= {"prompts": "\n".join(job["prompts"]), "max_tokens": str(job["max_tokens"])}
    link |= {name: str(value) for name, value in knobs.items() if value != preset[name]}
    return link | _policies(job["policies"], tuple(POLICIES))


def knob_preset(scenario: str) -> dict[str, Any]:
    """Every knob as a scenario sets it."""
    own = SCENARIOS[scenario].knobs if scenario in SCENARIOS else {}
    return {knob.name: own.get(knob.name, knob.default) for knob in fields(SchedulerConfig)}


def widget_values(parameters: Mapping[str, str], recordings: Sequence[Path]) -> dict[str, Any]:
    """Values of the sidebar's widgets, by their keys, that a link asks for; {} for a page without a link.

    Raises:
        LinkError: it names something that is not here, or a value that makes no sense.
    """
    for name in parameters.get("policies", "").split(","):
        if name and "scenario" in parameters:
            _one_of("policies", name, tuple(POLICIES))
    if "recording" in parameters:
        return _recording(parameters, recordings)
    if "scenario" in parameters:
        return _run(parameters)
    return {}


def start_of(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Where the player begins, as assets/player/share.js writes it; what makes no sense is left out."""
    start: dict[str, Any] = {name: parameters[name] for name in ("axis", "focus", "view") if name in parameters}
    position, pin, speed = (_number(parameters.get(name)) for name in ("t", "pin", "speed"))
    if position is not None:
        start["position"] = position
    if pin is not None and pin == int(pin):
        start["pin"] = int(pin)
    if parameters.get("speed") == "real":
        start["speed"] = "real"
    elif speed is not None:
        start["speed"] = speed
    ends = [_number(text) for text in parameters.get("loop", "").split("-")]
    if len(ends) == 2 and None not in ends and 0 <= ends[0] < ends[1]:  # type: ignore[operator]
        start["loop"] = ends
    return start


def _policies(chosen: Sequence[str], offered: Sequence[str]) -> dict[str, str]:
    return {} if tuple(chosen) == tuple(offered) else {"policies": ",".join(chosen)}


def _recording(parameters: Mapping[str, str], recordings: Sequence[Path]) -> dict[str, Any]:
    name = parameters["recording"]
    for path in recordings:
        if path.stem == name:
            return {"source": "Recorded", "recording": path}
    raise LinkError(f"the link names the recording {name!r}, which is not here")


def _run(parameters: Mapping[str, str]) -> dict[str, Any]:
    scenario = _one_of("scenario", parameters["scenario"], (*SCENARIOS, TYPED))
    values: dict[str, Any] = {"source": RUN, "scenario": scenario}
    choices = {"model": MODELS, "clock": get_args(Clock)}
    values |= {name: _one_of(name, parameters[name], known) for name, known in choices.items() if name in parameters}
    for name, kind, least in (("seed", int, 0), ("temperature", float, 0), ("max_tokens", int, 1)):
        if name in parameters:
            values[name] = _parse(name, parameters[name], kind)
            if values[name] < least:
                raise LinkError(f"{name} is {parameters[name]!r}, and at least {least} is wanted")
    if "prompts" in parameters:
        values["prompts"] = parameters["prompts"][:_MOST_TEXT]
    for knob in fields(SchedulerConfig):
        if knob.name in parameters:
            values[knob_key(scenario, knob.name)] = parse_knob(knob.name, parameters[knob.name])
    return values


def parse_knob(name: str, text: str) -> Any:
    """A knob's value from text; LinkError if it is none of its kind. Limits are `SchedulerConfig`'s to check."""
    return _parse(name, text, _KINDS[name])


def _parse(name: str, text: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return _one_of(name, text, get_args(kind))
    if kind is bool:
        # Links have Python's words, the player has JavaScript's.
        return _one_of(name, {"True": "true", "False": "false"}.get(text, text), ("true", "false")) == "true"
    number = _number(text)
    if number is None or (kind is int and number != int(number)):
        raise LinkError(f"{name} is {text!r}, and a {'whole ' if kind is int else ''}number is wanted")
    return kind(number)


def _one_of(name: str, text: str, known: Sequence[str]) -> str:
    if text not in known:
        raise LinkError(f"{name} is {text!r}, and one of {', '.join(known)} is wanted")
    return text


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) < 2**53 else None
