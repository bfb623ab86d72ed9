"""Running commands without a process for each: most of a process's time would go into importing torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from minibatch.__main__ import main
from minibatch.paths import ROOT


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the tests' own, so that ceilings are measured once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def inside(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., CompletedProcess[str]]:
    """`inside("compare", "--json")`: a command run in this process, and what came of it."""
    for name, value in {"XDG_CACHE_HOME": str(cache), "NO_COLOR": "1", "COLUMNS": "220"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(ROOT)

    def run(*arguments: object) -> CompletedProcess[str]:
        words = [str(argument) for argument in arguments]
        try:
            status = main(words)
        except SystemExit as left:  # argparse refuses by leaving
            status = int(left.code or 0)
        written = capsys.readouterr()
        return CompletedProcess(words, status, written.out, written.err)

    return run
