"""The knee of a load sweep: where more load stops bringing more throughput."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from minibatch.recording.schema import Column

FOLLOWS = 0.9
"""Open loop: throughput follows a load if it is at least this share of it."""
PLATEAU = 0.95
"""Closed loop: a concurrency is on the plateau if it has at least this share of its throughput."""
SEEN_OVER = 1.25
"""Closed loop: how many times the knee the highest concurrency must be, to tell a plateau from a slope."""

Numbers = Sequence[float] | Column


class Found(StrEnum):
    """Whether there is a knee; the value is what the screen says."""

    KNEE = "the knee is within the range"
    BEYOND = "no knee within the range: throughput still rises at the highest load"
    BEFORE = "already past the knee at the lowest load"
    UNKNOWN = "too few loads or too few requests to tell a knee from chance"


@dataclass(frozen=True, slots=True)
class Knee:
    """What a sweep says of its knee.

    Attributes:
        found: whether there is one.
        index: its place among the loads; None where there is none.
        load, throughput, latency: what was given for that place, in the units given; likewise None.
    """

    found: Found
    index: int | None = None
    load: float | None = None
    throughput: float | None = None
    latency: float | None = None


def open_loop_knee(load: Numbers, throughput: Numbers, latency: Numbers) -> Knee:
    """The highest load that throughput follows: the one before the first at which it is below 90 % of it.

    By flow balance: a queue that is stable lets out as many requests as come in, one that is not
    lets out fewer, and the difference piles up (Lazowska et al., Quantitative System Performance,
    1984, chapter 3). The tenth leaves room for the chance of a finite run. Points of largest
    curvature (Kneedle) are no help here: they exist on any bent curve, saturated or not, and move
    with the range that was swept.

    The share that is followed falls with load, so a running median of three leaves a curve without
    noise as it is, while a single odd run moves the knee by one place at most. Below the lowest
    load everything is taken to follow, above the highest nothing.

    Args:
        load: (loads,) offered, rising; requests/s.
        throughput: (loads,) served over the same time, in the same unit: see `summary_rates`.
        latency: (loads,) any latency in any unit, reported at the knee; NaN where there is none.

    Raises:
        ValueError: fewer than two loads, columns of different lengths, loads that do not rise from
            above 0, or a throughput that is negative or no number.
    """
    loads, served, latencies = _columns(load, throughput, latency)
    behind = np.flatnonzero(_median_of_three(served / loads, np.inf, -np.inf) < FOLLOWS)
    if not len(behind):
        return Knee(Found.BEYOND)
    return _at(int(behind[0]) - 1, loads, served, latencies)


def closed_loop_knee(users: Numbers, throughput: Numbers, latency: Numbers) -> Knee:
    """The lowest concurrency that has 95 % of the plateau's throughput.

    The plateau is the highest running median of three, so a peak that no neighbour shares is taken
    for noise. It counts only if it was seen up to 1.25 times the knee: over a shorter stretch a
    throughput that rises with every user looks just as flat.

    Args:
        users: (loads,) requests in flight or users, rising.
        throughput: (loads,) in any unit.
        latency: as for `open_loop_knee`.

    Raises:
        ValueError: as `open_loop_knee`.
    """
    loads, served, latencies = _columns(users, throughput, latency)
    smooth = _median_of_three(served, -np.inf, np.inf)
    index = int(np.argmax(smooth >= PLATEAU * smooth.max()))
    if loads[-1] < SEEN_OVER * loads[index]:
        return Knee(Found.BEYOND)
    # At the lowest concurrency of all, it is unknown whether half of it would do.
    return _at(index if index else -1, loads, served, latencies)


def _at(index: int, loads: Column, served: Column, latencies: Column) -> Knee:
    if index < 0:
        return Knee(Found.BEFORE)
    return Knee(Found.KNEE, index, float(loads[index]), float(served[index]), float(latencies[index]))


def _median_of_three(values: Column, before: float, after: float) -> Column:
    """Each value's median with its neighbours; `before` and `after` stand beside the ends."""
    padded = np.concatenate([[before], values, [after]])
    return np.median([padded[:-2], padded[1:-1], padded[2:]], axis=0)


def _columns(load: Numbers, throughput: Numbers, latency: Numbers) -> tuple[Column, Column, Column]:
    loads, served, latencies = (np.asarray(values, dtype=float) for values in (load, throughput, latency))
    if not len(loads) == len(served) == len(latencies):
        raise ValueError(
            f"{len(loads)} loads, {len(served)} throughputs and {len(latencies)} latencies: give one of each a load"
        )
    if len(loads) < 2:
        raise ValueError("a knee shows only between loads: sweep two or more")
    if not (loads[0] > 0 and np.isfinite(loads).all() and (np.diff(loads) > 0).all()):
        raise ValueError("loads must rise from above 0: sort them, and give each once")
    if not (np.isfinite(served).all() and (served >= 0).all()):
        raise ValueError("a throughput is negative or not a number: leave out loads that did not run")
    return loads, served, latencies
