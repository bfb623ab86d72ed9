"""The page in a real browser: what it draws, what it asks the network for, and whether it fits."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright import sync_api

from minibatch.recording.schema import Recording
from minibatch.recording.storage import save
from minibatch.ui.sources import FOLDER_VARIABLE
from tests.ui.recordings import IMAGE, continuous, static

ROOT = Path(__file__).parents[2]
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

if not os.environ.get("CI") and not CHROMIUM.exists():
    pytest.skip(f"there is no {CHROMIUM}", allow_module_level=True)


def four_policies() -> list[Recording]:
    """All four, two of them under another one's name."""
    runs = {"static": static(), "dynamic": static(), "continuous": continuous(), "chunked": continuous()}
    return [replace(run, header=replace(run.header, policy=name)) for name, run in runs.items()]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("recordings")
    save(folder / "chat.mbr", four_policies())
    odd = replace(static(), header=replace(static().header, policy=IMAGE, model=IMAGE, device=IMAGE, scenario=IMAGE))
    save(folder / "odd.mbr", [odd])
    save(folder / "twice.mbr", [odd, odd])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = {**os.environ, FOLDER_VARIABLE: str(folder)}
    server = subprocess.Popen(
        [*command, "--server.address", "127.0.0.1"], cwd=ROOT, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urlopen(f"{url}/_stcore/health", timeout=1)
                break
            except (URLError, OSError):
                time.sleep(0.25)
        yield url
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark"), (1920, "light")])
def test_draws_all_lanes_alone_and_within_the_window(
    browser: sync_api.Browser, address: str, width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.wait_for_selector(".mb-texts", timeout=60_000)
    charts = page.locator("[data-testid=stVegaLiteChart] svg")
    sync_api.expect(charts).to_have_count(10, timeout=60_000)

    lanes = page.locator("[data-testid=stHorizontalBlock]:has(.mb-lane) [data-testid=stVegaLiteChart] svg")
    assert lanes.count() == 4
    assert "done" in lanes.first.text_content()
    boxes = [lanes.nth(i).bounding_box() for i in range(4)]
    assert len({(box["x"], box["width"]) for box in boxes if box}) == 1
    overflow = page.evaluate(
        "[document.documentElement, document.querySelector('[data-testid=stMain]')]"
        ".map(element => element.scrollWidth - element.clientWidth)"
    )
    assert overflow == [0, 0]
    dark = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert (dark == "rgb(20, 23, 27)") == (scheme == "dark")
    outside = [url for url in requests if not url.startswith((address, "data:", "blob:"))]
    assert outside == []
    assert errors == []
    context.close()


def test_what_a_file_says_of_itself_asks_no_other_machine(browser: sync_api.Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    for option in (IMAGE, "twice.mbr"):
        page.get_by_role("combobox", name="Recording").click()
        page.get_by_role("option", name=option).click()
        sync_api.expect(page.locator("h1, [role=alert]").filter(has_text=IMAGE)).to_be_visible(timeout=30_000)
        page.wait_for_timeout(500)
    outside = [url for url in requests if not url.startswith((address, "data:", "blob:"))]
    assert outside == []
    context.close()


def test_typed_prompts_run_on_the_real_engine(browser: sync_api.Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    page.goto(address)
    page.get_by_text("Run on this machine").click()
    page.get_by_role("combobox", name="Workload").click()
    page.get_by_role("option", name="Your own prompts").click()
    page.get_by_label("Prompts, one a line").fill("<b>Once</b> upon a time\nThe fox said")
    page.get_by_label("max_tokens", exact=True).fill("8")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(".mb-metrics", timeout=180_000)

    lanes = page.locator("[data-testid=stHorizontalBlock]:has(.mb-lane)")
    sync_api.expect(lanes).to_have_count(4)
    assert "measured" in page.locator(".mb-badge").first.text_content()
    sync_api.expect(page.locator(".mb-texts")).to_contain_text("<b>Once</b> upon a time")
    context.close()
