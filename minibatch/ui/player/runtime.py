"""Vega for the browser, from the installed package: the player draws its charts offline."""

from __future__ import annotations

import hashlib
import importlib.metadata
from functools import cache
from pathlib import Path

from minibatch.recording.storage import write_atomically
from minibatch.roofline.ceilings import default_cache_dir

_EXPORTS = "export {vegaEmbed};"


@cache
def vega_runtime() -> str:
    """The text of an ES module that exports `vegaEmbed`, about 0.9 MB."""
    return load_or_bundle(default_cache_dir())


def load_or_bundle(cache_dir: Path) -> str:
    """The module as an earlier call left it in `cache_dir`, or bundled anew, which takes seconds.

    A file that can't be read, or doesn't hold what was written, is made again; one that can't be
    written is only not remembered.
    """
    path = cache_dir / f"vega-{importlib.metadata.version('vl-convert-python')}.js"
    text = _read(path)
    if text is None:
        import vl_convert

        text = vl_convert.javascript_bundle(_EXPORTS)
        _write(path, text)
    return text


def _read(path: Path) -> str | None:
    """The module in a file that begins with its digest, so that a damaged one never reaches a browser."""
    try:
        stored = path.read_bytes()
        digest, _, module = stored.partition(b"\n")
        return module.decode() if digest == _digest(module) else None
    except (OSError, ValueError):
        return None


def _write(path: Path, text: str) -> None:
    module = text.encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, _digest(module) + b"\n" + module)
    except OSError:
        pass


def _digest(module: bytes) -> bytes:
    return f"// {hashlib.sha256(module).hexdigest()}".encode()
