"""What is wrong with a lesson: the file, the line, and what was expected there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_LONGEST = 600
"""Characters of a sentence."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend.

    Attributes:
        line: from 1; 0 where it is about the file as a whole.
        expected: a sentence that says what should stand there.
    """

    path: Path
    line: int
    expected: str

    def __str__(self) -> str:
        where = f"{self.path}, line {self.line}" if self.line else f"{self.path}"
        said = self.expected  # may quote the file, which may hold anything
        return f"{where}: {said if len(said) <= _LONGEST else said[: _LONGEST // 2] + ' … ' + said[-_LONGEST // 2 :]}"


class LessonError(ValueError):
    """A lesson that can't be shown; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem
