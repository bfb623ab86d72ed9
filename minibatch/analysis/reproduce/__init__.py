"""Published results beside what the schedulers come to on the roofline model, one file an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from minibatch.analysis.reproduce import ablation, anyscale, kv_share, orca, sarathi
from minibatch.analysis.reproduce.result import Reproduction, Watch


@dataclass(frozen=True, slots=True)
class Experiment:
    """One that can be run: `run(seed, watch)` gives the same for the same seed."""

    name: str
    title: str
    run: Callable[[int, Watch], Reproduction]


EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        name: Experiment(name, module.TITLE, module.reproduce)
        for name, module in (
            ("anyscale", anyscale),
            ("orca", orca),
            ("kv-share", kv_share),
            ("sarathi", sarathi),
            ("sarathi-ablation", ablation),
        )
    }
)
"""By the name that the command takes, in the order in which views show them."""


def find_experiment(name: str) -> Experiment:
    """The experiment called `name`; ValueError names those there are."""
    if name not in EXPERIMENTS:
        raise ValueError(f"unknown experiment {name!r}: choose from {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
