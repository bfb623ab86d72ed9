"""Questions of a lesson, with what is right: stated by the author, and held against runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minibatch.learning.expressions import Figures
from minibatch.learning.fields import Fields
from minibatch.learning.schedule import exercise_dict, solve
from minibatch.learning.words import in_unit

Html = Callable[[str], str]
_TYPES = ("choice", "order", "number", "schedule")


def quiz_block(fields: Fields, figures: Figures, html: Html) -> dict[str, Any]:
    """A question with its answer.

    Raises:
        ValueError: a field is missing or wrong, or a run contradicts the answer; the sentence says which.
    """
    kind = fields.one_of("type", _TYPES, "choice")
    for condition in fields.items("check", 0, ()):
        if not figures.holds(str(condition)):
            raise ValueError(f"the run contradicts the answer: `{condition}` does not hold")
    block = {"type": kind, "ask_html": html(fields.text("ask")), "explain_html": html(fields.text("explain"))}
    make = {"choice": _choice, "order": _order, "number": _number, "schedule": _schedule}[kind]
    return block | make(fields, figures, html)


def _choice(fields: Fields, figures: Figures, html: Html) -> dict[str, Any]:
    options = []
    for given in fields.items("options", 2):
        option = Fields("an option", given if isinstance(given, dict) else {"text": given})
        right = option.flag("right")
        options.append(
            {"html": html(option.text("text")), "right": right, "why_html": html(option.text("why", "")) or ""}
        )
        option.end()
    if not any(option["right"] for option in options) or all(option["right"] for option in options):
        raise ValueError("expected at least one option with `right: true`, and one without")
    return {"options": options}


def _order(fields: Fields, figures: Figures, html: Html) -> dict[str, Any]:
    items = fields.items("items", 2)
    by = [figures.number(each) for each in fields.items("by", 0, ())]
    if by and len(by) != len(items):
        raise ValueError(f"by has {len(by)} expressions for {len(items)} items: expected one an item")
    for first, second, less, more in zip(items, items[1:], by, by[1:], strict=False):
        if not less < more:
            raise ValueError(f"the run contradicts the order: {first!r} has {less:.4g}, {second!r} {more:.4g}")
    return {"items": [html(str(item)) for item in items]}


def _number(fields: Fields, figures: Figures, html: Html) -> dict[str, Any]:
    unit = fields.text("unit", " ").strip()
    figure = figures.figure(fields.text("answer"))
    tolerance = fields.number("tolerance", 1.1)
    if figure.value <= 0 or not 1 < tolerance <= 10:
        raise ValueError("expected an answer above 0, and a tolerance, a factor above 1 and up to 10")
    words = in_unit(figure.words, unit)
    return {"answer": figure.value, "answer_words": words, "unit": unit, "tolerance": tolerance}


def _schedule(fields: Fields, figures: Figures, html: Html) -> dict[str, Any]:
    requests = []
    for row in fields.items("requests"):
        if not isinstance(row, list) or len(row) not in (2, 3) or not all(isinstance(part, int) for part in row):
            raise ValueError(f"{row!r} is no request: expected [arrival step, output tokens]")
        requests.append((row[0], row[-1]))
    policy = fields.one_of("policy", ("static", "continuous"))
    return {"schedule": exercise_dict(solve(requests, policy, int(fields.number("slots"))))}
