"""Numbers as people read them: at most three significant figures, always with a unit beside them."""

from __future__ import annotations

import math

from minibatch.workload.request import NANOSECONDS
from minibatch.workload.words import plural as plural

NOTHING = "–"


def three_figures(value: float | None) -> str:
    """`value` to at most three significant figures, without an exponent; a dash for None."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    rounded = float(f"{value:.2e}")
    digits = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(0, digits)}f}"


def count(value: float | None) -> str:
    """A whole number, every digit of it; a dash for None."""
    return NOTHING if value is None else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """A share from 0 to 1 in whole per cent, with one decimal below ten."""
    if share is None:
        return NOTHING
    value = share * 100
    return f"{value:.0f}" if value >= 9.95 or value == 0 else f"{value:.1f}"


def seconds(nanoseconds: float) -> str:
    """A time on the run's clock, in seconds with their unit."""
    return f"{three_figures(nanoseconds / NANOSECONDS)} s"


def duration(nanoseconds: float) -> str:
    """A length of time in the unit that suits it: 0.84 ms, 61.5 ms, 1.46 s."""
    if nanoseconds < NANOSECONDS:
        return f"{three_figures(nanoseconds / 1e6)} ms"
    return seconds(nanoseconds)
