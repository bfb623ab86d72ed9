from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright import sync_api

from minibatch.recording.schema import Recording
from minibatch.recording.storage import save
from minibatch.ui.shared.sources import FOLDER_VARIABLE
from tests.ui.browser import launched
from tests.ui.recordings import continuous, static


@pytest.fixture(scope="session")
def chromium() -> Iterator[sync_api.Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def pair() -> tuple[Recording, ...]:
    return static(), continuous()


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: tuple[Recording, ...]) -> Path:
    """A folder with one bundled recording, in place of the real ones."""
    save(tmp_path / "chat.mbr", pair)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path
