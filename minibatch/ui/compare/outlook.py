"""What can be said of a run before it starts, as far as that is cheap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.shared.expected import expect
from minibatch.ui.shared.machine import MachineChoice
from minibatch.ui.shared.workload_form import WorkloadChoice


@dataclass(frozen=True, slots=True)
class Outlook:
    """Sentences, "" where there is nothing to say.

    Attributes:
        words: what traffic will ask for.
        rejection: why the run can't start.
        advice: what will go wrong, and how it would not.
    """

    words: str = ""
    rejection: str = ""
    advice: str = ""


def foresee(workload: WorkloadChoice, machine: MachineChoice, knobs: Mapping[str, Any], seed: int) -> Outlook:
    try:
        config = SchedulerConfig(**knobs)
        machine.check(config)
        shape = machine.shape
        expected = None if workload.traffic is None else expect(workload.traffic, seed)
    except ValueError as error:
        return Outlook(rejection=str(error))
    if expected is None:
        return Outlook()
    rejected, advice = expected.rejections(config, None if shape is None else shape.n_positions)
    if rejected and rejected == len(expected.lengths):
        return Outlook(expected.words, rejection=advice)
    return Outlook(expected.words, advice=advice)
