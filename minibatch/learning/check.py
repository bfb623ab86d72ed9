"""The check of lessons: that they can be shown, and that runs say what they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from minibatch.learning.errors import LessonError, Problem
from minibatch.learning.lesson import Outline, compile_lesson, file_of, folders, read_outlines
from minibatch.learning.markup import Piece, read_source
from minibatch.learning.room import EXERCISES, QUESTIONS, read_exercises, read_questions
from minibatch.learning.text import to_html
from minibatch.paths import LESSONS


def check_lessons(root: Path = LESSONS, names: Iterable[str] = ()) -> Iterator[tuple[Path, list[Problem]]]:
    """Every file of a lesson, and what is wrong with it; all of them, or those of some folders or ids.

    Raises:
        ValueError: there is no lesson of that name.
    """
    wanted, outlines = set(names), {each.folder: each for each in read_outlines(root)[0]}
    missing = set(wanted)
    for folder in folders(root):
        outline = outlines.get(folder)
        own = {folder.name, outline.id if outline else ""}
        if wanted and not wanted & own:
            continue
        missing -= own
        for language in outline.languages if outline else ("en",):
            yield file_of(folder, language), check_file(folder, language, outlines)
    if missing:
        raise ValueError(f"there is no lesson {sorted(missing)[0]!r} in {root}")


def check_file(folder: Path, language: str, outlines: dict[Path, Outline]) -> list[Problem]:
    """What is wrong with one file."""
    path, ids = file_of(folder, language), [each.id for each in outlines.values()]

    def href(lesson_id: str) -> str:
        if lesson_id not in ids:
            raise ValueError(f"a link leads to lesson {lesson_id!r}: expected one of {', '.join(ids)}")
        return lesson_id

    lesson, problems = compile_lesson(folder, language, href)
    outline = outlines.get(folder)
    if lesson is None or outline is None:
        return problems + (check_translation(file_of(folder, "en"), path) if language != "en" else [])
    for needed in lesson.outline.prerequisites:
        if needed not in ids:
            problems.append(Problem(path, 1, f"prerequisite {needed!r}: expected the id of a lesson"))
    if language == "en":
        if ids.count(outline.id) > 1:
            problems.append(Problem(path, 1, f"id {outline.id!r} is another lesson's: expected a unique one"))
        return problems
    if lesson.outline.id != outline.id:
        problems.append(Problem(path, 1, f"id is {lesson.outline.id!r}: expected {outline.id!r}, as in English"))
    return problems + check_translation(file_of(folder, "en"), path)


def check_translation(english: Path, path: Path) -> list[Problem]:
    """The first block of a translation that is another than in English: answers are kept by the places of blocks."""
    try:
        theirs, ours = read_source(english).pieces, read_source(path).pieces
    except LessonError:
        return []  # said where the file itself is checked
    for expected, found in zip_longest(theirs, ours):
        if expected is None:
            return [Problem(path, found.line, f"expected no more blocks: {english.name} has {len(theirs)}")]
        wanted, where = _form(expected), f"as in {english.name}, line {expected.line}"
        if found is None:
            line = ours[-1].line if ours else 1
            return [Problem(path, line, f"expected another block after this one: {wanted}, {where}")]
        if _form(found) != wanted:
            return [Problem(path, found.line, f"this is {_form(found)}: expected {wanted}, {where}")]
    return []


def _form(piece: Piece) -> str:
    """What a block has in every language: its kind, and of a question its type and what there is to choose or order."""
    if piece.kind != "quiz":
        return piece.kind
    form = f"quiz ({piece.fields.get('type', 'choice')})"
    options, items = piece.fields.get("options"), piece.fields.get("items")
    if isinstance(items, list):
        return f"{form} of {len(items)} items"
    if not isinstance(options, list):
        return form
    right = [str(at) for at, option in enumerate(options, 1) if isinstance(option, dict) and option.get("right")]
    return f"{form} of {len(options)} options of which right: {', '.join(right)}"


def check_room() -> Iterator[tuple[Path, list[Problem]]]:
    """The interview room's files, and what is wrong with each: its form, its figures, and what runs contradict."""
    for path, check in ((EXERCISES, _check_exercises), (QUESTIONS, _check_questions)):
        try:
            yield path, check()
        except LessonError as error:
            yield path, [error.problem]


def _check_exercises() -> list[Problem]:
    read_exercises()
    return []


def _check_questions() -> list[Problem]:
    problems = []
    for question in read_questions():
        experiment, figures = question.experiment, question.figures
        texts = [question.ask, question.answer, *question.rubric, *([experiment.caption] if experiment else [])]
        try:
            for text in texts:
                to_html(text, figures, str)
            for condition in experiment.check if experiment else ():
                if not figures.holds(condition):
                    raise ValueError(f"the run contradicts the answer: `{condition}` does not hold")
        except ValueError as error:
            problems.append(Problem(QUESTIONS, question.line, f"{question.id}: {error}"))
    return problems
