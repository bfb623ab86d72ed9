"""What vLLM's benchmark calls `timed_trace`: JSON lines with timestamp, input_length, output_length, hash_ids.

The fields are Mooncake's, but timestamps are seconds, as vLLM takes them unless its
`--timed-trace-sec-multiplier` says otherwise (`vllm bench serve --dataset-name timed_trace`, fields by
their default names). The Bailian traces of Qwen are written so too. Hashes are not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import CountTokens, TraceRow, seconds, tokens
from minibatch.workload.traces.tables import LENGTHS_AND_TIMES, begins_at_fraction, is_timed_jsonl, json_rows


class TimedTrace:
    title = "timed trace"
    from_first = True

    def fits(self, head: str) -> bool:
        return is_timed_jsonl(head) and begins_at_fraction(head)

    def rows(self, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
        for timestamp, prompt, output in json_rows(file, LENGTHS_AND_TIMES):
            arrival_s = seconds(timestamp, "timestamp")
            yield TraceRow(arrival_s, tokens(prompt, "input_length"), tokens(output, "output_length"))
