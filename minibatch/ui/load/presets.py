"""What the form of a sweep begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.shared.machine import MachineChoice
from minibatch.workload.demand import LoadKind


@dataclass(frozen=True, slots=True)
class SweepPreset:
    """Values of the form.

    Attributes:
        watch: what there is to see, in a sentence.
        loads: requests/s or users, as typed, for each kind of load.
        knobs: those that are not what they are by default.
    """

    title: str
    watch: str
    num_requests: int
    prompt_lengths: str
    output_lengths: str
    loads: Mapping[LoadKind, str]
    knobs: Mapping[str, Any] = field(default_factory=dict)
    accelerator: str = "H100"
    model: str = "llama-3.1-8b"


_POOL = 4096
"""Most KV blocks that the form begins with: the player draws every one."""
CHAT, THRASHING = "chat", "thrashing"

SWEEP_PRESETS: Mapping[str, SweepPreset] = MappingProxyType({
    CHAT: SweepPreset(
        "From idle to overload",
        "A static batch saturates at a fraction of the load that continuous batching carries on the same device.",
        400, "lognormal:512:1.0", "lognormal:128:1.0",
        {"rate": "1 2 4 8 12 16 24 32", "users": "1 2 4 8 16 24 32"},
        {"max_num_seqs": 16, "max_num_batched_tokens": 2048},
    ),
    THRASHING: SweepPreset(
        "Busy all the time, hardly any goodput",
        "A pool for three or four requests, 64 slots, and no watermark: past the knee each admission leads to a "
        "preemption, and the preempted request is prefilled again. The device is always busy, and hardly any request "
        "is served in time.",
        300, "fixed:64", "fixed:512",
        {"rate": "0.5 1 2 4 8 16", "users": "1 2 4 8 16 32"},
        {"max_num_seqs": 64, "max_num_batched_tokens": 2048, "num_kv_blocks": 128, "watermark": 0.0},
    ),
})  # fmt: skip
"""By name; the first is what a page begins with."""


def knob_starts(name: str, machine: MachineChoice) -> dict[str, Any]:
    """What every knob begins with, but the length of the longest request, which the lengths decide."""
    starts = {knob.name: knob.default for knob in fields(SchedulerConfig) if knob.name != "max_model_len"}
    fit = machine.kv_blocks(SchedulerConfig().block_size)
    starts["num_kv_blocks"] = min(fit or _POOL, _POOL)  # of what does not fit, the check says so
    return starts | dict(SWEEP_PRESETS[name].knobs)
