"""BurstGPT: CSV with Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type.

Timestamps are seconds. A request without response tokens has failed and is left out, as in vLLM's
benchmark; requests to all models are read. From GitHub, HPMLL/BurstGPT (CC-BY 4.0): Wang et al.,
"BurstGPT", KDD 2025.
"""

from __future__ import annotations

from collections.abc import Iterator

from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import CountTokens, TraceRow, seconds, tokens
from minibatch.workload.traces.tables import csv_rows, has_columns

_COLUMNS = ("Timestamp", "Request tokens", "Response tokens")


class BurstGPT:
    title = "BurstGPT trace"
    from_first = True

    def fits(self, head: str) -> bool:
        return has_columns(head, _COLUMNS)

    def rows(self, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
        for timestamp, prompt, response in csv_rows(file, _COLUMNS):
            output = tokens(response, "Response tokens", least=0)
            if not output:
                file.notes.counts["failed request", "(no response tokens) left out"] += 1
            else:
                yield TraceRow(seconds(timestamp, "Timestamp"), tokens(prompt, "Request tokens"), output)
