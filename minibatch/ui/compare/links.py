"""Links: what the page shows as parameters of its address, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from minibatch.scheduling import DEFAULTS
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.shared.choices import DRAWN, MOST_REQUESTS, RUN, TYPED, models_offered
from minibatch.ui.shared.knobs import knob_key
from minibatch.ui.shared.link_values import LinkError, in_range, machine_of, number_of, one_of, parse_knob, policies_of
from minibatch.ui.shared.machine import MachineChoice
from minibatch.ui.shared.presets import knob_preset
from minibatch.ui.shared.traffic_form import USERS, spec_values
from minibatch.workload.arrivals import MOST_USERS, parse_arrivals
from minibatch.workload.lengths import parse_lengths
from minibatch.workload.request import LONGEST_S
from minibatch.workload.scenarios import SCENARIOS

_MOST_TEXT = 20_000
"""Characters of typed prompts that a link may bring."""
_NUMBERS: tuple[tuple[str, type, float, float], ...] = (
    ("seed", int, 0, 2**53), ("temperature", float, 0, 2**53), ("max_tokens", int, 1, 2**30),
    ("num_requests", int, 1, MOST_REQUESTS), ("num_users", int, 1, MOST_USERS), ("think_s", float, 0, LONGEST_S),
)  # fmt: skip
"""Names, kinds, and the least and the most that the widgets take."""


def recording_link(path: Path, policies: Sequence[str], offered: Sequence[str]) -> dict[str, str]:
    """Parameters that bring back a bundled recording."""
    return {"recording": path.stem} | _policies(policies, offered)


def run_link(job: Mapping[str, Any], knobs: Mapping[str, Any]) -> dict[str, str] | None:
    """Parameters that run `RunForm.job` again; None for one with a model that a link may not name, or with a trace."""
    traffic = job["traffic"]
    if job["model"] not in models_offered(job["clock"]) or (traffic and "prompt_lengths" not in traffic.traffic):
        return None
    machine = MachineChoice(job["model"], job["clock"], job["accelerator"], job["num_devices"])
    workload = job["scenario"] or (DRAWN if traffic else TYPED)
    link = {"scenario": workload, "model": machine.model, "clock": machine.clock}
    if machine.accelerator is not None:
        link |= {"accelerator": machine.accelerator, "tensor_parallel": str(machine.num_devices)}
    link |= {name: str(job[name]) for name in ("seed", "temperature")}
    if workload == TYPED:
        link |= {"prompts": "\n".join(job["prompts"]), "max_tokens": str(job["max_tokens"])}
    elif traffic:
        link |= {name: str(value) for name, value in traffic.traffic.items()}
    preset = knob_preset(workload, machine)
    link |= {name: str(value) for name, value in knobs.items() if value != preset[name]}
    return link | _policies(job["policies"], DEFAULTS)


def widget_values(parameters: Mapping[str, str], recordings: Sequence[Path]) -> dict[str, Any]:
    """Values of the sidebar's widgets, by their keys, that a link asks for; {} for a page without a link.

    Raises:
        LinkError: it names something that is not here, or a value that makes no sense.
    """
    if "scenario" in parameters:
        policies_of(parameters.get("policies", ""))
    if "recording" in parameters:
        return _recording(parameters, recordings)
    if "scenario" in parameters:
        return _run(parameters)
    return {}


def start_of(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Where the player begins, as assets/player/shell/share.js writes it; what makes no sense is left out."""
    start: dict[str, Any] = {name: parameters[name] for name in ("axis", "focus", "view") if name in parameters}
    position, pin, speed = (number_of(parameters.get(name)) for name in ("t", "pin", "speed"))
    if position is not None:
        start["position"] = position
    if pin is not None and pin == int(pin):
        start["pin"] = int(pin)
    if parameters.get("speed") == "real":
        start["speed"] = "real"
    elif speed is not None:
        start["speed"] = speed
    ends = [number_of(text) for text in parameters.get("loop", "").split("-")]
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
    workload = one_of("scenario", parameters["scenario"], (*SCENARIOS, TYPED, DRAWN))
    values: dict[str, Any] = {"source": RUN, "scenario": workload}
    machine = machine_of(parameters, values)
    for name, kind, least, most in _NUMBERS:
        if name in parameters:
            values[name] = in_range(name, parameters[name], kind, least, most)
    if "prompts" in parameters:
        values["prompts"] = parameters["prompts"][:_MOST_TEXT]
    if workload == DRAWN:
        values |= _drawn(parameters)
    for knob in fields(SchedulerConfig):
        if knob.name in parameters:
            values[knob_key(workload, machine, knob.name)] = parse_knob(knob.name, parameters[knob.name])
    return values


def _drawn(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Arrivals and lengths; with users in the place of arrivals."""
    values: dict[str, Any] = {"arrivals": USERS} if "num_users" in parameters else {}
    for name, parse in (
        ("arrivals", parse_arrivals),
        ("prompt_lengths", parse_lengths),
        ("output_lengths", parse_lengths),
    ):
        if name in parameters and name not in values:
            try:
                parse(parameters[name])
            except ValueError as error:
                raise LinkError(f"{name}: {error}") from error
            values |= spec_values(name, parameters[name].strip())
    return values
