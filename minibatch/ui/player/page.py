"""One self-contained HTML file of a comparison: it opens from disk, without a network or Python."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from minibatch.recording.schema import Recording
from minibatch.ui.player.bundle import page_script, styles
from minibatch.ui.player.payload import pack
from minibatch.ui.shared.summary import title

Links = Sequence[tuple[str, str]]
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; media-src blob:"
)
"""The browser itself holds the page to it: nothing is loaded from anywhere."""

_STYLE = """
html { color-scheme: light dark; }
body { margin: 0; background: #fff; }
@media (prefers-color-scheme: dark) { body { background: #14171B; } }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; padding: .7rem clamp(.8rem, 3vw, 3rem); color: #1F2328;
  font: 17px/1.55 "Source Sans 3", system-ui, sans-serif; border-bottom: 1px solid #8885; }
nav a { color: inherit; text-decoration: none; padding: .15rem 0; }
nav a:hover { text-decoration: underline; }
nav b { padding: .15rem 0; font-weight: 650; }
@media (prefers-color-scheme: dark) { nav { color: #E8EAED; } }
main { max-width: 110rem; margin: 0 auto; padding: 1.5rem clamp(.8rem, 3vw, 3rem) 3rem; }
"""


def page_html(
    recordings: Sequence[Recording],
    options: Mapping[str, Any] | None = None,
    labels: Sequence[str] | None = None,
    links: Sequence[Links] = (),
) -> str:
    """The page; its address takes the parameters that page.js lists.

    Args:
        options: as of `pack`, and `labels`.
        links: rows of links above the player, each of words and an address; "" is where one is.
    """
    name = f"Minibatch: {title(recordings[0].header)}"
    given = {"id": "page", "autoplay": True, **(options or {})}
    data = base64.b64encode(pack(recordings, given, labels)).decode()
    # The script is our own and Vega's; only base64 of what was recorded stands in the page.
    script = page_script().replace("</script", "<\\/script")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(name)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        f"<style>{_STYLE}\n{styles()}</style>\n</head>\n<body>\n{''.join(map(_row, range(1, 9), links))}"
        f'<main id="player"><noscript>This page needs JavaScript.</noscript></main>\n'
        f'<script type="application/octet-stream" id="data">{data}</script>\n'
        f'<script type="module">\n{script}\n'
        f'openPage(document.getElementById("player"), document.getElementById("data").textContent);\n'
        f"</script>\n</body>\n</html>\n"
    )


def _row(number: int, links: Links) -> str:
    shown = (
        f'<a href="{escape(address)}">{escape(words)}</a>' if address else f'<b aria-current="page">{escape(words)}</b>'
        for words, address in links
    )
    return f'<nav aria-label="Links {number}">{"".join(shown)}</nav>\n'
