"""The ceilings of this machine: measured once, and remembered. Importing this imports torch."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import torch

from minibatch.reading.files import read_file
from minibatch.reading.values import parse_json
from minibatch.recording.storage import write_atomically
from minibatch.roofline.ceilings import Ceilings, Progress, cache_name, default_cache_dir
from minibatch.roofline.devices import describe, to_device
from minibatch.roofline.measurement import measure_ceilings

_VERSION = 2  # 1 had no date


def load_or_measure(
    device: torch.device | str = "cpu",
    dtype: str = "float32",
    progress: Progress | None = None,
    *,
    cache_dir: Path | None = None,
    anew: bool = False,
) -> Ceilings:
    """The ceilings from an earlier measurement on this device with as many threads, or a new one.

    With `anew` they are measured in any case.

    Measurements are kept as JSON in `cache_dir`, by default $XDG_CACHE_HOME/minibatch or
    ~/.cache/minibatch. A file that can't be read is measured again; one that can't be written is
    only not remembered.
    """
    words = describe(to_device(device))
    path = (cache_dir or default_cache_dir()) / f"ceilings-{cache_name(words, dtype)}.json"
    found = None if anew else _read(path)
    if found is not None and (found.device, found.dtype) == (words, dtype):
        return found
    ceilings = replace(measure_ceilings(device, dtype, progress), device=words)
    _write(path, ceilings)
    return ceilings


def _read(path: Path) -> Ceilings | None:
    try:
        stored = parse_json(read_file(path, 1 << 20))
        if stored.pop("version") != _VERSION:
            return None
        return Ceilings.from_dict(stored)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _write(path: Path, ceilings: Ceilings) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({"version": _VERSION, **asdict(ceilings)}, indent=1).encode())
    except OSError:
        pass
