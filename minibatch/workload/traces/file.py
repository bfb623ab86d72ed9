"""A file read as text piece by piece, plain or gzipped, so that memory stays small whatever it holds."""

from __future__ import annotations

import codecs
import gzip
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from minibatch.workload.traces.notes import Notes

MAX_BYTES = 2 << 30
"""Most bytes of a file, packed and unpacked."""
MAX_LINE = 1 << 20
"""Most bytes of a line: the hashes of a prompt of a million tokens still fit."""
_CHUNK = 1 << 20
_HEAD = 1 << 16


class TraceFile:
    """An open file. Whatever is wrong with it is a ValueError without the file's name.

    Attributes:
        line: number of the line being read, from 1; a reader of chunks counts for itself.
        notes: what the reader of a format decided and left out.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.line = 0
        self.notes = Notes()
        self._stream = stream
        self._left = MAX_BYTES

    def lines(self) -> Iterator[str]:
        """Every line with its end."""
        while data := self._read(MAX_LINE + 1, self._stream.readline):
            self.line += 1
            if len(data) > MAX_LINE:
                raise ValueError(f"longer than {MAX_LINE >> 20} MiB, which no line of a trace is")
            try:
                yield data.decode("utf-8-sig" if self.line == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise _not_utf8(error) from error

    def chunks(self) -> Iterator[str]:
        """The text in pieces of about a MiB."""
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.line = 1
        data = b"more"
        while data:
            data = self._read(_CHUNK, self._stream.read)
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                self.line += data.count(b"\n", 0, error.start)
                raise _not_utf8(error) from error
            if text:
                yield text

    def head(self) -> str:
        """How it begins: up to 64 KiB of text."""
        try:
            return codecs.getincrementaldecoder("utf-8-sig")().decode(self._read(_HEAD, self._stream.read))
        except UnicodeDecodeError as error:
            raise _not_utf8(error) from error

    def _read(self, size: int, read: Callable[[int], bytes]) -> bytes:
        try:
            data = read(size)
        except EOFError as error:
            raise ValueError("its gzip data end too early: get a whole copy") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"its gzip data are damaged ({error}): get a whole copy") from error
        self._left -= len(data)
        if self._left < 0:
            raise ValueError(f"unpacked it is larger than {MAX_BYTES >> 30} GB: cut it to the requests that you need")
        return data


@contextmanager
def open_trace(path: Path) -> Iterator[TraceFile]:
    """The file at `path`, gzipped or not by its first bytes.

    Raises:
        ValueError: it is a device or a pipe, or too large.
        OSError: it can't be read.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise ValueError("is a device or a pipe: write it to a file first")
    if status.st_size > MAX_BYTES:
        raise ValueError(f"is larger than {MAX_BYTES >> 30} GB: cut it to the requests that you need")
    with path.open("rb") as raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        yield TraceFile(cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw)


def _not_utf8(error: UnicodeDecodeError) -> ValueError:
    return ValueError(f"not UTF-8 text (byte {error.start + 1}): save the file as UTF-8")
