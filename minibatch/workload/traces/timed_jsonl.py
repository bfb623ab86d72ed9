"""JSON lines with timestamp, input_length, output_length, hash_ids: the fields of several traces, times in two units.

One is in milliseconds (Mooncake), others in seconds (vLLM's `timed_trace`, Bailian, guidellm).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import TraceRow, seconds, shown, tokens
from minibatch.workload.traces.tables import json_rows

SECONDS_GAP = 10.0
"""Times with fractions are seconds up to this mean gap: requests 10 ms apart, or 10 s, are both rare."""
_LENGTHS = ("input_length", "output_length")
_TIMESTAMP = re.compile(r'"timestamp"\s*:\s*([0-9]+(\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*[,}]')


def is_timed_jsonl(head: str) -> bool:
    """Whether a file that begins like this is JSON lines with lengths."""
    return head.lstrip().startswith("{") and all(f'"{field}"' in head for field in _LENGTHS)


def in_seconds(head: str) -> bool:
    """Whether the times at a file's beginning are seconds: some have a fraction, and the mean gap is short."""
    found = _TIMESTAMP.findall(head)
    times = [float(text) for text, _ in found]
    if not any(fraction for _, fraction in found):
        return False
    return times[-1] - times[0] <= SECONDS_GAP * max(1, len(times) - 1)


def timed_rows(file: TraceFile, unit: str, per_second: float) -> Iterator[TraceRow]:
    """The requests; a line without a timestamp arrives with the line above, the first ones at 0.

    Args:
        unit: what the times are, in words.
        per_second: how many units a second has.
    """
    file.notes.unit = unit
    arrival_s = 0.0
    for timestamp, hashes, prompt, output in json_rows(file, _LENGTHS, ("timestamp", "hash_ids")):
        if timestamp is None:
            file.notes.counts["lines without a timestamp, which arrive with the line above"] += 1
        else:
            arrival_s = seconds(timestamp, "timestamp") / per_second
        length, hash_ids = tokens(prompt, "input_length"), _hashes(hashes)
        file.notes.check_hashes(len(hash_ids), length)
        yield TraceRow(arrival_s, length, tokens(output, "output_length"), hash_ids)


def _hashes(value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(type(hash_id) is int for hash_id in value):
        raise ValueError(f"hash_ids is {shown(value)}: use a list of whole numbers")
    return tuple(value)
