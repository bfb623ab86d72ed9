"""The two ceilings of a device's roofline; those of this machine are measured and remembered.

Importing this module imports no torch: modelled runs need only the dataclass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minibatch.roofline.costs import ModelShape
from minibatch.roofline.efficiency import BARE, Efficiency
from minibatch.scheduling.config import SchedulerConfig

if TYPE_CHECKING:
    pass

Progress = Callable[[float], None]
"""Told how much is done, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """How fast a device can compute and read; tensor-parallel devices count as one.

    Attributes:
        flops_per_s: peak of dense matrix products in `dtype`, FLOP/s, of all devices together.
        bytes_per_s: peak of reading device memory, bytes/s, of all devices together.
        device: in words.
        dtype: of the matrix products.
        source: where the numbers are from: measured, with the date, or a data sheet.
        memory_bytes: device memory, bytes, of all devices together; None where nothing says.
        num_devices: tensor-parallel devices.
        link_bytes_per_s: what each device can send to the others, bytes/s, one direction; more
            than one device must have it.
        efficiency: what share of the ceilings a model's operators reach.
    """

    flops_per_s: float
    bytes_per_s: float
    device: str
    dtype: str = "float32"
    source: str = "measured on this machine"
    memory_bytes: float | None = None
    num_devices: int = 1
    link_bytes_per_s: float | None = None
    efficiency: Efficiency = BARE

    def __post_init__(self) -> None:
        if not (0 < self.flops_per_s < float("inf") and 0 < self.bytes_per_s < float("inf")):
            raise ValueError(
                f"ceilings of {self.device} are {self.flops_per_s} FLOP/s and {self.bytes_per_s} bytes/s: "
                "use positive numbers"
            )
        if self.num_devices < 1:
            raise ValueError(f"{self.device} is {self.num_devices} devices: use at least 1")
        if self.num_devices > 1 and not 0 < (self.link_bytes_per_s or 0) < float("inf"):
            raise ValueError(
                f"{self.device} is {self.num_devices} devices with a link of {self.link_bytes_per_s} bytes/s: "
                "use a positive number"
            )

    @property
    def ridge(self) -> float:
        """The intensity at which both ceilings bind, in FLOP/byte."""
        return self.flops_per_s / self.bytes_per_s

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Ceilings:
        """What `asdict` made of ceilings; TypeError for a field that there is not."""
        given = dict(stored)
        efficiency = given.pop("efficiency", None)
        return cls(**given, efficiency=BARE if efficiency is None else Efficiency(**efficiency))


def kv_blocks_beside_weights(memory_bytes: float, shape: ModelShape, block_size: int) -> int:
    """Most KV blocks of `block_size` tokens that fit beside the weights; 0 where those alone don't fit."""
    return max(0, int((memory_bytes - shape.weight_bytes) // (block_size * shape.kv_bytes_per_token)))


def check_memory(ceilings: Ceilings, shape: ModelShape, config: SchedulerConfig, model: str) -> None:
    """ValueError unless weights and KV pool fit the device's memory, where that is known.

    Activations are left out, so what passes may still not fit in practice.
    """
    if ceilings.memory_bytes is None:
        return
    memory = f"{ceilings.device} has {ceilings.memory_bytes / 1e9:,.0f} GB"
    weights = f'the weights of model "{model}" take {shape.weight_bytes / 1e9:,.1f} GB'
    pool = f"a pool of {config.num_kv_blocks:,} KV blocks"
    block_bytes = config.block_size * shape.kv_bytes_per_token
    most_blocks = kv_blocks_beside_weights(ceilings.memory_bytes, shape, config.block_size)
    if most_blocks < 1:
        raise ValueError(f"{weights} and {memory}: use more devices, larger ones, or a smaller model")
    if config.num_kv_blocks > most_blocks:
        raise ValueError(
            f"{weights}, {pool} {config.num_kv_blocks * block_bytes / 1e9:,.1f} GB, and {memory}: "
            f"use num_kv_blocks of at most {most_blocks:,}"
        )


def cache_name(device: str, dtype: str) -> str:
    """Device and dtype as a part of a file's name."""
    return "".join(c if c.isalnum() else "-" for c in f"{device} {dtype}").lower()


def default_cache_dir() -> Path:
    """$XDG_CACHE_HOME/minibatch, or ~/.cache/minibatch where that isn't an absolute path."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "minibatch"
