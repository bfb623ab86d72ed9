"""Recordings as files: written whole or not at all, refused with a sentence when they are wrong.

A file is one line of ASCII, `MINIBATCH-RECORDING <version>`, and then zlib-deflated JSON: a list of
runs over the same requests. SCHEMA.md describes the JSON.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from minibatch.recording.reasons import NUMBERS, REFUSALS
from minibatch.recording.schema import (
    BLOCK_COLUMNS,
    CODES,
    ENTRY_COLUMNS,
    ITERATION_COLUMNS,
    REASON_COLUMNS,
    VERSION,
    Header,
    Phase,
    Recording,
    RequestRecord,
    Table,
)

MAGIC = b"MINIBATCH-RECORDING "
MAX_BYTES = 1 << 30
"""Most bytes of JSON that a file may unpack to."""


class RecordingError(ValueError):
    """A file that is no recording, or not a whole one; the message says what is wrong with it."""


def dumps(runs: Sequence[Recording]) -> bytes:
    """`runs` as the bytes of a file."""
    text = json.dumps([_to_json(run) for run in runs], separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return MAGIC + b"%d\n" % VERSION + zlib.compress(text.encode(), 9)


def loads(data: bytes, name: str = "the recording") -> list[Recording]:
    """The runs in the bytes of a file; RecordingError says what is wrong with them."""
    if not data.startswith(MAGIC):
        raise RecordingError(f"{name} is not a Minibatch recording: it does not begin with {MAGIC.decode().strip()!r}")
    head, _, body = data.partition(b"\n")
    version = head[len(MAGIC) :].decode("ascii", "replace")
    if version != str(VERSION):
        raise RecordingError(
            f"{name} has format version {version[:20]!r} and this program reads version {VERSION}: "
            "record it again, or open it with the Minibatch that wrote it"
        )
    runs = _parse(_unpack(body, name), name)
    try:
        return [_from_json(run) for run in runs]
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise RecordingError(f"{name} is damaged: {what}") from error


def save(path: Path, runs: Sequence[Recording]) -> None:
    """Write a file: to a temporary name beside it, then moved into place. OSError if that fails."""
    write_atomically(path, dumps(runs))


def load(path: Path) -> list[Recording]:
    """Read a file. OSError if it can't be read, RecordingError if it is not a whole recording."""
    return loads(path.read_bytes(), str(path))


