"""Azure's LLM inference traces (2023 and 2024): CSV with TIMESTAMP,ContextTokens,GeneratedTokens.

Timestamps are a date and a time of day, to 100 ns, with or without an offset from UTC. From GitHub,
Azure/AzurePublicDataset (CC-BY 4.0): Patel et al., "Splitwise", ISCA 2024.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import CountTokens, TraceRow, shown, tokens
from minibatch.workload.traces.tables import csv_rows, has_columns

_COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9:]{8})(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})?")


class Azure:
    title = "Azure trace"
    from_first = True

    def fits(self, head: str) -> bool:
        return has_columns(head, _COLUMNS)

    def rows(self, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
        first: datetime | None = None
        for timestamp, prompt, output in csv_rows(file, _COLUMNS):
            time, fraction = _parse(timestamp or "")
            first = first or time
            # Apart, because seconds since 1970 as a float are no finer than a quarter of a microsecond.
            arrival_s = (time - first).total_seconds() + fraction
            yield TraceRow(arrival_s, tokens(prompt, "ContextTokens"), tokens(output, "GeneratedTokens"))


def _parse(text: str) -> tuple[datetime, float]:
    """Whole seconds, and the rest as a fraction of one."""
    try:
        if not (match := _TIME.fullmatch(text.strip())):
            raise ValueError
        day, time, fraction, offset = match.groups()
        return datetime.fromisoformat(f"{day}T{time}{offset or '+00:00'}"), float(fraction or 0)
    except ValueError as error:
        raise ValueError(f"TIMESTAMP is {shown(text)}: write it as 2023-11-16 18:17:03.9799600") from error
