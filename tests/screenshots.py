"""The README's pictures: `python -m tests.screenshots` takes them from the running app into assets/screenshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from playwright import sync_api

from minibatch.ui.shared.headless import ROOT, app_server, chromium

FOLDER = ROOT / "assets" / "screenshots"
MOST_BYTES = 250_000


@dataclass(frozen=True, slots=True)
class Picture:
    """Where a link leads, seen in a window."""

    name: str
    link: str
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"


MOMENT = "recording=chat&t=1.2e9&focus=chunked"
PICTURES = (
    Picture("compare", MOMENT, 1440, 1000),
    Picture("compare-dark", MOMENT, 1440, 1000, "dark"),
    Picture("close-up", f"{MOMENT}&view=close", 1440, 1000),
    Picture("phone", MOMENT, 390, 844),
)


def take(browser: sync_api.Browser, address: str, picture: Picture) -> bytes:
    """The picture as PNG, of a player that stands still."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme=picture.scheme,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{address}/?{picture.link}")
    player = page.locator(".mb-player").first
    player.wait_for(state="visible", timeout=60_000)
    handle = player.evaluate_handle("(element) => element.player")
    page.wait_for_function("(player) => player.hasDrawn && player.charts.isReady", arg=handle, timeout=60_000)
    page.locator("[data-test-script-state=notRunning]").wait_for(state="attached")
    page.wait_for_timeout(1500)  # what Streamlit fades in is there
    taken = page.screenshot()
    context.close()
    return taken


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with app_server(ROOT / "assets" / "recordings") as address, chromium() as browser:
        for picture in PICTURES:
            taken = take(browser, address, picture)
            if len(taken) > MOST_BYTES:
                raise SystemExit(
                    f"{picture.name}.png has {len(taken)} bytes, more than {MOST_BYTES}: use a smaller window"
                )
            (FOLDER / f"{picture.name}.png").write_bytes(taken)
            print(f"{picture.name}.png  {len(taken) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
