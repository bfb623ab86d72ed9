"""The static site: every lesson, the interview room, the comparison and the claims, for any host or a USB stick."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from minibatch.analysis.registry.claims import load_claims
from minibatch.learning.errors import LessonError
from minibatch.learning.lesson import folders, read_outline, read_outlines
from minibatch.learning.words import interface_words
from minibatch.paths import LESSONS
from minibatch.recording.schema import Recording
from minibatch.recording.storage import load, write_atomically
from minibatch.ui.lessons.document import Document, document_bytes, index_document, languages_of, lesson_document
from minibatch.ui.lessons.room_document import room_document
from minibatch.ui.player.bundle import lesson_styles, site_script
from minibatch.ui.player.page import page_html
from minibatch.ui.shared.sources import bundled_files, recordings_folder
from minibatch.ui.shared.summary import title

Files = Iterator[tuple[str, Callable[[], bytes]]]
_LINKS = {"index": "index.html", "room": "interview.html", "compare": "compare.html", "claims": "claims.html"}
_NAMES = {"index": "lessons", "room": "room", "compare": "compare", "claims": "claims"}
"""The strings that name the pages."""
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' file:; style-src 'self' 'unsafe-inline' file:; "
    "img-src data: blob: 'self'; media-src blob:; connect-src data: blob:"
)
"""Nothing is loaded from elsewhere, and the browser holds the page to it."""


def site_files(root: Path = LESSONS) -> Files:
    """Names of the site's files, each with what makes it.

    Raises:
        LessonError: from what makes a lesson's page, where the lesson is broken.
    """
    yield "site.js", lambda: site_script().encode()
    yield "site.css", lambda: lesson_styles().encode()
    for language in languages_of(read_outlines(root)[0]):
        yield _link("index", "", language), _index(language, root)
    for folder in folders(root):
        outline = read_outline(folder)
        for language in outline.languages:
            yield _link("lesson", outline.id, language), _lesson(folder, language, root)
    yield "interview.html", lambda: _page(room_document(_link), "room")
    runs = {
        f"compare-{path.stem}.html" if index else _LINKS["compare"]: load(path)
        for index, path in enumerate(bundled_files(recordings_folder()))
    }
    for name in runs:
        yield name, _compare(name, runs)
    yield "claims.html", _claims


def write_site(out: Path, on_file: Callable[[str, int], None], root: Path = LESSONS) -> int:
    """Make every file, and then write them below `out`, each whole or not at all; returns how many bytes they are.

    Raises:
        LessonError: a lesson is broken; then nothing is written.
    """
    files = {}
    for name, make in site_files(root):
        files[name] = make()
        on_file(name, len(files[name]))
    out.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_atomically(out / name, data)
    return sum(map(len, files.values()))


def _compare(here: str, runs: Mapping[str, Sequence[Recording]]) -> Callable[[], bytes]:
    """One recording's page, with links to the rest of the site and to the other recordings."""
    words = interface_words()
    site = [(words[key], "" if kind == "compare" else _LINKS[kind]) for kind, key in _NAMES.items()]
    recordings = [(title(run[0].header), "" if name == here else name) for name, run in runs.items()]
    return lambda: page_html(runs[here], links=(site, recordings)).encode()


def _lesson(folder: Path, language: str, root: Path) -> Callable[[], bytes]:
    def make() -> bytes:
        document, problems = lesson_document(folder, language, _link, root)
        if document is None:
            raise LessonError(problems[0])
        return _page(document, "")

    return make


def _index(language: str, root: Path) -> Callable[[], bytes]:
    return lambda: _page(index_document(language, root), "index")


def _link(kind: str, name: str, language: str) -> str:
    """Lessons and their list have a page in every language; the others are English."""
    if kind not in ("lesson", "index"):
        return _LINKS.get(kind, "")
    return f"{name if kind == 'lesson' else 'index'}{'' if language == 'en' else f'.{language}'}.html"


def _page(document: Document, here: str) -> bytes:
    language = document["language"]
    words = interface_words(language)
    data = document_bytes(document | {"links": _LINKS}).decode()
    script = (
        '<script type="application/json" id="data">' + data + "</script>\n"
        '<script src="site.js"></script>\n'
        '<script>openLessonPage(document.getElementById("page"), document.getElementById("data").textContent);</script>'
    )
    main = f'<main id="page"><noscript>{escape(words["no_script"])}</noscript></main>\n'
    heading = document.get("title") or words[_NAMES[here]]
    return _html(heading, here, main + script, language)


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
    words = interface_words(language)
    links = "".join(
        f'<a href="{_link(name, "", language)}"{" aria-current=page" if name == here else ""}>{escape(words[key])}</a>'
        for name, key in _NAMES.items()
    )
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)} – Minibatch</title>\n"
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        f'<link rel="icon" href="data:,">\n<link rel="stylesheet" href="site.css">\n</head>\n<body class="mbl-site">\n'
        f'<nav class="mbl-nav" aria-label="Minibatch">{links}</nav>\n{body}\n</body>\n</html>\n'
    ).encode()
