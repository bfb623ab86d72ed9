"""Work for the queue: the points of a sweep, in as many processes as there are cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import sha256

from minibatch.analysis.slo import Slo
from minibatch.analysis.summary_metrics import summary_goodput
from minibatch.analysis.sweeps.file import SweepRow, row_of
from minibatch.analysis.sweeps.search import Search, highest_load
from minibatch.engine.sweep import Point, SweepSpec, executor_of, record_point, run_point, run_points
from minibatch.recording.schema import Recording
from minibatch.ui.shared.jobs import Done, Progress
from minibatch.workload.demand import Load

TOLERANCE = 0.05
"""How exactly the highest load is found, as a share of it."""
STUDIES = 4
"""Sweeps that a session remembers."""

Memory = dict[SweepSpec, dict[Point, SweepRow]]
"""The rows of the sweeps of a session: a point that was run once isn't run again."""


def processes() -> AbstractContextManager[Executor]:
    """Where points run: a process a core."""
    return executor_of("processes", num_workers())


def num_workers() -> int:
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Points and those of their rows that there are.

    Attributes:
        key: stays the same while spec and points do.
        rows: by point; a running sweep adds to them.
        slo: that came with them, of a file.
    """

    key: str
    spec: SweepSpec
    points: tuple[Point, ...]
    rows: dict[Point, SweepRow] = field(repr=False)
    slo: Slo | None = None

    @property
    def found(self) -> list[SweepRow]:
        """The rows that there are, in the order of the points."""
        return [self.rows[point] for point in self.points if point in self.rows]

    @property
    def missing(self) -> list[Point]:
        return [point for point in self.points if point not in self.rows]

    def __call__(
        self, *, on_progress: Callable[[Progress], None], should_stop: Callable[[], bool], on_snapshot: object
    ) -> list[Recording]:
        """Run what is missing; what is done when it is stopped stays."""
        missing, total = self.missing, len(self.points)
        on_progress(Done(total - len(missing), total))
        with processes() as executor:
            for point, outcome in run_points(self.spec, missing, executor, num_workers(), should_stop):
                self.rows[point] = row_of(point.policy, point.load, point.config, outcome)
                on_progress(Done(len(self.found), total))
        return []


def remembered(memory: Memory, spec: SweepSpec, points: tuple[Point, ...]) -> Sweep:
    """The sweep with the rows that `memory` has of it, and a place in it for the rest."""
    rows = memory.pop(spec, {})
    memory[spec] = rows  # as the latest
    while len(memory) > STUDIES:
        del memory[next(iter(memory))]
    return Sweep(sha256(repr((spec, points)).encode()).hexdigest(), spec, points, rows)


@dataclass(frozen=True, slots=True, eq=False)
class LoadSearch:
    """For each policy and choice of knobs: the highest load at which a share of the requests meets an SLO.

    Attributes:
        starts: a point of each, by its name; its load is the lowest that is tried.
        highest: and this the highest, in the same unit.
        share: of the requests that arrive, from 0 to 1.
        found: by name; a running search adds to them.
    """

    spec: SweepSpec
    starts: dict[str, Point]
    highest: float
    slo: Slo
    share: float
    found: dict[str, Search] = field(default_factory=dict)

    def __call__(
        self, *, on_progress: Callable[[Progress], None], should_stop: Callable[[], bool], on_snapshot: object
    ) -> list[Recording]:
        total = len(self.starts)
        on_progress(Done(0, total))
        with processes() as executor, ThreadPoolExecutor(num_workers()) as threads:
            searches = {
                name: threads.submit(self._search, executor, start, should_stop) for name, start in self.starts.items()
            }
            for name, search in searches.items():
                self.found[name] = search.result()
                on_progress(Done(len(self.found), total))
        return []

    def _search(self, executor: Executor, start: Point, should_stop: Callable[[], bool]) -> Search:
        def meets(value: float) -> bool:
            outcome = executor.submit(run_point, self.spec, _at(start, value)).result()
            return (summary_goodput(outcome, self.slo).attainment or 0.0) >= self.share

        return highest_load(meets, start.load.value, self.highest, TOLERANCE, should_stop)


def _at(point: Point, value: float) -> Point:
    load = point.load
    exact = value if load.kind == "rate" else round(value)
    return Point(point.policy, Load(load.kind, exact, load.burstiness, load.think_s), point.config)


@dataclass(frozen=True, slots=True)
class Record:
    """One point again, with all its iterations."""

    spec: SweepSpec
    point: Point

    def __call__(self, **_: object) -> list[Recording]:
        return [record_point(self.spec, self.point)]
