"""All that lessons and the interview room show of runs, computed anew: what `VALUES` is made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from minibatch.learning.errors import LessonError
from minibatch.learning.lesson import folders, read_outline
from minibatch.learning.values import Asked, computing
from minibatch.paths import LESSONS
from minibatch.ui.lessons.document import lesson_document
from minibatch.ui.lessons.room_document import room_document


def compute_shown(on_document: Callable[[str], None], root: Path = LESSONS) -> Asked:
    """Make every document, calling `on_document` with the name of each before it is made.

    Raises:
        LessonError: a lesson or the room is broken.
        ValueError: a figure of the room can't be computed.
    """
    with computing() as asked:
        for folder in folders(root):
            for language in read_outline(folder).languages:
                on_document(f"{folder.name}, {language}")
                document, problems = lesson_document(folder, language, _no_link, root)
                if document is None:
                    raise LessonError(problems[0])
        on_document("interview room")
        room_document(_no_link)
    return asked


def _no_link(kind: str, name: str, language: str) -> str:
    return ""
