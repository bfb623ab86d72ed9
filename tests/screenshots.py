"""The README's pictures: `python -m tests.screenshots` takes them from the running app into assets/screenshots."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright import sync_api

from minibatch.ui.shared.headless import ROOT, app_server, chromium

FOLDER = ROOT / "assets" / "screenshots"
MOST_BYTES = 250_000
MOST_FILM_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class Picture:
    """Where a link leads, seen in a window."""

    name: str
    link: str
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"


@dataclass(frozen=True, slots=True)
class Film:
    """A recording played from its beginning to its end.

    Attributes:
        width: of the window, in pixels: the player in it is as wide as a page on GitHub, so the type keeps its size.
        seconds: how long it plays, and how long its end is held.
        rate: frames/s.
    """

    name: str
    link: str
    width: int
    height: int
    seconds: tuple[int, int] = (9, 1)
    rate: int = 11

    @property
    def shares(self) -> list[float]:
        """Where the playhead is at each frame, as a share of the run."""
        playing, held = (seconds * self.rate for seconds in self.seconds)
        return [k / playing for k in range(playing)] + [1.0] * held


MOMENT = "recording=chat&t=1.2e9&focus=chunked"
PICTURES = (
    Picture("compare", MOMENT, 1440, 1000),
    Picture("compare-dark", MOMENT, 1440, 1000, "dark"),
    Picture("close-up", f"{MOMENT}&view=close", 1440, 1000),
    Picture("phone", MOMENT, 390, 844),
)
FILM = Film("compare", "recording=chat&focus=static&t=0", 1290, 1200)

# The lanes with their legend, and why it happens: all else would be small print in a film.
FILM_STYLE = """
    .mb-transport, .mb-tools, .mb-right, .mbp-predict, .mb-provenance, .mbw-same, .mbw-card details {
        display: none !important;
    }
    .mb-panels { grid-template-columns: minmax(0, 1fr) !important; }
    .mb-legend { gap: .3em .55em !important; margin-bottom: .4em !important; }
    .mbw-card { height: 118px; overflow: hidden; }
"""


def opened(
    browser: sync_api.Browser, address: str, picture: Picture | Film, scheme: Literal["light", "dark"] = "light"
) -> sync_api.Page:
    """A page with a player that stands still and has drawn everything."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(f"{address}/?{picture.link}")
    player = page.locator(".mb-player").first
    player.wait_for(state="visible", timeout=60_000)
    handle = player.evaluate_handle("(element) => element.player")
    page.wait_for_function("(player) => player.hasDrawn && player.charts.isReady", arg=handle, timeout=60_000)
    page.locator("[data-test-script-state=notRunning]").wait_for(state="attached")
    page.wait_for_timeout(1500)  # what Streamlit fades in is there
    return page


def take(browser: sync_api.Browser, address: str, picture: Picture) -> bytes:
    """The picture as PNG."""
    page = opened(browser, address, picture, picture.scheme)
    taken = page.screenshot()
    page.context.close()
    return taken


def frames(browser: sync_api.Browser, address: str, film: Film) -> Iterator[Image.Image]:
    """The frames of a film: the playhead is put where it would be, so a slow machine films as well as a fast one."""
    page = opened(browser, address, film)
    player = page.locator(".mb-player").first
    player.evaluate(
        """(element, style) => {
            element.append(Object.assign(document.createElement("style"), { textContent: style }));
            element.player.layout();
        }""",
        FILM_STYLE,
    )
    place = None
    for share in film.shares:
        player.evaluate(
            """({ player }, share) => {
                player.store.set({ position: share * player.store.end });
                player.drawNow();
            }""",
            share,
        )
        if place is None:
            place = _place(page)
        yield Image.open(io.BytesIO(page.screenshot(clip=place))).convert("RGB")
    page.context.close()


def _place(page: sync_api.Page) -> sync_api.FloatRect:
    """From the first lane to the end of the why-card."""
    player = page.locator(".mb-player").first
    lanes, panels = player.locator(".mb-lanes").bounding_box(), player.locator(".mb-panels").bounding_box()
    if lanes is None or panels is None:
        raise RuntimeError("the player shows no lanes")
    return {**lanes, "height": panels["y"] + panels["height"] - lanes["y"]}


def save_film(path: Path, images: list[Image.Image], rate: int) -> None:
    """As an animated WebP that begins again at its end; lossless, which for flat colours and type is smaller too."""
    first, *others = images
    first.save(path, save_all=True, append_images=others, duration=1000 // rate, loop=0, lossless=True, method=4)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with app_server(ROOT / "assets" / "recordings") as address, chromium() as browser:
        path = FOLDER / f"{FILM.name}.webp"
        save_film(path, list(frames(browser, address, FILM)), FILM.rate)
        if path.stat().st_size > MOST_FILM_BYTES:
            raise SystemExit(f"{path.name} has more than {MOST_FILM_BYTES} bytes: use a smaller window or fewer frames")
        print(f"{path.name}  {path.stat().st_size / 1000:.0f} kB")
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
