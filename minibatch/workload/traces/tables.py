"""What the formats share: columns of a CSV file, fields of JSON lines."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from minibatch.reading.values import parse_json
from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import shown


def has_columns(head: str, columns: Sequence[str]) -> bool:
    """Whether a file that begins like this is CSV with these columns."""
    try:
        return set(columns) <= set(_names(next(csv.reader(head.splitlines()), [])))
    except csv.Error:
        return False


def csv_rows(file: TraceFile, columns: Sequence[str], optional: Sequence[str] = ()) -> Iterator[list[str | None]]:
    """The cells of these columns in every row, by the names in the first line; None where there is no such column."""
    reader = csv.reader(file.lines(), strict=True)
    try:
        names = _names(next(reader, []))
        if missing := [column for column in columns if column not in names]:
            raise ValueError(f"there is no column {missing[0]!r}: the first line names the columns {','.join(columns)}")
        places = [names.index(column) if column in names else -1 for column in (*optional, *columns)]
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(names):
                raise ValueError(f"has {len(cells)} cells, and {len(names)} columns are named: repair or remove it")
            yield [cells[place] if place >= 0 else None for place in places]
    except csv.Error as error:
        raise ValueError(f"not CSV ({error}): repair or remove it") from error


def json_rows(file: TraceFile, fields: Sequence[str], optional: Sequence[str] = ()) -> Iterator[list[Any]]:
    """The values of `optional` and `fields` in every line, a JSON object; None for an optional one that is missing."""
    for line in file.lines():
        if not line.strip():
            continue
        try:
            data: Any = parse_json(line, odd_numbers=True)
        except ValueError as error:
            raise ValueError("not JSON: write one object a line, or remove it") from error
        if not isinstance(data, dict):
            raise ValueError(f"{shown(data)} is not a JSON object: write one a line")
        if missing := [field for field in fields if field not in data]:
            raise ValueError(f"there is no {missing[0]!r}: each line needs {', '.join(fields)}")
        yield [data.get(field) for field in (*optional, *fields)]


def _names(cells: list[str]) -> list[str]:
    return [cell.strip() for cell in cells]
