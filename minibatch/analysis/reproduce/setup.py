"""What reproductions have in common: a published model on accelerators by their data sheets, and its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minibatch.analysis.registry.accelerators import find_accelerator
from minibatch.analysis.registry.models import find_shape
from minibatch.engine.sweep import SweepSpec
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.demand import Demand, Load

MEMORY_SHARE = 0.9
"""Of device memory, for weights and KV: vLLM's default `gpu_memory_utilization` when these results were published."""

BARE_ROOFLINE = (
    "Durations are those of the bare roofline: every kernel reaches the data sheet's ceilings, and neither the "
    "scheduler nor the launch of a kernel takes time. So ratios are compared, not absolute numbers."
)
MEMORY = (
    f"{100 * MEMORY_SHARE:.0f} % of device memory holds weights and KV, as by default in the vLLM of that time; "
    "activations are not counted."
)


@dataclass(frozen=True, slots=True)
class Machine:
    """A registered model in 16 bits on accelerators that share it."""

    model: str
    ceilings: Ceilings
    shape: ModelShape

    @property
    def words(self) -> str:
        return f"{self.model} on {self.ceilings.device}, {self.ceilings.dtype}"

    def spec(self, demand: Demand, seed: int) -> SweepSpec:
        return SweepSpec(demand, self.shape, self.ceilings, self.model, seed)

    def config(self, **knobs: Any) -> SchedulerConfig:
        """The knobs given; all memory that the weights leave is KV, and vLLM's defaults do for the rest."""
        left = (self.ceilings.memory_bytes or 0.0) * MEMORY_SHARE - self.shape.weight_bytes
        blocks = int(left // (SchedulerConfig().block_size * self.shape.kv_bytes_per_token))
        return SchedulerConfig(
            **{"max_num_seqs": 256, "max_num_batched_tokens": 2048, "num_kv_blocks": blocks, **knobs}
        )


def machine(model: str, accelerator: str, num_devices: int = 1) -> Machine:
    """The machine of registered names; ValueError where there is none."""
    ceilings = find_accelerator(accelerator).ceilings("float16", num_devices)
    return Machine(model, ceilings, find_shape(model, ceilings.dtype))


def at_once(demand: Demand) -> Load:
    """All requests at time 0: as many users as requests."""
    return Load("users", len(demand.prompt_tokens))


def within(demand: Demand, most_tokens: int) -> Demand:
    """The demand with outputs, and then prompts, cut so that no request is longer than `most_tokens`."""
    outputs = tuple(min(tokens, most_tokens - 1) for tokens in demand.output_tokens)
    prompts = tuple(
        min(prompt, most_tokens - output) for prompt, output in zip(demand.prompt_tokens, outputs, strict=True)
    )
    return Demand(prompts, outputs, f"{demand.words}, at most {most_tokens:,} tokens together")
