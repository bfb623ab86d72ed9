"""The results of a sweep: one Parquet file, a row a point, complete after every point."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from minibatch.analysis.metrics import latencies_ns
from minibatch.analysis.slo import Goodput, Slo, judge
from minibatch.analysis.summary_metrics import summary_metrics, summary_rates, summary_shares
from minibatch.reading.files import open_file
from minibatch.reading.values import parse_json
from minibatch.recording.run_summary import RunSummary
from minibatch.recording.schema import Column
from minibatch.recording.storage import write_atomically
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.demand import Load

VERSION = 1
_KEY = b"minibatch sweep"
_MOST_ROWS, _MOST_COLUMNS, _MOST_BYTES = 100_000, 200, 256 << 20
"""Of a file, unpacked: each request of each point takes 32 bytes."""
_LISTS = ("arrival_ns", "ttft_ns", "tpot_ns", "e2el_ns")
"""Of each completed request but for arrivals, which are of all: an SLO can be judged after the sweep."""


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One point and what it came to.

    Attributes:
        metrics: of `summary_metrics`, with `offered` and `served` requests/s over the arrivals, and
            `share_...` of the time, as `Shares` has them.
        lists: by name in `_LISTS`.
    """

    policy: str
    load: Load
    config: SchedulerConfig
    metrics: Mapping[str, float | int | None]
    lists: Mapping[str, Column]

    @property
    def key(self) -> tuple[str, Load, SchedulerConfig]:
        return self.policy, self.load, self.config

    def judge(self, slo: Slo) -> Goodput:
        """What an SLO makes of the point."""
        latencies = (self.lists["ttft_ns"], self.lists["tpot_ns"], self.lists["e2el_ns"])
        return judge(slo, latencies, len(self.lists["arrival_ns"]), float(self.metrics["duration"] or 0.0))


def row_of(policy: str, load: Load, config: SchedulerConfig, outcome: RunSummary) -> SweepRow:
    """The row of a point that has been run."""
    rates = summary_rates(outcome) or (None, None)
    shares = asdict(summary_shares(outcome, follows=True))
    del shares["follows"]  # only the whole sweep can tell
    metrics = {
        "offered": rates[0],
        "served": rates[1],
        **summary_metrics(outcome),
        **{f"share_{name}": share for name, share in shares.items()},
    }
    lists = dict(zip(_LISTS, (outcome.arrival_ns, *latencies_ns(outcome.requests)), strict=True))
    return SweepRow(policy, load, config, metrics, lists)


@dataclass(frozen=True, slots=True)
class SavedSweep:
    """What a file holds: what all points share, as `sweep_study.described` has it, the points, and their SLO if any."""

    spec: dict[str, Any]
    rows: list[SweepRow]
    slo: Slo | None


class SweepFile:
    """A sweep on disk.

    Args:
        spec: what all points share, as JSON can hold it. A file of another spec is left alone.

    Attributes:
        rows: those there are, in the order in which they were done.
        slo: that they are judged by; None where none was given.

    Raises:
        ValueError: the file is no sweep, is damaged, of another version, or of another spec.
        OSError: it can't be read.
    """

    def __init__(self, path: Path, spec: Mapping[str, Any]) -> None:
        self.path = path
        self.spec = json.loads(json.dumps(spec))
        self.rows: list[SweepRow] = []
        self.slo: Slo | None = None
        if path.exists():
            saved = read_sweep(path)
            found, self.rows, self.slo = saved.spec, saved.rows, saved.slo
            if differing := [name for name in {**self.spec, **found} if self.spec.get(name) != found.get(name)]:
                raise ValueError(
                    f"{path} holds a sweep with another {', '.join(sorted(differing))}: "
                    "give --out another name, or delete the file"
                )

    @property
    def done(self) -> set[tuple[str, Load, SchedulerConfig]]:
        """The keys of the rows."""
        return {row.key for row in self.rows}

    def add(self, row: SweepRow) -> None:
        """Keep a row; when this returns it is on disk, and a kill before leaves the file as it was."""
        self.rows.append(row)
        self._write()

    def judge_by(self, slo: Slo) -> None:
        """Keep another SLO than there is."""
        if slo != self.slo:
            self.slo = slo
            if self.rows:
                self._write()

    def _write(self) -> None:
        write_atomically(self.path, sweep_bytes(self.spec, self.rows, self.slo))


def read_sweep(path: Path) -> SavedSweep:
    """The sweep in a file; ValueError in one sentence where there is none in it, OSError where there is no file."""
    try:
        table = _table(path)
    except (pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise ValueError(
            f"{path} is not a sweep of Minibatch, or it is damaged: name another file, or move it away and sweep again"
        ) from None
    head = (table.schema.metadata or {}).get(_KEY)
    if head is None:
        raise ValueError(f"{path} is a Parquet file, but not a sweep of Minibatch")
    try:
        described = parse_json(head)
        version = described["version"]
    except (TypeError, KeyError, ValueError):
        raise ValueError(f"{path} says nothing of its sweep that can be read: run the sweep again") from None
    if version != VERSION:
        raise ValueError(f"{path} is a sweep of version {str(version)[:20]}, and this program reads {VERSION}")
    try:
        slo = described.get("slo")
        rows = [_row(values) for values in table.to_pylist()]
        spec = described["study"]
    except (TypeError, KeyError, AttributeError, ValueError):
        raise ValueError(f"{path} has columns that this program does not know: run the sweep again") from None
    return SavedSweep(spec, rows, None if slo is None else _slo(path, slo))


def _table(path: Path) -> pa.Table:
    """Raises ValueError: it is not Parquet, or of more than a sweep has."""
    with open_file(path) as opened:
        file = pq.ParquetFile(opened)
        size = sum(file.metadata.row_group(group).total_byte_size for group in range(file.metadata.num_row_groups))
        if file.metadata.num_rows > _MOST_ROWS or file.metadata.num_columns > _MOST_COLUMNS or size > _MOST_BYTES:
            raise ValueError("too large")
        return file.read()


def _slo(path: Path, limits: Mapping[str, Any]) -> Slo:
    try:
        return Slo(**{name: None if limit is None else float(limit) for name, limit in limits.items()})
    except (TypeError, ValueError, AttributeError):
        raise ValueError(f"{path} has an SLO that makes no sense: run the sweep again") from None


def sweep_bytes(spec: Mapping[str, Any], rows: Sequence[SweepRow], slo: Slo | None = None) -> bytes:
    """The file of these rows, of a spec as JSON can hold it."""
    table = pa.Table.from_pylist(
        [
            {
                "policy": row.policy,
                **{f"load_{name}": value for name, value in asdict(row.load).items()},
                **{f"knob_{name}": value for name, value in asdict(row.config).items()},
                **row.metrics,
                **row.lists,
            }
            for row in rows
        ]
    )
    head = {"version": VERSION, "study": spec} | ({} if slo is None else {"slo": asdict(slo)})
    table = table.replace_schema_metadata({_KEY: json.dumps(head).encode()})
    buffer = BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _row(values: dict[str, Any]) -> SweepRow:
    load = Load(**{name.removeprefix("load_"): values.pop(name) for name in list(values) if name.startswith("load_")})
    knobs = {name.removeprefix("knob_"): values.pop(name) for name in list(values) if name.startswith("knob_")}
    lists = {name: np.array(values.pop(name)) for name in _LISTS}
    return SweepRow(values.pop("policy"), load, SchedulerConfig(**knobs), values, lists)
