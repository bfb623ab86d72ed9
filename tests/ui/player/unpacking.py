"""A payload read as its definition says."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np


def decode(data: bytes) -> list[int]:
    """Zigzag LEB128, read as its definition says."""
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value >> 1 if value % 2 == 0 else -(value >> 1) - 1)
            value, shift = 0, 0
    assert shift == 0, "the last number is cut short"
    return values


def unpack(data: bytes) -> tuple[dict[str, Any], list[dict[str, list[int]]]]:
    """The JSON of a payload, and every run's columns."""
    head, _, body = zlib.decompress(data).partition(b"\n")
    meta = json.loads(head)
    steps = decode(body)
    runs, at = [], 0
    for run in meta["runs"]:
        columns = {}
        for name, length in run["columns"].items():
            columns[name] = np.cumsum(steps[at : at + length], dtype=np.int64).tolist()
            at += length
        runs.append(columns)
    assert at == len(steps)
    return meta, runs
