"""The bytes of a file: of a regular one, and of no more than are wanted."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_PART = 1 << 20
"""Bytes that are read at once: room is made for all of them, even where the file has fewer."""


def open_file(path: Path) -> BinaryIO:
    """A regular file, open for reading; a pipe is never waited for.

    Raises:
        OSError: it can't be opened, or is a folder, a device or a pipe.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, "This is a folder: name a file", str(path))
        raise OSError(errno.EINVAL, "This is a device or a pipe: write it to a file first", str(path))
    return os.fdopen(handle, "rb")


def read_file(path: Path, most_bytes: int) -> bytes:
    """All of a regular file.

    Raises:
        OSError: as `open_file`, or the file is larger than `most_bytes`.
    """
    with open_file(path) as file:
        parts, left = [], most_bytes + 1
        while left and (part := file.read(min(left, _PART))):
            parts.append(part)
            left -= len(part)
    if not left:
        raise OSError(errno.EFBIG, f"This file is larger than {_size(most_bytes)}, the most that is read", str(path))
    return b"".join(parts)


def _size(count: int) -> str:
    return f"{count >> 20:,} MiB" if count >> 20 else f"{count >> 10:,} KiB"
