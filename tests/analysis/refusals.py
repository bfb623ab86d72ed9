"""Files of figures that are damaged, and the sentence that refuses each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest


def refusal(load: Callable[[Path], object], path: Path, text: str, says: str) -> str:
    """What `load` says of a file at `path` with this text, which has `says` in it."""
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(says)) as refused:
        load(path)
    return str(refused.value)
