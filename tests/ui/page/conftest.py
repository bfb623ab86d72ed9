"""A queue and a folder of recordings for every test of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minibatch.recording.storage import load, save
from minibatch.ui.shared.engine_queue import engine_queue
from minibatch.ui.shared.sources import FOLDER_VARIABLE
from tests.ui.page.driving import (
    SMALL,
)


@pytest.fixture(autouse=True)
def _own_queue() -> Iterator[None]:
    """No run of one test waits for those of another."""
    engine_queue.clear()
    yield
    engine_queue.clear()


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one recording that the engine can repeat."""
    save(tmp_path / "long-document.mbr", load(SMALL))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path
