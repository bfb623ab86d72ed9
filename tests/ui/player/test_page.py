"""The page that stands alone: nothing recorded stands raw in it, and it loads nothing."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from minibatch.recording.schema import Recording
from minibatch.ui.player.bundle import page_script
from minibatch.ui.player.page import page_html
from tests.ui.player.unpacking import unpack
from tests.ui.recordings import HTML, continuous, static

NASTY = '</script><img src=x onerror="alert(7)"></style><!--'


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
    own = own[own.index("const vegaEmbed = ") :]
    assert set(re.findall(r"(?:https?:|wss?:)?//[\w.-]+\.\w+/[\w./]*", own)) <= {"http://www.w3.org/2000/svg"}


def test_the_script_of_a_page_ends_where_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minibatch.ui.player.page.page_script", lambda: "const x = '</script><b>';\n")
    found = Tags(page_html([static()]))
    assert [tag for tag, _ in found.tags][-2:] == ["script", "script"]
    assert "const x = '<\\/script><b>';" in "".join(found.texts["script"])
