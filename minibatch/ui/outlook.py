"""What can be said of a run before it starts, as far as that is cheap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.expected import expect
from minibatch.ui.machine import Machine
from minibatch.ui.workload_form import Workload


@dataclass(frozen=True, slots=True)
class Outlook:
    """Sentences, "" where there is nothing to say.

    Attributes:
        words: what traffic will ask for.
        refusal: why the run can't start.
        advice: what will go wrong, and how it would not.
    """

    words: str = ""
    refusal: str = ""
    advice: str = ""


def foresee(workload: Workload, machine: Machine, knobs: Mapping[str, Any], seed: int) -> Outlook:
    try:
        config = SchedulerConfig(**knobs)
        machine.check(config)
        shape = machine.shape
        expected = None if workload.traffic is None else expect(workload.traffic, seed)
    except ValueError as error:
        return Outlook(refusal=str(error))
    if expected is None:
        return Outlook()
    refused, advice = expected.refusals(config, None if shape is None else shape.n_positions)
    if refused and refused == len(expected.lengths):
        return Outlook(expected.words, refusal=advice)
    return Outlook(expected.words, advice=advice)
