"""The knobs that a run starts from: a scenario's own, and what suits the accelerator."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.shared.choices import DRAWN, TRACE
from minibatch.ui.shared.machine import HERE, MachineChoice
from minibatch.workload.scenarios import SCENARIOS

_LONGEST = {DRAWN: 2048, TRACE: 16_384}
"""Most tokens of a request in traffic, where the model reads more: in traces of chats and code they are so long."""
_SLOTS = 16
"""Of traffic: as many as can be told apart on a screen."""
_POOL = 4096
"""Most KV blocks: the engine checks every one of them at every iteration, and the page draws them."""


def knob_preset(workload: str, machine: MachineChoice = HERE) -> dict[str, Any]:
    """Every knob as a workload sets it, a scenario or one of `choices`, cut to what `machine` can hold."""
    own = SCENARIOS[workload].knobs if workload in SCENARIOS else {}
    knobs = {knob.name: own.get(knob.name, knob.default) for knob in fields(SchedulerConfig)}
    shape = machine.shape
    if machine.accelerator is not None:
        knobs |= {name: value for name, value in _of_accelerator(machine, workload, knobs).items() if name not in own}
    if shape is not None:
        knobs["max_model_len"] = min(knobs["max_model_len"], shape.n_positions)
    return knobs


def _of_accelerator(machine: MachineChoice, workload: str, knobs: dict[str, Any]) -> dict[str, Any]:
    """A pool that fits and that the slots can fill, and a budget at which the weights are not all that takes time."""
    ceilings, fit = machine.ceilings, machine.kv_blocks(knobs["block_size"])
    if ceilings is None or machine.shape is None or not fit:
        return {}  # the weights don't fit: the rejection says so
    slots = _SLOTS if workload in _LONGEST else knobs["max_num_seqs"]
    longest = min(_LONGEST.get(workload, knobs["max_model_len"]), machine.shape.n_positions, fit * knobs["block_size"])
    # A matrix product of T tokens in 16 bits has an intensity of about T FLOP/byte.
    budget = 2 ** math.ceil(math.log2(max(ceilings.ridge, slots)))
    return {
        "max_num_seqs": slots,
        "max_model_len": longest,
        "max_num_batched_tokens": budget,
        "num_kv_blocks": min(fit, _POOL, slots * math.ceil(longest / knobs["block_size"])),
    }
