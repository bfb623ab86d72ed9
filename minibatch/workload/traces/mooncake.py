"""Mooncake's traces: JSON lines with timestamp (ms), input_length, output_length, hash_ids.

The hashes, one a block of 512 prompt tokens, say which prompts begin alike; they are not read. From
GitHub, kvcache-ai/Mooncake (Apache-2.0): Qin et al., "Mooncake", FAST 2025.
"""

from __future__ import annotations

from collections.abc import Iterator

from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import CountTokens, TraceRow, seconds, tokens
from minibatch.workload.traces.tables import LENGTHS_AND_TIMES, begins_at_fraction, is_timed_jsonl, json_rows


class Mooncake:
    title = "Mooncake trace"
    from_first = True

    def fits(self, head: str) -> bool:
        return is_timed_jsonl(head) and not begins_at_fraction(head)

    def rows(self, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
        for timestamp, prompt, output in json_rows(file, LENGTHS_AND_TIMES):
            arrival_s = seconds(timestamp, "timestamp") / 1000
            yield TraceRow(arrival_s, tokens(prompt, "input_length"), tokens(output, "output_length"))
