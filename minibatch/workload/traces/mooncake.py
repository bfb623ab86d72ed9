"""Mooncake's traces: JSON lines with timestamp (ms), input_length, output_length, hash_ids.

The hashes, one a block of 512 prompt tokens, say which prompts begin alike; they are kept with each row. From
GitHub, kvcache-ai/Mooncake (Apache-2.0): Qin et al., "Mooncake", FAST 2025.
"""

from __future__ import annotations

from collections.abc import Iterator

from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import CountTokens, TraceRow
from minibatch.workload.traces.timed_jsonl import is_timed_jsonl, time_unit_of, timed_rows


class Mooncake:
    title = "Mooncake trace"
    from_first = True

    def fits(self, head: str) -> bool:
        return is_timed_jsonl(head) and time_unit_of(head)[0] == "ms"

    def rows(self, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
        yield from timed_rows(file, count_tokens, "times in milliseconds", 1000)
