"""One self-contained HTML file of a comparison: it opens from disk, without a network or Python."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from minibatch.recording.schema import Recording
from minibatch.ui.player.bundle import page_script, styles
from minibatch.ui.player.payload import pack
from minibatch.ui.summary import title

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; media-src blob:"
)
"""The browser itself holds the page to it: nothing is loaded from anywhere."""

_STYLE = """
html { color-scheme: light dark; }
body { margin: 0; background: #fff; }
@media (prefers-color-scheme: dark) { body { background: #14171B; } }
main { max-width: 110rem; margin: 0 auto; padding: 1.5rem clamp(.8rem, 3vw, 3rem) 3rem; }
"""


def page_html(
    recordings: Sequence[Recording], options: Mapping[str, Any] | None = None, labels: Sequence[str] | None = None
) -> str:
    """The page. `options` and `labels` are those of `pack`; its address takes the parameters that page.js lists."""
    name = f"Minibatch: {title(recordings[0].header)}"
    given = {"id": "page", "autoplay": True, **(options or {})}
    data = base64.b64encode(pack(recordings, given, labels)).decode()
    # The script is our own and Vega's; only base64 of what was recorded stands in the page.
    script = page_script().replace("</script", "<\\/script")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(name)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        f"<style>{_STYLE}\n{styles()}</style>\n</head>\n<body>\n"
        f'<main id="player"><noscript>This page needs JavaScript.</noscript></main>\n'
        f'<script type="application/octet-stream" id="data">{data}</script>\n'
        f'<script type="module">\n{script}\n'
        f'openPage(document.getElementById("player"), document.getElementById("data").textContent);\n'
        f"</script>\n</body>\n</html>\n"
    )
