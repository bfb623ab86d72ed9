"""The player's modules joined into one, for hosts that take a single script.

Every module of assets/player (and of assets/lessons) is read once, after those that it imports;
`import` lines and the word `export` go, so all share one scope. That asks two things of the modules,
which are checked here: names at their top are used once, and they import from each other alone. It takes
some 40 ms, and a checkout plays without Node, which a bundler such as esbuild would need or bring.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from minibatch.paths import ASSETS
from minibatch.ui.player.runtime import vega_runtime
from minibatch.ui.shared.palette import lesson_variables

FOLDER = ASSETS / "player"
LESSONS = ASSETS / "lessons"
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.{1,2}/[\w./]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:default )?(?=(?:async )?function|class|const|let)", re.MULTILINE)
_TOP = re.compile(r"^(?:export )?(?:default )?(?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
_RUNTIME_EXPORT = re.compile(r"export\s*\{\s*([\w$]+) as vegaEmbed,?\s*\};?\s*$")


class BundleError(RuntimeError):
    """Modules that cannot share one scope."""


@cache
def styles() -> str:
    """The player's CSS."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.rglob("*.css")))


@cache
def component_script() -> str:
    """The module that Streamlit mounts: Vega, the player, and its adapter as the default export."""
    return f"{_vega()}\n{_joined(FOLDER / 'shell' / 'streamlit.js')}\nexport default mount;\n"


@cache
def page_script() -> str:
    """The module of a page of its own: it calls `openPage` in assets/player/shell/page.js itself."""
    return f"{_vega()}\n{_joined(FOLDER / 'shell' / 'page.js')}\n"


@cache
def lesson_styles() -> str:
    """The CSS of lessons and of the players in them."""
    sheets = sorted(LESSONS.glob("*.css"))
    return "\n".join([lesson_variables(), styles(), *(path.read_text(encoding="utf-8") for path in sheets)])


@cache
def lesson_component_script() -> str:
    """As `component_script`, for lessons and the interview room."""
    return f"{_vega()}\n{_joined(LESSONS / 'streamlit.js')}\nexport default mountLesson;\n"


@cache
def site_script() -> str:
    """A classic script, which a page opened from disk may load: it leaves `openLessonPage` and nothing else."""
    joined = _joined(LESSONS / "page.js")
    return f'(() => {{\n"use strict";\n{_vega()}\n{joined}\nwindow.openLessonPage = openLessonPage;\n}})();\n'


def _joined(entry: Path) -> str:
    order: list[Path] = []
    _visit(entry, order, ())
    owner: dict[str, str] = {}
    parts = []
    for path in order:
        text = path.read_text(encoding="utf-8")
        for top in _TOP.findall(text):
            if top in owner:
                raise BundleError(f"{top} stands at the top of {owner[top]} and of {path.name}: rename one")
            owner[top] = path.name
        body = _EXPORT.sub("", _IMPORT.sub("", text))
        if re.search(r"^(import|export)\b", body, re.MULTILINE):
            raise BundleError(f"{path.name} imports or exports in a way that this bundler does not know")
        parts.append(body)
    return "\n".join(parts)


def _visit(path: Path, order: list[Path], above: tuple[Path, ...]) -> None:
    if path in above:
        raise BundleError(f"{' -> '.join(each.name for each in [*above, path])}: modules import each other in a circle")
    if path in order:
        return
    for imported in _IMPORT.findall(path.read_text(encoding="utf-8")):
        _visit((path.parent / imported).resolve(), order, (*above, path))
    order.append(path)


def _vega() -> str:
    """Vega's embedder as `vegaEmbed`, in a scope of its own: its short names would meet ours."""
    text = vega_runtime()
    found = _RUNTIME_EXPORT.search(text)
    if not found:
        raise BundleError(
            "Vega's bundle does not end with the export of vegaEmbed: another vl-convert-python is needed"
        )
    # A function of its own, run when the first chart is drawn: the lanes are on the screen long before.
    return (
        f"const loadVega = () => {{\n{text[: found.start()]}\nreturn {found[1]};\n}};\n"
        "let embedder = null;\n"
        "const vegaEmbed = (...inputs) => (embedder ??= loadVega())(...inputs);"
    )
