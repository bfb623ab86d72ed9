"""From the form to the points of a sweep, or to the sentence that says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from minibatch.analysis.registry.models import known_model
from minibatch.engine.sweep import Point, SweepSpec, knob_value, with_knob
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.load.presets import CHAT
from minibatch.ui.load.trace import SweepTrace
from minibatch.ui.shared.expected import Expected
from minibatch.ui.shared.machine import MachineChoice
from minibatch.workload.demand import Demand, Load, LoadKind, drawn_demand

MOST_POINTS = 200
"""Of a sweep on the page; the command takes more."""
LARGER = "for more there is `python -m minibatch sweep`"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A sweep as it is typed, not yet checked.

    Attributes:
        loads: requests/s, or users, with spaces or commas between them.
        burstiness: of requests/s; `think_s` seconds are of users.
        knobs: fields of `SchedulerConfig`; `max_model_len` is the longest request.
        varied: a knob that takes several values, or "".
        values: those, as `loads`.
        trace: what lengths come from where they are not drawn, and as many requests as it says.
        preset: what the form began with.
    """

    machine: MachineChoice
    num_requests: int
    prompt_lengths: str
    output_lengths: str
    seed: int
    policies: tuple[str, ...]
    kind: LoadKind
    loads: str
    burstiness: float
    think_s: float
    knobs: Mapping[str, Any]
    varied: str = ""
    values: str = ""
    trace: SweepTrace | None = None
    preset: str = CHAT


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """A sweep that can be run.

    Attributes:
        advice: what will go wrong in it, and how it would not; "" where nothing is known to.
    """

    spec: SweepSpec
    points: tuple[Point, ...]
    advice: str = ""


def plan_of(wanted: Wanted) -> SweepPlan:
    """ValueError, a sentence with what to do, where it can't be run."""
    if not wanted.policies:
        raise ValueError("No policy is chosen: choose at least one in the sidebar.")
    loads = parse_loads(wanted.loads, wanted.kind, wanted.burstiness, wanted.think_s)
    demand = _demand(wanted)
    spec = study_on(wanted.machine, demand, wanted.seed)
    longest = min(spec.shape.n_positions, demand.longest)
    config = SchedulerConfig(**{**wanted.knobs, "max_model_len": longest})
    settings: list[Any] = [None]
    if wanted.varied:
        settings = [knob_value(wanted.varied, text) for text in _parts(wanted.values)]
        if not settings:
            raise ValueError(f"{wanted.varied} is to vary, but has no values: type some, such as 64 128 256")
    points = []
    # The lowest load first, so that all curves grow together while the sweep runs.
    for load, policy, value in product(loads, wanted.policies, dict.fromkeys(settings)):
        point = Point(policy, load, config)
        points.append(with_knob(point, wanted.varied, value) if wanted.varied else point)
    if len(points) > MOST_POINTS:
        raise ValueError(
            f"{len(points):,} points are more than {MOST_POINTS}: leave out some loads or values; {LARGER}"
        )
    for point in points:
        point.check(spec)
    return SweepPlan(spec, tuple(points), _advice(wanted, spec, config))


def _demand(wanted: Wanted) -> Demand:
    if wanted.trace is not None:
        return wanted.trace.demand
    return drawn_demand(wanted.num_requests, wanted.prompt_lengths, wanted.output_lengths, wanted.seed)


def _advice(wanted: Wanted, spec: SweepSpec, config: SchedulerConfig) -> str:
    """Which requests can't be served; ValueError where none can."""
    lengths = list(zip(spec.demand.prompt_tokens, spec.demand.output_tokens, strict=True))
    scale = None if wanted.trace is None else wanted.trace.length_scale
    rejected, advice = Expected(lengths, scale).rejections(config, spec.shape.n_positions)
    if rejected == len(lengths):
        raise ValueError(advice)
    return advice


def study_on(machine: MachineChoice, demand: Demand, seed: int) -> SweepSpec:
    """What all points share; ValueError where the speed of the machine or the size of the model is unknown."""
    known_model(machine.model)
    ceilings, shape = machine.ceilings, machine.shape
    if ceilings is None or shape is None:
        raise ValueError("a sweep is modelled: choose an accelerator and a model of which the sizes are known")
    return SweepSpec(demand, shape, ceilings, machine.model, seed)


def parse_loads(text: str, kind: LoadKind, burstiness: float = 1.0, think_s: float = 0.0) -> list[Load]:
    """The loads, the lowest first and each once; ValueError says what can't be one."""
    unit, example = ("requests/s", "1 2 4 8") if kind == "rate" else ("whole numbers of users", "1 4 16")
    values = set()
    for part in _parts(text):
        try:
            values.add(float(part))
        except ValueError:
            raise ValueError(f"{part!r} is not a load: type {unit}, such as {example}") from None
    if not values:
        raise ValueError(f"There is no load: type {unit}, such as {example}")
    if kind == "rate":
        return [Load("rate", value, burstiness=burstiness) for value in sorted(values)]
    if odd := [value for value in values if not value.is_integer()]:
        raise ValueError(f"{odd[0]:g} is not a number of users: type {unit}, such as {example}")
    return [Load("users", int(value), think_s=think_s) for value in sorted(values)]


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"[\s,;]+", text) if part]
