"""Links to the page "Load": its form as parameters of an address, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from minibatch.analysis.slo import NAMES, parse_slo
from minibatch.scheduling import DEFAULTS
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.load.plan import Wanted
from minibatch.ui.load.presets import SWEEP_PRESETS, knob_starts
from minibatch.ui.load.slo import SHARE, Judged
from minibatch.ui.shared.choices import MOST_REQUESTS, models_offered
from minibatch.ui.shared.link_values import LinkError, in_range, machine_of, one_of, parse_knob, policies_of
from minibatch.ui.shared.machine import MachineChoice
from minibatch.workload.demand import LoadKind

MARK = "sweep"
"""The parameter that every such link has: what the form begins with."""
NO_SLO = "none"
_MOST_TEXT = 2000
_LOADS: dict[LoadKind, str] = {"rate": "rates", "users": "users"}
_NUMBERS: tuple[tuple[str, type, float, float, str], ...] = (
    ("num_requests", int, 1, MOST_REQUESTS, "sweep requests {preset}"), ("seed", int, 0, 2**53, "sweep seed"),
    ("burstiness", float, 0, 2**53, "sweep burstiness"), ("think_s", float, 0, 2**53, "sweep think"),
    ("share", float, 1, 100, "sweep share"),
)  # fmt: skip
"""Names, kinds, the least and the most that the widgets take, and their keys."""
_TEXTS = (
    ("rates", "sweep loads rate {preset}"), ("users", "sweep loads users {preset}"),
    ("prompt_lengths", "sweep prompt lengths {preset}"), ("output_lengths", "sweep output lengths {preset}"),
)  # fmt: skip


def sweep_link(wanted: Wanted, judged: Judged) -> dict[str, str] | None:
    """Parameters that bring back a form; None for one with a trace or a model's config, which no address can bring."""
    if wanted.trace is not None or wanted.machine.model not in models_offered("modelled"):
        return None
    machine, starts = wanted.machine, knob_starts(wanted.preset, wanted.machine)
    link = {MARK: wanted.preset, _LOADS[wanted.kind]: wanted.loads.strip()}
    link |= {} if wanted.policies == DEFAULTS else {"policies": ",".join(wanted.policies)}
    link |= {"accelerator": str(machine.accelerator), "model": machine.model}
    link |= {"tensor_parallel": str(machine.num_devices), "num_requests": str(wanted.num_requests)}
    link |= {"prompt_lengths": wanted.prompt_lengths, "output_lengths": wanted.output_lengths}
    link |= {"seed": str(wanted.seed)}
    link |= {"burstiness": f"{wanted.burstiness:.15g}"} if wanted.kind == "rate" else {}
    link |= {"think_s": f"{wanted.think_s:.15g}"} if wanted.kind == "users" else {}
    link |= {name: str(value) for name, value in wanted.knobs.items() if value != starts[name]}
    link |= {"vary": wanted.varied, "values": wanted.values.strip()} if wanted.varied else {}
    limits = " ".join(f"{name}:{limit:.15g}" for name, limit in judged.limits.items() if limit is not None)
    return link | {"slo": limits or NO_SLO} | ({} if judged.share == SHARE else {"share": f"{judged.share:.15g}"})


def sweep_values(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Values of the form's widgets, by their keys, that a link asks for; {} for a page without a link.

    Raises:
        LinkError: it names something that is not here, or a value that makes no sense.
    """
    if MARK not in parameters:
        return {}
    preset = one_of(MARK, parameters[MARK], tuple(SWEEP_PRESETS))
    values: dict[str, Any] = {"sweep preset": preset}
    for kind, name in _LOADS.items():
        if name in parameters:
            values["sweep kind"] = kind
    for name, key in _TEXTS:
        if name in parameters:
            values[key.format(preset=preset)] = parameters[name][:_MOST_TEXT]
    for name, number, least, most, key in _NUMBERS:
        if name in parameters:
            values[key.format(preset=preset)] = in_range(name, parameters[name], number, least, most)
    if "policies" in parameters:
        values["sweep policies"] = policies_of(parameters["policies"])
    machine = _machine(parameters, preset, values)
    return values | _knobs(parameters, preset, machine) | _slo(parameters)


def _machine(parameters: Mapping[str, str], preset: str, values: dict[str, Any]) -> MachineChoice:
    """The machine that a link names; what it says goes into `values`."""
    given = {"accelerator": SWEEP_PRESETS[preset].accelerator, "model": SWEEP_PRESETS[preset].model, **parameters}
    machine = machine_of({**given, "clock": "modelled"})
    values[f"sweep accelerator {preset}"] = machine.accelerator
    values[f"sweep model {preset}"] = machine.model
    values[f"sweep devices {machine.accelerator} {machine.model}"] = machine.num_devices
    return machine


def _knobs(parameters: Mapping[str, str], preset: str, machine: MachineChoice) -> dict[str, Any]:
    known = [knob.name for knob in fields(SchedulerConfig) if knob.name != "max_model_len"]
    values = {
        f"sweep {name} {preset} {machine.key}": parse_knob(name, parameters[name])
        for name in known
        if name in parameters
    }
    if "vary" in parameters:
        varied = values["sweep varied"] = one_of("vary", parameters["vary"], known)
        values[f"sweep values {varied}"] = parameters.get("values", "")[:_MOST_TEXT]
    return values


def _slo(parameters: Mapping[str, str]) -> dict[str, Any]:
    """The limits; those that a link with an SLO does not name are none."""
    if "slo" not in parameters:
        return {}
    none = {f"sweep {name}_ms": None for name in NAMES}
    if parameters["slo"] == NO_SLO:
        return none
    try:
        slo = parse_slo(parameters["slo"].split())
    except ValueError as error:
        raise LinkError(f"slo: {error}") from error
    return {f"sweep {name}_ms": getattr(slo, f"{name}_ms") for name in NAMES}
