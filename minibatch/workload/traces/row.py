"""One request of a trace, the numbers it is read from, and what a format is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from minibatch.workload.request import LONGEST_TOKENS
from minibatch.workload.traces.file import TraceFile

CountTokens = Callable[[str], int]


class TraceError(ValueError):
    """A file that is no trace, or not a sound one; the message says where and what to do."""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One request: when it arrived, in seconds from the trace's start, and how long it was.

    `hash_ids` has one number a block of its prompt, where the trace says which prompts begin alike.
    """

    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    hash_ids: tuple[int, ...] = ()


class TraceFormat(Protocol):
    """A way in which traces are written.

    Attributes:
        title: what such a trace is called in a sentence.
        from_first: times are of a clock of its own; the trace starts with its first request.
    """

    title: str
    from_first: bool

    def fits(self, head: str) -> bool:
        """Whether a file that begins like this is such a trace."""
        ...

    def rows(self, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
        """The requests in the file's order, times in seconds; ValueError says what is wrong in the current line."""
        ...


def tokens_in(text: str, file: TraceFile, count_tokens: CountTokens | None) -> int:
    """How many tokens a text of the file has; ValueError where there is no tokenizer."""
    if count_tokens is None:
        raise ValueError("holds texts, and their lengths depend on a tokenizer: choose a model that has one")
    file.notes.has_texts = True
    # Lone halves of surrogate pairs occur in the wild, and no tokenizer takes them.
    return count_tokens(text.encode(errors="replace").decode())


def tokens(value: object, name: str, least: int = 1) -> int:
    """A length as a file has it: a whole number or its digits; ValueError names the field."""
    count = value
    if isinstance(value, str):
        digits = value.strip()
        if digits.isascii() and digits.isdigit() and len(digits) < 20:
            count = int(digits)
    if type(count) is not int or not least <= count <= LONGEST_TOKENS:
        raise ValueError(f"{name} is {shown(value)}: use a whole number from {least} to {LONGEST_TOKENS:,}")
    return count


def seconds(value: object, name: str) -> float:
    """A time as a file has it: a number or its digits; ValueError names the field."""
    try:
        if isinstance(value, bool | None):
            raise TypeError
        time = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        time = math.nan
    if not 0 <= time < 1e15:
        raise ValueError(f"{name} is {shown(value)}: use a number, 0 or more")
    return time


def shown(value: object) -> str:
    """`value` short enough for a sentence."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
