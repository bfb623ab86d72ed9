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

from minibatch.analysis.outcomes import latencies_of, outcome_metrics, outcome_rates, outcome_shares
from minibatch.recording.outcome import Outcome
from minibatch.recording.schema import Column
from minibatch.recording.storage import write_atomically
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.demand import Load

VERSION = 1
_KEY = b"minibatch sweep"
_LISTS = ("arrival_ns", "ttft_ns", "tpot_ns", "e2el_ns")
"""Of each completed request but for arrivals, which are of all: an SLO can be judged after the sweep."""


@dataclass(frozen=True, slots=True)
class Row:
    """One point and what it came to.

    Attributes:
        metrics: of `outcome_metrics`, with `offered` and `served` requests/s over the arrivals, and
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


def row_of(policy: str, load: Load, config: SchedulerConfig, outcome: Outcome) -> Row:
    """The row of a point that has been run."""
    rates = outcome_rates(outcome) or (None, None)
    shares = asdict(outcome_shares(outcome, follows=True))
    del shares["follows"]  # only the whole sweep can tell
    metrics = {
        "offered": rates[0],
        "served": rates[1],
        **outcome_metrics(outcome),
        **{f"share_{name}": share for name, share in shares.items()},
    }
    lists = dict(zip(_LISTS, (outcome.arrival_ns, *latencies_of(outcome)), strict=True))
    return Row(policy, load, config, metrics, lists)


class SweepFile:
    """A sweep on disk.

    Args:
        study: what all points share, as JSON can hold it. A file of another study is left alone.

    Attributes:
        rows: those there are, in the order in which they were done.

    Raises:
        ValueError: the file is no sweep, is damaged, of another version, or of another study.
        OSError: it can't be read.
    """

    def __init__(self, path: Path, study: Mapping[str, Any]) -> None:
        self.path = path
        self.study = json.loads(json.dumps(study))
        self.rows: list[Row] = []
        if path.exists():
            found, self.rows = read_sweep(path)
            if differing := [name for name in {**self.study, **found} if self.study.get(name) != found.get(name)]:
                raise ValueError(
                    f"{path} holds a sweep with another {', '.join(sorted(differing))}: "
                    "give --out another name, or delete the file"
                )

    @property
    def done(self) -> set[tuple[str, Load, SchedulerConfig]]:
        """The keys of the rows."""
        return {row.key for row in self.rows}

    def add(self, row: Row) -> None:
        """Keep a row; when this returns it is on disk, and a kill before leaves the file as it was."""
        self.rows.append(row)
        write_atomically(self.path, sweep_bytes(self.study, self.rows))


def read_sweep(path: Path) -> tuple[dict[str, Any], list[Row]]:
    """The study and the rows of a sweep; ValueError in one sentence where it is none, OSError where there is none."""
    try:
        table = pq.read_table(BytesIO(path.read_bytes()))
    except (pa.ArrowException, ValueError):
        raise ValueError(f"{path} is not a sweep of Minibatch, or it is damaged: run the sweep again") from None
    head = (table.schema.metadata or {}).get(_KEY)
    if head is None:
        raise ValueError(f"{path} is a Parquet file, but not a sweep of Minibatch")
    try:
        described = json.loads(head)
        if described["version"] != VERSION:
            raise ValueError(f"{path} is a sweep of version {described['version']}, and this program reads {VERSION}")
        return described["study"], [_row(values) for values in table.to_pylist()]
    except (TypeError, KeyError, json.JSONDecodeError):
        raise ValueError(f"{path} has columns that this program does not know: run the sweep again") from None


def sweep_bytes(study: Mapping[str, Any], rows: Sequence[Row]) -> bytes:
    """The file of these rows, of a study as JSON can hold it."""
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
    table = table.replace_schema_metadata({_KEY: json.dumps({"version": VERSION, "study": study}).encode()})
    buffer = BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _row(values: dict[str, Any]) -> Row:
    load = Load(**{name.removeprefix("load_"): values.pop(name) for name in list(values) if name.startswith("load_")})
    knobs = {name.removeprefix("knob_"): values.pop(name) for name in list(values) if name.startswith("knob_")}
    lists = {name: np.array(values.pop(name)) for name in _LISTS}
    return Row(values.pop("policy"), load, SchedulerConfig(**knobs), values, lists)
