"""What vLLM's benchmark calls `timed_trace`: JSON lines with timestamp, input_length, output_length, hash_ids.

The fields are Mooncake's, but timestamps are seconds, as vLLM takes them unless its
`--timed-trace-sec-multiplier` says otherwise (`vllm bench serve --dataset-name timed_trace`, fields by
their default names). The Bailian traces of Qwen are written so too.
"""

from __future__ import annotations

from collections.abc import Iterator

from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import CountTokens, TraceRow
from minibatch.workload.traces.timed_jsonl import is_timed_jsonl, time_unit_of, timed_rows


class TimedTrace:
    title = "timed trace"
    from_first = True

    def fits(self, head: str) -> bool:
        return is_timed_jsonl(head) and time_unit_of(head)[0] == "s"

    def rows(self, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
        yield from timed_rows(file, count_tokens, "times in seconds", 1)
