"""The player's script in one piece."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minibatch.ui.player import bundle
from minibatch.ui.player.bundle import BundleError, component_script, page_script, styles


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Modules of a test's own in place of the player's, by name."""
    monkeypatch.setattr(bundle, "FOLDER", tmp_path)
    (tmp_path / "shell").mkdir()
    monkeypatch.setattr(bundle, "vega_runtime", lambda: "const t = 1;\nexport { t as vegaEmbed };\n")
    caches = (styles, component_script, page_script)

    def write(**files: str) -> None:
        for name, text in files.items():
            (tmp_path / "shell" / f"{name}.js").write_text(text, encoding="utf-8")

    for cached in caches:
        cached.cache_clear()
    yield write
    for cached in caches:
        cached.cache_clear()


def test_modules_are_joined_each_once_and_after_those_that_they_import(modules: Callable[..., None]) -> None:
    modules(
        page='import { b } from "./b.js";\nimport { a } from "./a.js";\nexport async function openPage() { a(b); }\n',
        a='import { c } from "./c.js";\nexport const a = () => c;\n',
        b='import {\n  c,\n} from "./c.js";\nexport class B {}\nexport let b = new B(c);\n',
        c="export const c = 5; // import nothing from anywhere\n",
    )
    script = page_script()
    vega = ["const loadVega = () => {", "const vegaEmbed = (...inputs) => (embedder ??= loadVega())(...inputs);"]
    marks = [*vega, "const c = 5;", "class B {}", "const a = ", "async function openPage()"]
    places = [script.index(mark) for mark in marks]
    assert places == sorted(places)
    assert [script.count(mark) for mark in marks] == [1] * 6
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    # Vega's short names stay its own.
    assert script.index("const t = 1;") < script.index("return t;\n};") < places[1]


def test_the_script_of_the_component_exports_its_adapter_alone(modules: Callable[..., None]) -> None:
    modules(
        streamlit='import { x } from "./x.js";\nexport default function mount() { x(); }\n', x="export const x = 1;\n"
    )
    script = component_script()
    assert re.findall(r"^export .*$", script, re.MULTILINE) == ["export default mount;"]
    assert script.rstrip().endswith("export default mount;")
    assert "\nfunction mount()" in script


@pytest.mark.parametrize("script", [page_script, component_script], ids=["page", "component"])
def test_the_players_own_modules_go_together(script: Callable[[], str]) -> None:
    text = script()
    own = text[text.index("const vegaEmbed = ") :]
    assert re.findall(r"^(?:import|export)\b.*$", own, re.MULTILINE) == (
        ["export default mount;"] if script is component_script else []
    )
    assert own.count("function createPlayer(") == 1
    code = re.sub(r"/\*.*?\*/", "", own, flags=re.DOTALL)
    assert not re.findall(r"\bimport\(|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|importScripts", code)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ("const width = 1;\n", "width stands at the top of other.js and of page.js: rename one"),
        ("export async function width() {}\n", "width stands at the top of other.js and of page.js: rename one"),
        ('import fs from "fs";\n', "other.js imports or exports in a way that this bundler does not know"),
        ('import * as all from "./third.js";\n', "other.js imports or exports in a way"),
        ('import "./third.js";\n', "other.js imports or exports in a way"),
        ('import { x } from "https://cdn.example/x.js";\n', "other.js imports or exports in a way"),
        ('export { x } from "./third.js";\n', "other.js imports or exports in a way"),
        ("const x = 1;\nexport { x };\n", "other.js imports or exports in a way"),
        ('import { openPage } from "./page.js";\n', "page.js -> other.js -> page.js: modules import each"),
    ],
)  # fmt: skip
def test_modules_that_cannot_share_a_scope_are_rejected(modules: Callable[..., None], other: str, reason: str) -> None:
    page = 'import { y } from "./other.js";\nclass width {}\nexport function openPage() {}\n'
    modules(page=page, other=other, third="export const x = 1;\n")
    with pytest.raises(BundleError) as caught:
        page_script()
    assert str(caught.value).startswith(reason)


def test_a_name_that_vega_no_longer_exports_is_said_so(
    modules: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules(page="export function openPage() {}\n")
    monkeypatch.setattr(bundle, "vega_runtime", lambda: "export { t as somethingElse };\n")
    with pytest.raises(BundleError, match="another vl-convert-python is needed"):
        page_script()