def check_writable(path: Path) -> None:
    """Whether `save` could write there now; OSError if not, before hours of work are lost."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, and a file is wanted", str(path))
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=".part"):
        pass


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` whole or not at all, whatever happens on the way."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _unpack(body: bytes, name: str) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(body, MAX_BYTES)
    except zlib.error as error:
        raise RecordingError(f"{name} is damaged: its data do not unpack ({error})") from error
    if unpacker.unconsumed_tail:
        raise RecordingError(f"{name} is too large: it unpacks to more than {MAX_BYTES >> 20:,} MiB")
    if not unpacker.eof:
        raise RecordingError(f"{name} is cut short: {len(body):,} bytes of data, and more should follow")
    if unpacker.unused_data:
        raise RecordingError(f"{name} is damaged: {len(unpacker.unused_data):,} bytes follow its end")
    return text


def _parse(text: bytes, name: str) -> list[Any]:
    try:
        runs = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{name} is damaged: its data are not JSON") from error
    if not isinstance(runs, list) or not runs or not all(isinstance(run, dict) for run in runs):
        raise RecordingError(f"{name} is damaged: it holds no list of runs")
    return runs


def _to_json(run: Recording) -> dict[str, Any]:
    tables = {name: getattr(run, name) for name in ("iterations", "entries", "blocks", "reasons")}
    return {
        "header": asdict(run.header),
        "requests": [asdict(request) for request in run.requests],
        **{name: {column: values.tolist() for column, values in table.items()} for name, table in tables.items()},
        "reason_numbers": run.reason_numbers,
    }


def _from_json(data: dict[str, Any]) -> Recording:
    requests = [_only_known(RequestRecord, request) for request in data["requests"]]
    run = Recording(
        header=Header(**_only_known(Header, data["header"])),
        requests=tuple(
            RequestRecord(
                **{
                    **request,
                    "prompt_token_ids": tuple(request["prompt_token_ids"]),
                    "pieces": tuple(request["pieces"]),
                }
            )
            for request in requests
        ),
        iterations=_table(data, "iterations", ITERATION_COLUMNS),
        entries=_table(data, "entries", ENTRY_COLUMNS),
        blocks=_table(data, "blocks", BLOCK_COLUMNS),
        reasons=_table(data, "reasons", REASON_COLUMNS),
        reason_numbers=tuple(tuple(numbers) for numbers in data["reason_numbers"]),
    )
    _check(run)
    return run


def _only_known(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    known = {field.name for field in fields(kind)}
    if extra := set(values) - known:
        raise ValueError(f"it has an unknown field {sorted(extra)[0]!r}")
    return values


def _table(data: dict[str, Any], name: str, columns: tuple[str, ...]) -> Table:
    table = {}
    for column in columns:
        values = data[name][column]
        if not isinstance(values, list) or not all(type(value) is int for value in values):
            raise ValueError(f"{name}.{column} is not a list of whole numbers")
        table[column] = np.array(values, dtype=np.int64)
    if len({len(values) for values in table.values()}) > 1:
        raise ValueError(f"the columns of {name} differ in length")
    return table


def _check(run: Recording) -> None:
    """Whether every number points at something that is there; ValueError names the first that doesn't."""
    config, n = run.header.config, run.num_iterations
    if run.header.clock not in ("measured", "modelled"):
        raise ValueError(f"its clock is {run.header.clock!r}, neither measured nor modelled")
    limits = [
        ("entries", "iteration", 0, n - 1),
        ("entries", "slot", 0, int(config["max_num_seqs"]) - 1),
        ("entries", "request", 0, len(run.requests) - 1),
        ("entries", "phase", 0, max(Phase)),
        ("entries", "tokens", 0, None),
        ("entries", "padding", 0, None),
        ("blocks", "iteration", 0, n),
        ("blocks", "block", 0, int(config["num_kv_blocks"]) - 1),
        ("blocks", "request", -1, len(run.requests) - 1),
        ("reasons", "iteration", 0, n),
        ("reasons", "code", 0, len(CODES) - 1),
        ("reasons", "request", -1, len(run.requests) - 1),
        *(("iterations", column, 0, None) for column in ITERATION_COLUMNS),
    ]
    for table, column, low, high in limits:
        values = getattr(run, table)[column]
        if len(values) and (values.min() < low or (high is not None and values.max() > high)):
            worst = int(values.min() if values.min() < low else values.max())
            raise ValueError(f"{table}.{column} holds {worst}, outside {low} to {'any' if high is None else high}")
    if n and (np.diff(run.iterations["start_ns"]) < run.iterations["duration_ns"][:-1]).any():
        raise ValueError("an iteration starts before the one before it has ended")
    for table in ("entries", "blocks", "reasons"):
        if (np.diff(getattr(run, table)["iteration"]) < 0).any():
            raise ValueError(f"the rows of {table} are out of order")
    if len(run.reason_numbers) != len(run.reasons["code"]):
        raise ValueError("reason_numbers and reasons differ in length")
    for code, numbers in zip(run.reasons["code"].tolist(), run.reason_numbers, strict=True):
        if len(numbers) != len(NUMBERS[CODES[code]]) or not all(type(number) is int for number in numbers):
            raise ValueError(f"a reason {CODES[code].value!r} has the numbers {numbers}")
    _check_tokens(run)


def _check_tokens(run: Recording) -> None:
    """Texts have a piece a token, and refused requests ran never."""
    written = np.bincount(run.entries["request"][run.entries["token_id"] >= 0], minlength=len(run.requests))
    rows = zip(run.reasons["code"].tolist(), run.reasons["request"].tolist(), strict=True)
    refused = {request_id for code, request_id in rows if CODES[code] in REFUSALS}
    for request_id, request in enumerate(run.requests):
        if not all(isinstance(piece, str) for piece in request.pieces):
            raise ValueError(f"the text of request {request_id} is not text")
        if request.pieces and len(request.pieces) != written[request_id]:
            raise ValueError(
                f"request {request_id} wrote {written[request_id]} tokens and has {len(request.pieces)} pieces of text"
            )
        if written[request_id] > request.max_tokens or (request_id in refused and written[request_id]):
            raise ValueError(f"request {request_id} wrote {written[request_id]} tokens, more than it may")
