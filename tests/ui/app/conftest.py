"""The app in a real browser, with a folder of recordings of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright import sync_api

from minibatch.recording.storage import save
from tests.ui.app.driving import POLICIES, small
from tests.ui.browser import ROOT, app_server
from tests.ui.recordings import HTML, IMAGE, continuous, static

BUNDLED = ROOT / "assets" / "recordings"


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("recordings")
    for name in ("chat", "kv-squeeze"):
        shutil.copy(BUNDLED / f"{name}.mbr", folder)
    save(folder / "small.mbr", [small(policy) for policy in POLICIES])
    odd = replace(static(), header=replace(static().header, policy=IMAGE, model=IMAGE, device=IMAGE, scenario=IMAGE))
    save(folder / "odd.mbr", [odd])
    save(folder / "twice.mbr", [odd, odd])
    hostile = [replace(run, header=replace(run.header, scenario=HTML)) for run in (static(), continuous())]
    save(folder / "hostile.mbr", hostile)
    with app_server(folder) as url:
        yield url


@pytest.fixture
def context(chromium: sync_api.Browser) -> Iterator[sync_api.BrowserContext]:
    context = chromium.new_context(viewport={"width": 1440, "height": 1000}, accept_downloads=True)
    yield context
    context.close()
