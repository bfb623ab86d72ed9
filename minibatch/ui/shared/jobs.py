"""Engine runs, one at a time: a queue and one worker thread that every browser of this server shares."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from queue import Queue
from typing import Any, Protocol
from uuid import uuid4

from minibatch.recording.part import RecordingPart
from minibatch.recording.schema import Recording

SNAPSHOT_EVERY_S = 0.3
"""A page that watches a run sees what happened so long ago, and a little more."""

ABANDONED_AFTER_S = 10.0
"""A run is stopped when its tab has been closed for so long: a connection that breaks comes back sooner."""


Take = Callable[[], Sequence[RecordingPart]]


class Progress(Protocol):
    """How far a run is, as the engine reports it."""

    @property
    def policy(self) -> str: ...
    @property
    def policy_index(self) -> int: ...
    @property
    def num_policies(self) -> int: ...
    @property
    def num_finished(self) -> int: ...
    @property
    def num_requests(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Done:
    """How far work is that serves no policy: so many of so many parts."""

    num_finished: int
    num_requests: int
    policy: str = ""
    policy_index: int = 0
    num_policies: int = 1


class Work(Protocol):
    """A run: reports its progress, stops when told, returns what it has recorded until then.

    `on_snapshot` is offered a way to take what was recorded since the last time, between two iterations.
    """

    def __call__(
        self,
        *,
        on_progress: Callable[[Progress], None],
        should_stop: Callable[[], bool],
        on_snapshot: Callable[[Take], None],
    ) -> list[Recording]: ...


class JobStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(eq=False, slots=True)
class Ticket:
    """One run in the queue. The worker writes it, pages read it.

    Attributes:
        key: its name among all runs.
        recordings: what was recorded once the run has finished; of a cancelled one, until then.
        parts: of a run in progress, what was recorded until a moment ago. It only grows.
        error: why it failed, as a sentence.
        is_open: whether the tab that asked for it is still open; any thread may ask.
    """

    work: Work
    key: str = field(default_factory=lambda: uuid4().hex)
    status: JobStatus = JobStatus.QUEUED
    progress: Progress | None = None
    recordings: list[Recording] = field(default_factory=list)
    parts: list[RecordingPart] = field(default_factory=list)
    error: str = ""
    cancelled: bool = False
    is_open: Callable[[], bool] = lambda: True
    last_open: float = field(default_factory=time.monotonic)
    last_snapshot: float = 0.0

    @property
    def finished(self) -> bool:
        return self.status in (JobStatus.DONE, JobStatus.FAILED)

    @property
    def share_done(self) -> float:
        """0 to 1, over all policies."""
        progress = self.progress
        if progress is None or not progress.num_requests:
            return 0.0
        share = progress.policy_index + progress.num_finished / progress.num_requests
        return min(1.0, share / max(1, progress.num_policies))

    def cancel(self) -> None:
        """Stop at the next iteration, or never start."""
        self.cancelled = True

    def offer_snapshot(self, take: Take) -> None:
        """Take what was recorded since the last time, if that is long enough ago."""
        if time.monotonic() - self.last_snapshot >= SNAPSHOT_EVERY_S:
            self.parts.extend(take())
            self.last_snapshot = time.monotonic()

    def should_stop(self) -> bool:
        now = time.monotonic()
        if self.is_open():
            self.last_open = now
        return self.cancelled or now - self.last_open > ABANDONED_AFTER_S


class JobQueue:
    """Runs tickets in the order in which they came, in one thread that never touches a page.

    A daemon thread, and no ThreadPoolExecutor: Python waits for the threads of one at exit, so that a server which is
    stopped would go on until its run is done.
    """

    def __init__(self) -> None:
        self._queue: Queue[Ticket] = Queue()
        self._lock = threading.Lock()
        self._ahead: list[Ticket] = []
        threading.Thread(target=self._serve, name="engine", daemon=True).start()

    def submit(self, work: Work, is_open: Callable[[], bool] = lambda: True) -> Ticket:
        """Queue a run; `is_open` as for `Ticket`."""
        ticket = Ticket(work, is_open=is_open)
        with self._lock:
            self._ahead.append(ticket)
        self._queue.put(ticket)
        return ticket

    def num_ahead(self, ticket: Ticket) -> int:
        """Runs that must finish before this one starts."""
        with self._lock:
            return self._ahead.index(ticket) if ticket in self._ahead else 0

    def _serve(self) -> None:
        while True:
            ticket = self._queue.get()
            self._run(ticket)
            with self._lock:
                self._ahead.remove(ticket)

    def _run(self, ticket: Ticket) -> None:
        if ticket.should_stop():
            ticket.status = JobStatus.DONE
            return
        ticket.status = JobStatus.RUNNING

        def on_progress(progress: Progress) -> None:
            ticket.progress = progress

        try:
            ticket.recordings = ticket.work(
                on_progress=on_progress, should_stop=ticket.should_stop, on_snapshot=ticket.offer_snapshot
            )
            ticket.parts = []
            ticket.status = JobStatus.DONE
        except ValueError as error:
            ticket.error = str(error)
            ticket.status = JobStatus.FAILED
        except Exception as error:
            logging.getLogger(__name__).exception("a run failed")
            ticket.error = f"The run failed ({type(error).__name__}): {error}"
            ticket.status = JobStatus.FAILED


def run_on_engine(
    job: dict[str, Any],
    *,
    on_progress: Callable[[Progress], None],
    should_stop: Callable[[], bool],
    on_snapshot: Callable[[Take], None],
) -> list[Recording]:
    """Run what `RunForm.job` describes, with its `config`."""
    # Only the worker imports the engine: opening the app must not import torch.
    from minibatch.engine.session import run_job
    from minibatch.ui.shared.engine_job import engine_job

    with engine_job(job) as prepared:
        return run_job(prepared, on_progress, should_stop, on_snapshot)
