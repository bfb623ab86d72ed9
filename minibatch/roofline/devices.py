"""Devices and dtypes: from the words a user types, and into words for people."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "float64", "bfloat16", "float16")


def to_device(device: torch.device | str) -> torch.device:
    """The device of that name: "cpu", "cuda", "cuda:1", or "auto" for CUDA where there is one.

    Raises:
        ValueError: this machine has no such device.
    """
    import torch

    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
    except RuntimeError:
        raise ValueError(f'there is no device "{device}": use cpu, cuda or auto') from None
    if found.type not in ("cpu", "cuda"):
        raise ValueError(f'device "{device}" is not supported: use cpu, cuda or auto')
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise ValueError(f'this machine has no device "{device}" that torch can use: use cpu or auto')
    return found


def parse_dtype(name: str) -> torch.dtype:
    """The dtype of that name.

    Raises:
        ValueError: not one of `DTYPES`.
    """
    import torch

    if name not in DTYPES:
        raise ValueError(f'there is no dtype "{name}" here: use auto or one of {", ".join(DTYPES)}')
    return {
        "float32": torch.float32,
        "float64": torch.float64,
        "bfloat16": torch.bfloat16,
        "float16": torch.float16,
    }[name]


def choose_dtype(name: str, device: torch.device) -> str:
    """`name`, or for "auto" what suits the device: float32 on a CPU, half precision on a GPU.

    Raises:
        ValueError: not "auto" and not one of `DTYPES`.
    """
    import torch

    if name != "auto":
        parse_dtype(name)
        return name
    if device.type != "cuda":
        return "float32"
    return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"


def describe(device: torch.device) -> str:
    """What runs the model: the name of the GPU, or of the CPU and how many threads of it are used."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"{_cpu_name()} ({threads} thread{'s' if threads != 1 else ''})"


def _cpu_name() -> str:
    """The CPU's model name as the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "CPU"
