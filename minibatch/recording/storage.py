"""Recordings as files: written whole or not at all, rejected with a sentence when they are wrong.

A file is one line of ASCII, `MINIBATCH-RECORDING <version>`, and then zlib-deflated JSON: a list of
runs over the same requests. SCHEMA.md describes the JSON.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from minibatch.reading.files import read_file
from minibatch.reading.values import check_values, parse_json
from minibatch.recording.schema import (
    BLOCK_COLUMNS,
    ENTRY_COLUMNS,
    ITERATION_COLUMNS,
    REASON_COLUMNS,
    TRANSFER_COLUMNS,
    VERSION,
    EngineHeader,
    Header,
    Recording,
    RequestRecord,
    Table,
)
from minibatch.recording.upgrade import upgrade
from minibatch.recording.validation import LIMIT, check

MAGIC = b"MINIBATCH-RECORDING "
MAX_BYTES = 1 << 30
"""Most bytes of JSON that a file may unpack to."""
_SMALL, _DENSEST = 32 << 20, 50
"""What a file unpacks to is at most so many bytes, or so many times what it has itself: runs unpack to 5 to 20."""
_MOST_RUNS, _MOST_SLOTS, _MOST_FORKS = 64, 1 << 17, 50
"""Of a file, and of a run; slots are those of all runs together."""
_DEEPEST = 16 + _MOST_FORKS
"""Of its JSON: every fork of a fork is a level more."""

_UPGRADES = {str(VERSION): lambda run: run, "2": upgrade}
"""What makes a run of each version that is read one of this version."""
_TABLES = {
    "iterations": ITERATION_COLUMNS,
    "entries": ENTRY_COLUMNS,
    "blocks": BLOCK_COLUMNS,
    "reasons": REASON_COLUMNS,
    "transfers": TRANSFER_COLUMNS,
}


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
    if version not in _UPGRADES:
        raise RecordingError(
            f"{name} has format version {version[:20]!r} and this program reads version {VERSION} (and 2): "
            "record it again, or open it with the Minibatch that wrote it"
        )
    runs = _parse(_unpack(body, name), name)
    try:
        recordings = [_from_json(_UPGRADES[version](run)) for run in runs]
        _check_size(recordings)
        check_values(runs, _DEEPEST)
        return recordings
    except KeyError as error:
        raise RecordingError(f"{name} is damaged: {error.args[0]!r} is missing") from error
    except (TypeError, AttributeError) as error:  # a list where an object should be, and so on
        raise RecordingError(f"{name} is damaged: its parts are not of the kinds that SCHEMA.md says") from error
    except (ValueError, OverflowError) as error:
        raise RecordingError(f"{name} is damaged: {str(error)[:300]}") from error


def save(path: Path, runs: Sequence[Recording]) -> None:
    """Write a file: to a temporary name beside it, then moved into place. OSError if that fails."""
    write_atomically(path, dumps(runs))


def load(path: Path) -> list[Recording]:
    """Read a file. OSError if it can't be read, RecordingError if it is not a whole recording."""
    return loads(read_file(path, MAX_BYTES), str(path))


