"""What a run's durations are of: this machine or an accelerator by its data sheet, and a model."""

from __future__ import annotations

from dataclasses import dataclass

from minibatch.analysis.registry.accelerators import Accelerator, find_accelerator
from minibatch.analysis.registry.claims import find_claim
from minibatch.analysis.registry.modelled import ceilings_for
from minibatch.analysis.registry.models import Model, bundled_shape, known_model
from minibatch.recording.schema import Clock
from minibatch.roofline.ceilings import Ceilings, check_memory, kv_blocks_beside_weights
from minibatch.roofline.costs import ModelShape
from minibatch.scheduling.config import SchedulerConfig

NUMBERS_OF_DEVICES = (1, 2, 4, 8)
"""What one machine usually has."""

USABLE_MEMORY = find_claim("vllm-memory-share").value / 100
"""What of the memory a pool is sized for: activations and the runtime need some (vLLM's gpu_memory_utilization)."""

_FEWEST_BLOCKS = 64
"""A pool must hold more to be of use: a thousand tokens."""


@dataclass(frozen=True, slots=True)
class MachineChoice:
    """A choice of device and model, not yet checked.

    Attributes:
        model: as `Job` has it, or a registered one where durations are modelled.
        accelerator: a name in the registry; None is this machine.
        num_devices: accelerators that share the model in tensor parallel.
    """

    model: str = "bundled"
    clock: Clock = "measured"
    accelerator: str | None = None
    num_devices: int = 1

    @property
    def sheet(self) -> Accelerator | None:
        return None if self.accelerator is None else find_accelerator(self.accelerator)

    @property
    def known(self) -> Model | None:
        """The model by its sizes; None of one that must be looked for first, or that can't be modelled (`check`)."""
        try:
            return known_model(self.model.removeprefix("random:"))
        except ValueError:
            return None

    @property
    def ceilings(self) -> Ceilings | None:
        """Those of the accelerators together; those of this machine are unknown until they are measured."""
        return None if self.accelerator is None else ceilings_for(self.known, self.accelerator, self.num_devices)

    @property
    def shape(self) -> ModelShape | None:
        """The model's sizes, in the accelerator's dtype or 16 bits; None of one that must be looked for first."""
        ceilings = self.ceilings
        dtype = "bfloat16" if ceilings is None else ceilings.dtype
        if self.model == "bundled":
            return bundled_shape(dtype)
        return None if (known := self.known) is None else known.shape(dtype)

    @property
    def key(self) -> str:
        """For keys of widgets that start from other values on another machine; "" where they are the scenario's own."""
        known = self.accelerator or (self.clock == "modelled" and self.known)
        return f"{self.accelerator} {self.num_devices} {self.model}" if known else ""

    def kv_blocks(self, block_size: int) -> int | None:
        """KV blocks that fit beside the weights with room to spare; None where nothing says how large the memory is."""
        ceilings, shape = self.ceilings, self.shape
        if ceilings is None or ceilings.memory_bytes is None or shape is None:
            return None
        return kv_blocks_beside_weights(USABLE_MEMORY * ceilings.memory_bytes, shape, block_size)

    def check(self, config: SchedulerConfig) -> None:
        """What the engine would reject and can be known without it: ValueError says it in a sentence."""
        known_model(self.model.removeprefix("random:"))
        ceilings, shape = self.ceilings, self.shape
        if shape is None:
            return
        if config.max_model_len > shape.n_positions:
            raise ValueError(
                f'max_model_len is {config.max_model_len} and model "{self.model}" reads at most '
                f"{shape.n_positions} tokens: use {shape.n_positions} or less"
            )
        if ceilings is not None:
            check_memory(ceilings, shape, config, self.model)


HERE = MachineChoice()


def numbers_of_devices(model: str) -> tuple[int, ...]:
    """How many devices can share a model's heads evenly."""
    shape = MachineChoice(model).shape
    if shape is None:
        return (1,)
    return tuple(n for n in NUMBERS_OF_DEVICES if shape.n_head % n == 0 and shape.n_kv_head % n == 0)


def devices_key(accelerator: str, model: str) -> str:
    """The key of the widget that says how many: what suits one model on one accelerator suits no other."""
    return f"tensor_parallel {accelerator} {model}"


def fewest_devices(accelerator: str, model: str) -> int:
    """The fewest devices that hold the model and a pool of some use; the most there may be, where even those don't."""
    allowed = numbers_of_devices(model)
    for count in allowed:
        blocks = MachineChoice(model, "modelled", accelerator, count).kv_blocks(SchedulerConfig().block_size)
        if blocks is not None and blocks >= _FEWEST_BLOCKS:
            return count
    return allowed[-1]
