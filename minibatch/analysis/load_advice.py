"""Whether a comparison had enough load to tell its policies apart."""

from __future__ import annotations

from collections.abc import Sequence

from minibatch.analysis.formats import percent, three_figures
from minibatch.recording.schema import Recording

LITTLE = 0.05
"""Runs that are busy for a smaller share of their time serve each request alone, whatever the policy."""
_ENOUGH = 0.5


def busy_share(recordings: Sequence[Recording]) -> float | None:
    """The largest share of its time in which one of the runs ran an iteration, from 0 to 1; None if none ran."""
    ran = [run for run in recordings if run.end_ns]
    return max((float(run.iterations["duration_ns"].sum()) / run.end_ns for run in ran), default=None)


def too_little_load(recordings: Sequence[Recording]) -> str:
    """A sentence where the machine idles nearly all the time under every policy; "" where it does not."""
    busy = busy_share(recordings)
    if busy is None or busy >= LITTLE:
        return ""
    faster = three_figures(float(f"{_ENOUGH / busy:.1g}"))
    return (
        f"Too little load to tell policies apart: busy {percent(busy)} % of the time at most. "
        f"Requests that arrive {faster} times as fast would keep it busy half of it"
    )
