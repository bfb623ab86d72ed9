"""A run of several engines, an engine at a time: what knows one engine shows each of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from minibatch.decisions.reasons import Code
from minibatch.recording.schema import CODES, TRANSFER_COLUMNS, Recording, RequestRecord, Table
from minibatch.workload.arrival_source import NOT_YET_NS

_TRANSFERRED = CODES.index(Code.TRANSFERRED)


def engine_recordings(recording: Recording) -> list[Recording]:
    """The engines of a run, each as if it had run alone; a run of one engine as it is.

    Requests keep their numbers. One that an engine never had has not arrived there; one that was
    handed over arrived at the end of its transfer, and left the engine before with the reason
    "transfer". Each lane has only the tokens that its engine wrote.
    """
    if recording.header.engines is None:
        return [recording]
    return [_of_engine(recording, engine) for engine in range(recording.header.num_engines)]


def _of_engine(recording: Recording, engine: int) -> Recording:
    mine = np.flatnonzero(recording.iterations["engine"] == engine)
    reasons = recording.reasons["engine"] == engine
    return replace(
        recording,
        header=recording.header.of_engine(engine),
        requests=_requests(recording, engine),
        iterations={
            name: np.zeros(len(mine), dtype=np.int64) if name == "engine" else values[mine]
            for name, values in recording.iterations.items()
        },
        entries=_renumbered(recording.entries, np.isin(recording.entries["iteration"], mine), mine),
        blocks=_renumbered(recording.blocks, recording.blocks["engine"] == engine, mine),
        reasons=_renumbered(recording.reasons, reasons, mine),
        reason_numbers=tuple(recording.reason_numbers[row] for row in np.flatnonzero(reasons).tolist()),
        transfers={name: np.zeros(0, dtype=np.int64) for name in TRANSFER_COLUMNS},
    )


def _renumbered(table: Table, rows: np.ndarray, mine: np.ndarray) -> Table:
    """`rows` of a table, whose iterations are counted among `mine`."""
    part = {name: values[rows] for name, values in table.items()}
    part["iteration"] = np.searchsorted(mine, part["iteration"])
    if "engine" in part:
        part["engine"] = np.zeros_like(part["engine"])
    return part


def _requests(recording: Recording, engine: int) -> tuple[RequestRecord, ...]:
    """The requests as `engine` saw them."""
    arrivals = {
        request: end_ns
        for request, to_engine, end_ns in _rows(recording.transfers, "request", "to_engine", "end_ns")
        if to_engine == engine
    }
    here = {
        request: code for code, request, at in _rows(recording.reasons, "code", "request", "engine") if at == engine
    }
    entries = recording.entries
    written: list[list[int]] = [[] for _ in recording.requests]
    taken = [0] * len(recording.requests)
    engines = recording.iterations["engine"].tolist()
    for iteration, request, generated in _rows(entries, "iteration", "request", "generated"):
        if not generated:
            continue
        if engines[iteration] == engine:
            written[request].extend(range(taken[request], taken[request] + generated))
        taken[request] += generated
    return tuple(
        _request(record, here.get(request), arrivals.get(request, record.arrival_ns), written[request])
        for request, record in enumerate(recording.requests)
    )


def _request(record: RequestRecord, last_code: int | None, arrival_ns: int, written: list[int]) -> RequestRecord:
    if last_code is None:
        none: tuple[()] = ()
        here = replace(record, output_token_ids=none, pieces=none, aborted_ns=None)
        return replace(here, arrival_ns=NOT_YET_NS, finish_reason="transfer")
    is_gone = last_code == _TRANSFERRED
    return replace(
        record,
        arrival_ns=arrival_ns,
        output_token_ids=tuple(record.output_token_ids[place] for place in written),
        pieces=tuple(record.pieces[place] for place in written) if record.pieces else (),
        finish_reason="transfer" if is_gone else record.finish_reason,
        aborted_ns=None if is_gone else record.aborted_ns,
    )


def _rows(table: Table, *names: str) -> zip[tuple[int, ...]]:
    return zip(*(table[name].tolist() for name in names), strict=True)
