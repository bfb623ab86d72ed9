"""The interview room as the document that assets/lessons shows."""

from __future__ import annotations

from minibatch.learning.drills import make_drills
from minibatch.learning.expressions import Figures
from minibatch.learning.room import Question, read_exercises, read_questions
from minibatch.learning.schedule import exercise_dict
from minibatch.learning.text import to_html
from minibatch.learning.words import interface_words
from minibatch.ui.lessons.document import Document, Link, payload


def room_document(link: Link, language: str = "en") -> Document:
    """Every question, exercise and drill, and the runs that prove answers.

    Raises:
        LessonError: a file of the room is broken.
        ValueError: a figure in it can't be computed.
    """
    runs: dict[str, str] = {}
    plain = Figures({})
    return {
        "kind": "room",
        "language": language,
        "strings": dict(interface_words(language)),
        "exercises": [exercise_dict(each.exercise, each.title) for each in read_exercises()],
        "questions": [_question(each, runs, link) for each in read_questions()],
        "drills": [
            {
                "id": drill.id,
                "topic": drill.topic,
                "ask_html": to_html(drill.ask, plain, str, inline=True),
                "answer": drill.answer,
                "answer_words": drill.answer_words,
                "unit": drill.unit,
                "tolerance": drill.tolerance,
                "explain_html": to_html(drill.explain, plain, str, inline=True),
            }
            for drill in make_drills()
        ],
        "runs": runs,
    }


def _question(question: Question, runs: dict[str, str], link: Link) -> Document:
    figures, experiment = question.figures, question.experiment

    def html(text: str, inline: bool = False) -> str:
        return to_html(text, figures, lambda lesson_id: link("lesson", lesson_id, "en"), inline)

    shown = None
    if experiment:
        runs[question.id] = payload(experiment.run)
        shown = {"title": experiment.title, "run": question.id, "caption_html": html(experiment.caption, True)}
    return {
        "id": question.id,
        "topic": question.topic,
        "ask_html": html(question.ask, True),
        "seconds": question.seconds,
        "rubric": [html(idea, True) for idea in question.rubric],
        "answer_html": html(question.answer),
        "experiment": shown,
    }
