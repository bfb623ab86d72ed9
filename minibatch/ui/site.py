"""The static site: every lesson, the interview room, the comparison and the claims, for any host or a USB stick."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

from minibatch.analysis.claims import load_claims
from minibatch.learning.errors import LessonError
from minibatch.learning.lesson import FOLDER, folders, read_outline
from minibatch.recording.storage import load, write_atomically
from minibatch.ui.lesson_document import Document, document_bytes, index_document, lesson_document
from minibatch.ui.player.bundle import lesson_styles, site_script
from minibatch.ui.player.page import page_html
from minibatch.ui.room_document import room_document
from minibatch.ui.sources import bundled_files, recordings_folder

Files = Iterator[tuple[str, Callable[[], bytes]]]
_LINKS = {"index": "index.html", "room": "interview.html", "compare": "compare.html", "claims": "claims.html"}
_NAMES = (("index", "Lessons"), ("room", "Interview room"), ("compare", "Compare"), ("claims", "Claims"))
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' file:; style-src 'self' 'unsafe-inline' file:; "
    "img-src data: blob: 'self'; media-src blob:; connect-src data: blob:"
)
"""Nothing is loaded from elsewhere, and the browser holds the page to it."""


def site_files(root: Path = FOLDER) -> Files:
    """Names of the site's files, each with what makes it.

    Raises:
        LessonError: from what makes a lesson's page, where the lesson is broken.
    """
    yield "site.js", lambda: site_script().encode()
    yield "site.css", lambda: lesson_styles().encode()
    yield "index.html", lambda: _page(index_document(root=root), "Lessons", "index")
    for folder in folders(root):
        outline = read_outline(folder)
        for language in outline.languages:
            yield _lesson_name(outline.id, language), _lesson(folder, language, root)
    yield "interview.html", lambda: _page(room_document(_link), "Interview room", "room")
    for index, path in enumerate(bundled_files(recordings_folder())):
        name = "compare.html" if not index else f"compare-{path.stem}.html"
        yield name, lambda path=path: page_html(load(path)).encode()  # type: ignore[misc]
    yield "claims.html", _claims


def write_site(out: Path, on_file: Callable[[str, int], None], root: Path = FOLDER) -> int:
    """Write every file below `out`, each whole or not at all; returns how many bytes they are."""
    out.mkdir(parents=True, exist_ok=True)
    total = 0
    for name, make in site_files(root):
        data = make()
        write_atomically(out / name, data)
        total += len(data)
        on_file(name, len(data))
    return total


def _lesson(folder: Path, language: str, root: Path) -> Callable[[], bytes]:
    def make() -> bytes:
        document, problems = lesson_document(folder, language, _link, root)
        if document is None:
            raise LessonError(problems[0])
        names = {other: _lesson_name(document["id"], other) for other in document["languages"]}
        return _page(document | {"language_links": names}, document["title"], "", language)

    return make


def _link(kind: str, name: str) -> str:
    return _lesson_name(name, "en") if kind == "lesson" else _LINKS.get(kind, "")


def _lesson_name(name: str, language: str) -> str:
    return f"{name}.html" if language == "en" else f"{name}.{language}.html"


def _page(document: Document, title: str, here: str, language: str = "en") -> bytes:
    data = document_bytes(document | {"links": {**_LINKS, "lesson": ".html"}}).decode()
    script = (
        '<script type="application/json" id="data">' + data + "</script>\n"
        '<script src="site.js"></script>\n'
        '<script>openLessonPage(document.getElementById("page"), document.getElementById("data").textContent);</script>'
    )
    return _html(
        title, here, '<main id="page"><noscript>This page needs JavaScript.</noscript></main>\n' + script, language
    )


def _claims() -> bytes:
    rows = "".join(
        f"<tr><th scope='row'>{escape(claim.of)}</th><td>{escape(claim.words)}</td>"
        f"<td>{escape(claim.source_in_words)}</td><td>{claim.checked}</td></tr>"
        for claim in load_claims().values()
    )
    names = ("Of", "Figure", "Source", "Checked")
    head = f"<tr>{''.join(f'<th scope=col>{name}</th>' for name in names)}</tr>"
    table = f"<main class='mbl-claims'><h1>Claims</h1><table><thead>{head}</thead><tbody>{rows}</tbody></table></main>"
    return _html("Claims", "claims", table)


def _html(title: str, here: str, body: str, language: str = "en") -> bytes:
    links = "".join(
        f'<a href="{_LINKS[name]}"{" aria-current=page" if name == here else ""}>{words}</a>' for name, words in _NAMES
    )
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)} – Minibatch</title>\n"
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        f'<link rel="icon" href="data:,">\n<link rel="stylesheet" href="site.css">\n</head>\n<body class="mbl-site">\n'
        f'<nav class="mbl-nav" aria-label="Minibatch">{links}</nav>\n{body}\n</body>\n</html>\n'
    ).encode()
