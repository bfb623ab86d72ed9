"""One number to work out in the head, and what the questions about such numbers share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from minibatch.analysis.formats import three_figures
from minibatch.analysis.registry.accelerators import Accelerator, load_accelerators
from minibatch.analysis.registry.models import load_models
from minibatch.roofline.costs import ModelShape

EXACT, ROUNDED, ESTIMATED, COUNTED = 1.02, 1.1, 1.2, 1.35
"""Tolerances: of a sum, of one with rounded inputs, of a step's time, of a prefill's FLOPs."""
LARGE = 6e9
"""Parameters from which the embedding is a small part of a model."""
GB, KIB = 1e9, 1024.0


@dataclass(frozen=True, slots=True)
class Drill:
    """One number to work out.

    Attributes:
        id: says what is asked, so that it is the same for the same question however the drills are drawn.
        ask: the question, with every figure that it takes.
        answer: in `unit`.
        answer_words: the answer to three figures, with its unit.
        tolerance: a factor: right from answer / tolerance to answer * tolerance.
        explain: the way there.
    """

    id: str
    topic: str
    ask: str
    answer: float
    answer_words: str
    unit: str
    tolerance: float
    explain: str


def make_drill(topic: str, key: str, ask: str, answer: float, unit: str, tolerance: float, explain: str) -> Drill:
    """A drill whose answer is shown as it is, if it is whole, or to three figures."""
    words = f"{answer:,} {unit}" if isinstance(answer, int) else f"{three_figures(answer)} {unit}"
    return Drill(_id(f"{topic}-{key}"), topic, ask, answer, words, unit, tolerance, explain)


def _id(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower())


def shapes(weight_dtype: str = "bfloat16", kv_dtype: str | None = None) -> Iterator[tuple[str, ModelShape]]:
    """Every registered model with its name."""
    for name, model in load_models().items():
        yield name, model.shape(weight_dtype, kv_dtype)


def large_pairs(weight_dtype: str = "bfloat16") -> Iterator[tuple[str, ModelShape, Accelerator]]:
    """Large models on accelerators whose memory holds them with a tenth to spare."""
    for name, shape in shapes(weight_dtype):
        for accelerator in load_accelerators().values():
            if shape.num_parameters > LARGE and shape.weight_bytes < 0.9 * accelerator.memory_bytes:
                yield name, shape, accelerator


def fact(accelerator: Accelerator, *fields: str) -> str:
    """An accelerator with some figures of its data sheet in brackets after its title."""
    claims = [getattr(accelerator, field) for field in fields]
    words = [f"{claim.words} ({claim.standing})" if claim.standing else claim.words for claim in claims]
    return f"{_article(accelerator.title)} {accelerator.title} with {' and '.join(words)}"


def _article(name: str) -> str:
    """By how the first letter is said: an H100, a T4."""
    return "an" if name[0] in "AEFHILMNORSX" else "a"


def counted(number: float, noun: str) -> str:
    """0.5 bytes, 1 byte."""
    return f"{number:g} {noun}{'' if number == 1 else 's'}"


def size_of(shape: ModelShape) -> str:
    """A model's parameters, in words."""
    return f"{three_figures(shape.num_parameters / 1e9)} billion parameters"