def check_writable(path: Path) -> None:
    """Whether `save` could write there now; OSError if not, before hours of work are lost."""
    with tempfile.NamedTemporaryFile(dir=_target(path).parent, prefix=f".{path.name}.", suffix=".part"):
        pass


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` whole or not at all, whatever happens on the way. A link is followed."""
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which is put at `path` at the end, or removed if the body raises. A link is followed."""
    target = _target(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _target(path: Path) -> Path:
    """The regular file that is or will be at `path`; OSError if something else is there."""
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "This is a folder: name a file", str(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "This is a device or a pipe: name a file", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(path.parent))
    return target


def _unpack(body: bytes, name: str) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        most = min(MAX_BYTES, max(_SMALL, _DENSEST * len(body)))
        text = unpacker.decompress(body, most)
    except zlib.error as error:
        raise RecordingError(f"{name} is damaged: its data do not unpack ({error})") from error
    if unpacker.unconsumed_tail:
        raise RecordingError(f"{name} is too large: it unpacks to more than {most >> 20:,} MiB")
    if not unpacker.eof:
        raise RecordingError(f"{name} is cut short: {len(body):,} bytes of data, and more should follow")
    if unpacker.unused_data:
        raise RecordingError(f"{name} is damaged: {len(unpacker.unused_data):,} bytes follow its end")
    return text


def _parse(text: bytes, name: str) -> list[Any]:
    try:
        runs = parse_json(text, _DEEPEST, odd_numbers=True)
    except ValueError as error:
        raise RecordingError(f"{name} is damaged: {error}") from error
    if not isinstance(runs, list) or not runs or not all(isinstance(run, dict) for run in runs):
        raise RecordingError(f"{name} is damaged: it holds no list of runs")
    if len(runs) > _MOST_RUNS:
        raise RecordingError(f"{name} holds {len(runs):,} runs: keep up to {_MOST_RUNS} in a file")
    return runs


def _to_json(run: Recording) -> dict[str, Any]:
    tables = {name: getattr(run, name) for name in _TABLES}
    return {
        "header": asdict(run.header),
        "requests": [asdict(request) for request in run.requests],
        **{name: {column: values.tolist() for column, values in table.items()} for name, table in tables.items()},
        "reason_numbers": run.reason_numbers,
    }


def _from_json(data: dict[str, Any]) -> Recording:
    data = _fields(Recording, data)
    header, requests = _fields(Header, data["header"]), [_fields(RequestRecord, each) for each in data["requests"]]
    if header["engines"] is not None:
        engines = tuple(EngineHeader(**_fields(EngineHeader, engine)) for engine in header["engines"])
        header = {**header, "engines": engines}
    lists = ("prompt_token_ids", "output_token_ids", "pieces")
    run = Recording(
        header=Header(**header),
        requests=tuple(RequestRecord(**each | {name: tuple(each[name]) for name in lists}) for each in requests),
        **{name: _table(data, name, columns) for name, columns in _TABLES.items()},
        reason_numbers=_numbers(data["reason_numbers"]),
    )
    check(run)
    return run


def _fields(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    """`values` as they are, if they are just the fields of `kind`."""
    known = {field.name for field in fields(kind)}
    if extra := set(values) - known:
        raise ValueError(f"it has an unknown field {sorted(extra)[0]!r}")
    if missing := known - set(values):
        raise ValueError(f"its field {sorted(missing)[0]!r} is missing")
    return values


def _check_size(runs: Sequence[Recording]) -> None:
    """ValueError where views of the runs would take long whatever the file's size."""
    if (slots := sum(run.num_slots for run in runs)) > _MOST_SLOTS:
        raise ValueError(f"its runs have {slots:,} slots together, and {_MOST_SLOTS:,} are the most that is shown")


def _numbers(rows: Any) -> tuple[tuple[int, ...], ...]:
    numbers = tuple(map(tuple, rows))
    if not all(type(number) is int and abs(number) < LIMIT for row in numbers for number in row):
        raise ValueError("reason_numbers holds what is no whole number below 2**53")
    return numbers


def _table(data: dict[str, Any], name: str, columns: tuple[str, ...]) -> Table:
    table = {}
    if extra := set(data[name]) - set(columns):
        raise ValueError(f"{name} has an unknown column {min(extra)!r}")
    for column in columns:
        values = data[name][column]
        if not isinstance(values, list) or not all(type(value) is int and abs(value) < LIMIT for value in values):
            raise ValueError(f"{name}.{column} is not a list of whole numbers below 2**53")
        table[column] = np.array(values, dtype=np.int64)
    if len({len(values) for values in table.values()}) > 1:
        raise ValueError(f"the columns of {name} differ in length")
    return table
