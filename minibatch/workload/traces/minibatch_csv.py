"""Our own traces: CSV with the columns arrival_s,prompt_tokens,output_tokens.

Times are seconds from the start of the run, which need not be the first request's. Without a column
arrival_s all requests arrive at once. Other columns are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import CountTokens, TraceRow, seconds, tokens
from minibatch.workload.traces.tables import csv_rows, has_columns

_LENGTHS = ("prompt_tokens", "output_tokens")


class MinibatchCSV:
    title = "trace"
    from_first = False

    def fits(self, head: str) -> bool:
        return has_columns(head, _LENGTHS)

    def rows(self, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
        for arrival, prompt, output in csv_rows(file, _LENGTHS, optional=("arrival_s",)):
            arrival_s = 0.0 if arrival is None else seconds(arrival, "arrival_s")
            yield TraceRow(arrival_s, tokens(prompt, "prompt_tokens"), tokens(output, "output_tokens"))


def write_trace(path: Path, rows: Iterable[TraceRow]) -> None:
    """Write `rows` so that `read_trace` gives the same ones; OSError if that fails."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("arrival_s,prompt_tokens,output_tokens\n")
        file.writelines(f"{row.arrival_s!r},{row.prompt_tokens},{row.output_tokens}\n" for row in rows)
