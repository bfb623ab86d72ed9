"""What goes to the browser: the player's script in one piece, its data, and the page that stands alone."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.player import bench, bundle
from minibatch.ui.player.bundle import BundleError, component_script, page_script, styles
from minibatch.ui.player.page import page_html
from minibatch.ui.player.payload import pack, varints
from tests.helpers import MS, record, requests_of
from tests.ui.player.test_run import preempting
from tests.ui.recordings import HTML, continuous, static

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "assets" / "recordings"
NASTY = '</script><img src=x onerror="alert(7)"></style><!--'


def decode(data: bytes) -> list[int]:
    """Zigzag LEB128, read as its definition says."""
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value >> 1 if value % 2 == 0 else -(value >> 1) - 1)
            value, shift = 0, 0
    assert shift == 0, "the last number is cut short"
    return values


def unpack(data: bytes) -> tuple[dict[str, Any], list[dict[str, list[int]]]]:
    """The JSON of a payload, and every run's columns."""
    head, _, body = zlib.decompress(data).partition(b"\n")
    meta = json.loads(head)
    steps = decode(body)
    runs, at = [], 0
    for run in meta["runs"]:
        columns = {}
        for name, length in run["columns"].items():
            columns[name] = np.cumsum(steps[at : at + length], dtype=np.int64).tolist()
            at += length
        runs.append(columns)
    assert at == len(steps)
    return meta, runs


