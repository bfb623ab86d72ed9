"""Lessons and the interview room as the documents that assets/lessons shows, in the app and in the static site."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from minibatch.analysis.formats import plural
from minibatch.learning import values
from minibatch.learning.blocks import Block
from minibatch.learning.errors import Problem
from minibatch.learning.expressions import Figures
from minibatch.learning.lesson import Lesson, Outline, compile_lesson, file_of, read_outlines
from minibatch.learning.run_spec import Spec, policies_of
from minibatch.learning.text import to_html
from minibatch.learning.words import interface_words
from minibatch.paths import LESSONS
from minibatch.recording.schema import Recording
from minibatch.ui.lessons.charts import chart_spec, chart_table
from minibatch.ui.player.payload import pack

Document = dict[str, Any]
Link = Callable[[str, str, str], str]
"""Where a page of a kind ("lesson", "index", "room", "run") stands, by its id and language; "" where there is none."""


def lesson_document(
    folder: Path, language: str, link: Link, root: Path = LESSONS
) -> tuple[Document | None, list[Problem]]:
    """A lesson as a document; None, and what is wrong with it, where it can't be shown."""
    outlines, _ = read_outlines(root, language)
    known = {outline.id: outline for outline in outlines}

    def href(lesson_id: str) -> str:
        return link("lesson", lesson_id, known[lesson_id].language if lesson_id in known else "en")

    lesson, problems = compile_lesson(folder, language, href)
    if lesson is None:
        return None, problems
    position = list(known).index(lesson.outline.id)
    payloads: dict[str, str] = {}
    try:
        goals = _goals(lesson.outline)
        blocks = [_shown(block, lesson, payloads, link) for block in lesson.blocks]
    except ValueError as error:
        return None, [Problem(file_of(folder, language), 1, str(error))]
    return {
        "kind": "lesson",
        "id": lesson.outline.id,
        "title": lesson.outline.title,
        "minutes": lesson.outline.minutes,
        "language": language,
        "languages": list(lesson.outline.languages),
        "prerequisites": [_reference(known[each]) for each in lesson.outline.prerequisites if each in known],
        "goals": goals,
        "previous": _reference(outlines[position - 1]) if position else None,
        "next": _reference(outlines[position + 1]) if position + 1 < len(outlines) else None,
        "strings": dict(interface_words(language)),
        "blocks": blocks,
        "runs": payloads,
    }, []


def index_document(language: str = "en", root: Path = LESSONS) -> Document:
    """All lessons, in `language` where they have it, and in a sentence each those that can't be shown."""
    outlines, problems = read_outlines(root, language)
    lessons = []
    for outline in outlines:
        try:
            goals = _goals(outline)
        except ValueError as error:
            problems.append(Problem(file_of(outline.folder, outline.language), 1, str(error)))
            continue
        lessons.append(
            {
                "id": outline.id,
                "title": outline.title,
                "language": outline.language,
                "minutes": outline.minutes,
                "prerequisites": list(outline.prerequisites),
                "goals": goals,
            }
        )
    return {
        "kind": "index",
        "language": language,
        "languages": languages_of(outlines),
        "lessons": lessons,
        "problems": [str(each) for each in problems],
        "strings": dict(interface_words(language)),
    }


def languages_of(outlines: list[Outline]) -> list[str]:
    """Every language that some lesson has, English first."""
    return ["en", *sorted({each for outline in outlines for each in outline.languages} - {"en"})]


def document_bytes(document: Document) -> bytes:
    """As JSON that can stand in a page: what could end a script there is written otherwise."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").encode()


def payload(spec: Spec, policies: list[str] | None = None) -> str:
    """A run for the player, in base64."""
    runs = [values.recording(spec, policy) for policy in policies_of(spec) if policies is None or policy in policies]
    options: dict[str, Any] = {"id": "lesson", "link": None}
    if "requests" in spec:  # they come from no file and no scenario that a title could name
        options |= {"title": plural(len(spec["requests"]), "request"), "watch": ""}
    return base64.b64encode(pack(_checked(runs), options)).decode()


def _checked(runs: list[Recording]) -> list[Recording]:
    if not runs:
        raise ValueError("a player shows none of the run's policies: expected some of them")
    return runs


def _shown(block: Block, lesson: Lesson, payloads: dict[str, str], link: Link) -> Block:
    """A block with what only the page needs."""
    if block["kind"] == "chart":
        kept = {name: block[name] for name in ("kind", "key", "line", "title", "caption_html", "lies")}
        return {**kept, "spec": chart_spec(block), "table": chart_table(block, interface_words(lesson.language))}
    if block["kind"] == "player":
        options = dict(block["options"])
        policies = options.pop("policies", None)
        name = " ".join([block["run"], *(policies or ())])
        if name not in payloads:
            payloads[name] = payload(lesson.runs[block["run"]], policies)
        shown = {**block, "run": name, "options": options}
        again = shown.pop("again")
        return {**shown, "run_here": link("run", urlencode(again), lesson.language)} if again else shown
    return block


def _goals(outline: Outline) -> list[str]:
    figures = Figures(outline.runs, outline.language)
    return [to_html(goal, figures, str, inline=True) for goal in outline.goals]


def _reference(outline: Outline) -> dict[str, str]:
    return {"id": outline.id, "title": outline.title, "language": outline.language}


def lesson_folder(lesson_id: str, root: Path = LESSONS) -> Path | None:
    """The folder of a lesson by its id."""
    return next((outline.folder for outline in read_outlines(root)[0] if outline.id == lesson_id), None)


def last_change(folder: Path, language: str) -> float:
    """When the lesson's file was last written, for caches."""
    return file_of(folder, language).stat().st_mtime
