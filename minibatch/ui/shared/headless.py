"""A headless Chromium and a server of the app: what the browser tests, the benchmark and the screenshots share."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

from minibatch.paths import ROOT
from minibatch.ui.shared.sources import FOLDER_VARIABLE, recordings_folder

if TYPE_CHECKING:  # of the tests' requirements, which the app does without
    from playwright import sync_api

CHROMIUM = next(
    (path for name in ("chromium-headless-shell", "chromium") if (path := Path("/usr/bin", name)).exists()), None
)
"""The one without windows takes a third less time, where there is one."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextmanager
def chromium() -> Iterator[sync_api.Browser]:
    """The installed Chromium. ValueError with a sentence if it, or playwright, is missing."""
    try:
        from playwright import sync_api
    except ModuleNotFoundError:
        raise ValueError("playwright is not installed: pip install -r tests/requirements.txt") from None
    if CHROMIUM is None:
        raise ValueError(
            "there is no Chromium in /usr/bin: install it (Debian: apt-get install chromium-headless-shell)"
        )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def app_server(recordings: Path | None = None, cache: Path | None = None) -> Iterator[str]:
    """The address of the app on a port of its own, showing a folder of recordings or the bundled ones.

    Args:
        cache: a folder for what the app remembers, in place of the user's own.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = {**os.environ, FOLDER_VARIABLE: str(recordings or recordings_folder())}
    if cache is not None:
        environment["XDG_CACHE_HOME"] = str(cache)
    server = subprocess.Popen(
        [*command, "--server.address", "127.0.0.1"], cwd=ROOT, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(7200):
            try:
                urlopen(f"{url}/_stcore/health", timeout=1)
                break
            except (URLError, OSError):
                time.sleep(0.025)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:  # a busy machine, or a browser that still holds on to it
            server.kill()
            server.wait()
