"""Chromium for the tests, and a server of files for it."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright import sync_api

from minibatch.ui.shared.headless import CHROMIUM, ROOT, app_server, chromium

__all__ = ["ROOT", "Watched", "app_server", "launched", "served"]


@contextmanager
def launched() -> Iterator[sync_api.Browser]:
    """Chromium. Skips the test on a machine without it, but never in CI."""
    if not os.environ.get("CI") and CHROMIUM is None:
        pytest.skip("there is no Chromium in /usr/bin")
    with chromium() as browser:
        yield browser


class _Quiet(SimpleHTTPRequestHandler):
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}  # noqa: RUF012

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of `folder`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()


class Watched:
    """A page that notes its errors and what it asks of other machines."""

    def __init__(self, page: sync_api.Page, address: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self.outside: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("request", lambda request: self._note(request.url, address))

    def _note(self, url: str, address: str) -> None:
        if not url.startswith((address, "data:", "blob:")):
            self.outside.append(url)

    @property
    def player(self) -> sync_api.Locator:
        """The first player on the page."""
        return self.page.locator(".mb-player").first

    def state(self, expression: str) -> object:
        """A value of the player, which the expression calls `p`."""
        return self.player.evaluate(f"(element) => {{ const p = element.player; return {expression}; }}")
