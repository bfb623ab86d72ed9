"""The highest load that still meets an SLO, found with few runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

_FINEST = 0.001


class SearchEnd(StrEnum):
    """How a search ended; the value is what the screen says."""

    FOUND = "found"
    LOWEST_FAILS = "even the lowest load does not meet it"
    HIGHEST_MEETS = "even the highest load meets it"
    STOPPED = "stopped before it was found"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One load that was tried."""

    load: float
    meets: bool


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found.

    Attributes:
        load: the highest load known to meet the SLO, in the unit of the search; None if none is.
        outcome: why the search ended.
        evaluations: every load that was tried, in order.
    """

    load: float | None
    outcome: SearchEnd
    evaluations: tuple[Evaluation, ...]

    @property
    def fails_at(self) -> float | None:
        """The lowest load that was seen to fail; None if none was."""
        return min((tried.load for tried in self.evaluations if not tried.meets), default=None)


class _StopError(Exception):
    """The caller wants no more evaluations."""


def highest_load(
    meets: Callable[[float], bool],
    low: float,
    high: float,
    tolerance: float = 0.05,
    should_stop: Callable[[], bool] = lambda: False,
) -> Search:
    """The highest load from `low` to `high` that meets an SLO, within `tolerance`.

    Doubles the load from `low` until one fails, then halves the interval between the last that met
    and the first that failed, on a logarithmic scale, until they are at most a factor of
    1 + `tolerance` apart. If all loads up to some threshold meet, and none above it,
    load ≤ threshold < load · (1 + tolerance).

    Where the results are not monotone, the search errs to the low side: it never goes back above a
    load that failed, so that every load it tried up to its answer met, and the next one above that
    it tried did not. It can't see a load that fails between two that it tried and that met.

    Args:
        meets: runs one load and says whether it meets the SLO. Called once for each load.
        tolerance: a share, 0.05 for 5 %.
        should_stop: asked before each evaluation; True ends the search with what is known.

    Raises:
        ValueError: not 0 < `low` ≤ `high` and finite, or `tolerance` not from 0.001 to 1.
    """
    if not (0 < low <= high and math.isfinite(high)):
        raise ValueError(f"loads from {low:g} to {high:g}: use numbers above 0, the lower one first")
    if not _FINEST <= tolerance <= 1:
        raise ValueError(f"tolerance is {tolerance:g}: use a share from {_FINEST:g} to 1")
    tried: list[Evaluation] = []

    def keeps(load: float) -> bool:
        if should_stop():
            raise _StopError
        tried.append(Evaluation(load, bool(meets(load))))
        return tried[-1].meets

    try:
        outcome = _climb(keeps, low, high, tolerance)
    except _StopError:
        outcome = SearchEnd.STOPPED
    load = max((evaluation.load for evaluation in tried if evaluation.meets), default=None)
    return Search(load, outcome, tuple(tried))


def _climb(keeps: Callable[[float], bool], low: float, high: float, tolerance: float) -> SearchEnd:
    if not keeps(low):
        return SearchEnd.LOWEST_FAILS
    good = low
    while good < high:
        bad = min(2 * good, high)
        if not keeps(bad):
            _bisect(keeps, good, bad, tolerance)
            return SearchEnd.FOUND
        good = bad
    return SearchEnd.HIGHEST_MEETS


def _bisect(keeps: Callable[[float], bool], good: float, bad: float, tolerance: float) -> None:
    while bad > good * (1 + tolerance):
        middle = good * math.sqrt(bad / good)
        if keeps(middle):
            good = middle
        else:
            bad = middle