# -- the script -----------------------------------------------------------------------------------


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Modules of a test's own in place of the player's, by name."""
    monkeypatch.setattr(bundle, "FOLDER", tmp_path)
    monkeypatch.setattr(bundle, "vega_runtime", lambda: "const t = 1;\nexport { t as vegaEmbed };\n")
    caches = (styles, component_script, page_script)

    def write(**files: str) -> None:
        for name, text in files.items():
            (tmp_path / f"{name}.js").write_text(text, encoding="utf-8")

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
    marks = ["const vegaEmbed = (() => {", "const c = 5;", "class B {}", "const a = ", "async function openPage()"]
    places = [script.index(mark) for mark in marks]
    assert places == sorted(places)
    assert [script.count(mark) for mark in marks] == [1] * 5
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    # Vega's short names stay its own.
    assert script.index("const t = 1;") < script.index("return t;\n})();") < places[1]


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
    own = text[text.index("})();\n") :]
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
def test_modules_that_cannot_share_a_scope_are_refused(modules: Callable[..., None], other: str, reason: str) -> None:
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


# -- the data -------------------------------------------------------------------------------------

WHOLE = st.integers(-(2**53) + 1, 2**53 - 1)


@given(st.lists(WHOLE | st.sampled_from([s * (2**k + d) for k in range(52) for d in (-1, 0, 1) for s in (-1, 1)])))
def test_any_whole_numbers_come_back(values: list[int]) -> None:
    assert decode(varints(np.array(values, dtype=np.int64))) == values


@given(st.integers(-64, 63))
def test_small_numbers_take_a_byte(value: int) -> None:
    assert len(varints(np.array([value]))) == 1


@pytest.mark.parametrize("mode", ["recompute", "swap"])
def test_a_payload_holds_all_that_was_recorded(mode: str) -> None:
    run = preempting(mode)
    tokens = np.minimum(run.entries["token_id"], 0)  # token 0 is one too
    run = replace(run, entries={**run.entries, "token_id": tokens})
    meta, (columns,) = unpack(pack([run]))
    ends = run.end_of_iteration_ns
    starts = run.iterations["start_ns"]
    assert columns["duration_ns"] == run.iterations["duration_ns"].tolist()
    assert (np.cumsum(np.add(columns["gap_ns"], [0, *columns["duration_ns"][:-1]])) == starts).all()
    assert (np.cumsum(np.add(columns["gap_ns"], columns["duration_ns"])) == ends).all()
    for name in ("flops", "bytes_weights", "bytes_kv", "bytes_activations", "executor_ns"):
        assert columns[name] == run.iterations[name].tolist()
    fields = ("iteration", "slot", "request", "phase", "start", "tokens", "padding")
    got = list(zip(*(columns[f"entries.{name}"] for name in (*fields, "wrote")), strict=True))
    wrote = (run.entries["token_id"] >= 0).astype(int).tolist()
    rows = zip(*(run.entries[name].tolist() for name in fields), wrote, strict=True)
    assert got == sorted(rows, key=lambda row: (row[1], row[0])), "by slot and then by time"
    for table in ("blocks", "reasons"):
        for name, values in getattr(run, table).items():
            assert columns[f"{table}.{name}"] == values.tolist()
    assert columns["reasons.numbers"] == [number for row in run.reason_numbers for number in row]
    assert [request[:3] for request in meta["requests"][0]] == [
        [request.arrival_ns, request.num_prompt_tokens, request.max_tokens] for request in run.requests
    ]
    assert meta["runs"][0]["finish"] == [request.finish_reason for request in run.requests]
    assert "refused" in meta["runs"][0]["finish"]


def test_what_runs_have_in_common_is_sent_once() -> None:
    runs = [static(), continuous()]
    meta, _ = unpack(pack(runs, {"id": "x"}, ["one", "two"]))
    assert [run["label"] for run in meta["runs"]] == ["one", "two"]
    assert (len(meta["requests"]), len(meta["texts"])) == (1, 1)
    changed = replace(runs[1].requests[0], pieces=("x", "y"))
    other = replace(runs[1], requests=(changed, *runs[1].requests[1:]))
    meta, _ = unpack(pack([runs[0], other]))
    assert [run["texts"] for run in meta["runs"]] == [0, 1]
    assert meta["texts"][1][0] == ["x", "y"]
    assert [run["requests"] for run in meta["runs"]] == [0, 0]


def test_a_faster_packing_says_the_same() -> None:
    fast, small = pack([static()], level=1), pack([static()])
    assert zlib.decompress(fast) == zlib.decompress(small)
    assert len(small) <= len(fast)


def test_only_what_is_run_can_have_a_label_too_many() -> None:
    with pytest.raises(ValueError, match="zip"):
        pack([static(), continuous()], labels=["one"])


def test_a_comparison_may_be_of_one_step() -> None:
    run = record(requests_of([(3, 1)]), "static", SchedulerConfig())
    meta, (columns,) = unpack(pack([run]))
    assert columns["duration_ns"] == [MS + 3 * MS // 10]
    assert meta["runs"][0]["complete"] is True


def test_bundled_recordings_are_small() -> None:
    sizes = {path.stem: len(pack(load(path))) for path in BUNDLED.glob("*.mbr")}
    assert sizes["chat"] < 60_000
    assert [name for name, size in sizes.items() if size > 100_000] == []


def test_a_long_run_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest of five lanes, of 3,000 iterations and 32 slots, that take less than 400 kB together."""
    monkeypatch.setattr(bench, "LANES", (("chunked", 192),))
    (run,), labels = bench.comparison()
    assert (run.num_iterations, run.num_slots) == (3000, 32)
    assert len(run.entries["slot"]) > 80_000
    assert len(pack([run], labels=labels)) < 110_000


# -- the page that stands alone -------------------------------------------------------------------


class Tags(HTMLParser):
    """Every tag of a page with its attributes, and the text within it, as a browser's parser sees them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open, []).append(data)


@pytest.fixture(scope="module")
def nasty() -> tuple[Recording, str]:
    """A recording that would break out of a page at any place where its words stood raw, and its page."""
    run = static()
    header = replace(run.header, scenario=NASTY, policy=NASTY, device=NASTY, model=NASTY, dtype=NASTY)
    requests = tuple(replace(request, prompt=NASTY, pieces=(NASTY,) * len(request.pieces)) for request in run.requests)
    run = replace(run, header=header, requests=requests)
    return run, page_html(
        [run, continuous()], {"title": NASTY, "watch": NASTY, "link": {"scenario": NASTY}}, [NASTY, HTML]
    )


def test_no_recorded_word_stands_raw_in_a_page(nasty: tuple[Recording, str]) -> None:
    _, page = nasty
    assert not [part for part in (NASTY, HTML) if part in page]
    assert "<img" not in page[: page.index('<script type="module">')]
    found = Tags(page)
    assert [tag for tag, _ in found.tags] == [
        "html", "head", "meta", "title", "meta", "meta", "style", "body", "main", "noscript", "script", "script",
    ]  # fmt: skip
    assert found.texts["title"] == [f"Minibatch: {NASTY}"]


def test_a_page_holds_the_whole_comparison(nasty: tuple[Recording, str]) -> None:
    run, page = nasty
    (text,) = re.findall(r'id="data">([A-Za-z0-9+/=]*)</script>', page)
    meta, columns = unpack(base64.b64decode(text))
    assert [one["label"] for one in meta["runs"]] == [NASTY, HTML]
    assert meta["options"] == {
        "id": "page", "autoplay": True, "title": NASTY, "watch": NASTY, "link": {"scenario": NASTY}
    }  # fmt: skip
    assert meta["requests"][0][0][-1] == NASTY
    assert columns[0]["duration_ns"] == run.iterations["duration_ns"].tolist()


def test_a_page_loads_nothing_and_may_not(nasty: tuple[Recording, str]) -> None:
    found = Tags(nasty[1])
    (policy,) = [tag["content"] for _, tag in found.tags if tag.get("http-equiv") == "Content-Security-Policy"]
    allowed = {name: rest for name, *rest in (part.split() for part in (policy or "").split(";"))}
    assert allowed["default-src"] == ["'none'"]
    sources = {source for rest in allowed.values() for source in rest}
    assert sources == {"'none'", "'unsafe-inline'", "data:", "blob:"}
    assert "connect-src" not in allowed
    # The policy stands before all that it is to hold.
    names = [tag for tag, _ in found.tags]
    assert names.index("style") > next(k for k, (_, tag) in enumerate(found.tags) if "http-equiv" in tag)
    assert not [tag for _, tag in found.tags if {"src", "href", "srcset", "action", "style"} & set(tag)]
    css = "".join(found.texts["style"])
    assert not re.findall(r"@import|url\((?!['\"]?data:)", css)
    own = page_script()
    own = own[own.index("})();\n") :]
    assert set(re.findall(r"(?:https?:|wss?:)?//[\w.-]+\.\w+/[\w./]*", own)) <= {"http://www.w3.org/2000/svg"}


def test_the_script_of_a_page_ends_where_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minibatch.ui.player.page.page_script", lambda: "const x = '</script><b>';\n")
    found = Tags(page_html([static()]))
    assert [tag for tag, _ in found.tags][-2:] == ["script", "script"]
    assert "const x = '<\\/script><b>';" in "".join(found.texts["script"])


# -- the component --------------------------------------------------------------------------------


def mounted() -> None:
    import streamlit as st

    from minibatch.ui.player.component import show_player

    st.text(str(show_player(b"one", "first")))
    st.text(str(show_player(b"two", "second")))


def test_the_component_mounts_the_script_and_passes_bytes_on() -> None:
    app = AppTest.from_function(mounted, default_timeout=30).run()
    assert not app.exception
    first, second = (element.proto for element in app.get("bidi_component"))
    assert (first.component_name, first.bytes, second.bytes) == ("minibatch.player", b"one", b"two")
    assert first.id != second.id
    assert first.js_content == component_script()
    assert first.css_content == styles()
    assert first.isolate_styles, "the page's own styles would reach into the player"
    # A single line would be taken for the path of a file.
    assert all("\n" in text.strip("\n") or text.endswith("\n") for text in (first.html_content, first.css_content))
    assert [text.value for text in app.text] == ["None", "None"]
