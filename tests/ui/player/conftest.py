"""The player's modules in a real browser, one by one: `player.load(recordings)`, then `player.run(script)`."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from playwright import sync_api

from minibatch.recording.schema import Recording
from minibatch.ui.player.payload import pack
from tests.ui.browser import ROOT, served


class Modules:
    """A page that can import the files of assets/player.

    Scripts are bodies of async functions. They see `c`, the comparison that `load` unpacked, and
    `load(name)`, which imports a file of assets/player.
    """

    def __init__(self, page: sync_api.Page, address: str) -> None:
        self.page = page
        page.goto(f"{address}/nothing.html")

    def load(self, recordings: Sequence[Recording], **options: Any) -> Modules:
        packed = base64.b64encode(pack(recordings, options)).decode()
        self.page.evaluate(
            "async (text) => { const {unpack} = await import('/core/payload.js');"
            " window.c = await unpack(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))); }",
            packed,
        )
        return self

    def run(self, script: str, argument: Any = None) -> Any:
        """The value that `script` returns; it sees `c`, `load` and its `argument`."""
        body = (
            f"async (argument) => {{ const c = window.c, load = (name) => import('/' + name);"
            f" return await (async () => {{ {script} }})(); }}"
        )
        return self.page.evaluate(body, argument)

    def each(self, recordings: Sequence[Recording], script: str) -> Iterator[tuple[Recording, Any]]:
        """Every recording with what `script` says of it: its value is a list, with one item a run."""
        return zip(recordings, self.load(recordings).run(script), strict=True)


@pytest.fixture(scope="session")
def modules_address() -> Iterator[str]:
    with served(ROOT / "assets" / "player") as address:
        yield address


@pytest.fixture
def player(chromium: sync_api.Browser, modules_address: str) -> Iterator[Modules]:
    context = chromium.new_context(viewport={"width": 1440, "height": 1000})
    yield Modules(context.new_page(), modules_address)
    context.close()
