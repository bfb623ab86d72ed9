"""Mooncake's traces: JSON lines with timestamp (ms), input_length, output_length, hash_ids.

The hashes, one a block of 512 prompt tokens, say which prompts begin alike; they are kept with each row. From
GitHub, kvcache-ai/Mooncake (Apache-2.0): Qin et al., "Mooncake", FAST 2025.
"""

from __future__ import annotations

from collections.abc import Iterator

from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import CountTokens, TraceRow
from minibatch.workload.traces.timed_jsonl import in_seconds, is_timed_jsonl, timed_rows


class Mooncake:
    title = "Mooncake trace"
    from_first = True

    def fits(self, head: str) -> bool:
        return is_timed_jsonl(head) and not in_seconds(head)

    def rows(self, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
        yield from timed_rows(file, "times in milliseconds", 1000)
