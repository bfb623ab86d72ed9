"""Uploaded files: kept as bytes, and on disk only for as long as something reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from minibatch.recording.storage import write_atomically
from minibatch.roofline.ceilings import default_cache_dir

MOST_BYTES = 200 << 20
"""Of a trace that the page takes, packed or not: a day of a busy service."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file under the name that its owner gave it, as far as it can stand in a path."""

    name: str
    data: bytes = field(repr=False)
    digest: str

    @contextmanager
    def as_file(self) -> Iterator[Path]:
        """A copy on disk, gone afterwards. A ValueError that names it loses the folder, which says nothing."""
        with TemporaryDirectory(prefix="minibatch-") as folder:
            path = Path(folder, self.name)
            try:
                path.write_bytes(self.data)
            except OSError as error:
                raise ValueError(
                    f"{self.name} can't be kept for reading ({error.strerror}): free some disk space"
                ) from error
            try:
                yield path
            except ValueError as error:
                raise ValueError(str(error).replace(f"{folder}{os.sep}", "")) from error


def kept_config(data: bytes) -> Path:
    """A model's config.json on disk under what it holds, so that a run and its knobs find it again."""
    path = default_cache_dir() / "configs" / f"{sha256(data).hexdigest()[:12]}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    return path


def upload_of(name: str, data: bytes) -> Upload:
    """ValueError for a file that is too large for the page."""
    plain = re.sub(r"[^\w .+()-]", "_", Path(name).name)[-80:].strip(" .")
    if len(data) > MOST_BYTES:
        raise ValueError(
            f"{plain or 'the trace'} is larger than {MOST_BYTES >> 20} MB: cut it to the requests that you "
            "need, pack it with gzip, or give it to the command line (--trace), which takes more"
        )
    return Upload(plain or "trace", data, sha256(data).hexdigest())
