"""Markdown to HTML that is safe wherever it is shown: what stands in it as HTML is shown as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import escape

from markdown_it import MarkdownIt

from minibatch.learning.expressions import Figures

FIGURE = re.compile(r"\{\{([^{}]+)\}\}")
_LESSON = re.compile(r'href="lesson:([\w-]+)"')
_MARK = "\ue000"
"""From the private use area: no lesson needs it, and Markdown leaves it alone."""

_LONGEST, _MARKS, _MOST_MARKS = 8192, "[!*_`|<&", 400
"""Of a text: what stands open in Markdown is sought up to its end, so that work grows as the square of its marks."""

Href = Callable[[str], str]
"""Where a lesson stands, by its id."""


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def to_html(text: str, figures: Figures, href: Href, inline: bool = False) -> str:
    """`text` as HTML, its {{ figures }} computed and its [links](lesson:id) leading there.

    Raises:
        ValueError: a figure can't be computed, or a link leads nowhere; the sentence says what was expected.
    """
    shown: list[str] = []

    def mark(match: re.Match[str]) -> str:
        figure = figures.figure(match[1].strip())
        shown.append(f'<span class="mbl-figure" title="{escape(figure.standing)}">{escape(figure.words)}</span>')
        return f"{_MARK}{len(shown) - 1}{_MARK}"

    if len(text) > _LONGEST or sum(text.count(mark) for mark in _MARKS) > _MOST_MARKS:
        raise ValueError(
            f"a text has more than {_LONGEST:,} characters or {_MOST_MARKS} of {_MARKS}: expected it in parts, each "
            "with a block between them"
        )
    marked = FIGURE.sub(mark, text.replace(_MARK, ""))
    html = _markdown().renderInline(marked) if inline else _markdown().render(marked)
    html = re.sub(f"{_MARK}(\\d+){_MARK}", lambda match: shown[int(match[1])], html)
    return _LESSON.sub(lambda match: f'href="{escape(href(match[1]))}"', html)
