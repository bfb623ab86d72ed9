"""The queue of runs: one at a time, in order, stoppable, watched while they go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from minibatch.recording.part import RecordingPart, part_of
from minibatch.recording.schema import Recording
from minibatch.ui.shared import jobs
from minibatch.ui.shared.jobs import ABANDONED_AFTER_S, SNAPSHOT_EVERY_S, JobQueue, JobStatus, Ticket
from tests.ui.recordings import continuous, static


class Clock:
    """Time that passes when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: self.now))


def wait(ticket: Ticket) -> None:
    end = time.monotonic() + 10
    while not ticket.finished:
        assert time.monotonic() < end, ticket.status
        time.sleep(0.002)


def nothing(**hooks: Any) -> list[Recording]:
    return [static()]


def test_runs_wait_for_each_other() -> None:
    queue, gate, order = JobQueue(), threading.Event(), []

    def work(name: str) -> Callable[..., list[Recording]]:
        def run(**hooks: Any) -> list[Recording]:
            order.append(f"{name} begins")
            assert gate.wait(10)
            order.append(f"{name} ends")
            return [static()]

        return run

    tickets = [queue.submit(work(name)) for name in ("a", "b", "c")]
    assert [queue.num_ahead(ticket) for ticket in tickets] == [0, 1, 2]
    assert not tickets[2].finished
    gate.set()
    wait(tickets[2])
    assert order == ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]
    assert [ticket.status for ticket in tickets] == [JobStatus.DONE] * 3
    assert [len(ticket.recordings) for ticket in tickets] == [1] * 3
    assert len({ticket.key for ticket in tickets}) == 3


def test_a_cancelled_run_keeps_what_it_recorded() -> None:
    queue, going, stopped = JobQueue(), threading.Event(), threading.Event()

    def work(*, on_progress: Callable[[Any], None], should_stop: Callable[[], bool], **rest: Any) -> list[Recording]:
        on_progress(SimpleNamespace(policy="static", policy_index=1, num_policies=2, num_finished=1, num_requests=4))
        assert not should_stop()
        going.set()
        assert stopped.wait(10)
        assert should_stop()
        return [static()]

    ticket = queue.submit(work)
    assert going.wait(10)
    assert ticket.share_done == 0.625
    ticket.cancel()
    stopped.set()
    wait(ticket)
    assert (ticket.status, ticket.error) == (JobStatus.DONE, "")
    assert len(ticket.recordings) == 1


def test_a_run_that_is_cancelled_in_the_queue_never_starts() -> None:
    queue, gate = JobQueue(), threading.Event()
    started = []

    def first(**hooks: Any) -> list[Recording]:
        assert gate.wait(10)
        return [static()]

    def second(**hooks: Any) -> list[Recording]:
        started.append(True)
        return [static()]

    queue.submit(first)
    ticket = queue.submit(second)
    ticket.cancel()
    gate.set()
    wait(ticket)
    assert (started, ticket.status, ticket.recordings) == ([], JobStatus.DONE, [])


def test_a_run_whose_tab_is_closed_stops_but_not_when_it_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, tab = Clock(monkeypatch), {"open": True}
    ticket = Ticket(nothing, is_open=lambda: tab["open"])
    clock.now += 10 * ABANDONED_AFTER_S  # a page that does not look still has its run
    assert not ticket.should_stop()
    tab["open"] = False
    clock.now += ABANDONED_AFTER_S
    assert not ticket.should_stop()
    tab["open"] = True
    assert not ticket.should_stop()
    tab["open"] = False
    clock.now += ABANDONED_AFTER_S + 1
    assert ticket.should_stop()


def test_a_snapshot_is_taken_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    ticket, taken = Ticket(nothing), []

    def take() -> list[RecordingPart]:
        taken.append(clock.now)
        return [part_of(static())]

    for _ in range(100):  # of 10 ms each
        ticket.offer_snapshot(take)
        clock.now += 0.01
    assert len(taken) == 4
    gaps = [after - before for before, after in pairwise(taken)]
    assert all(SNAPSHOT_EVERY_S <= gap < SNAPSHOT_EVERY_S + 0.02 for gap in gaps)
    assert len(ticket.parts) == 4


def test_a_slow_snapshot_leaves_the_run_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause counts from the end of a snapshot."""
    clock = Clock(monkeypatch)
    ticket, taken = Ticket(nothing), []

    def take() -> list[RecordingPart]:
        taken.append(clock.now)
        clock.now += 5
        return [part_of(static())]

    ticket.offer_snapshot(take)
    ticket.offer_snapshot(take)
    assert len(taken) == 1
    clock.now += SNAPSHOT_EVERY_S + 0.01
    ticket.offer_snapshot(take)
    assert len(taken) == 2


def test_a_run_in_progress_shows_its_snapshot_and_then_its_result() -> None:
    queue, offered, gate = JobQueue(), threading.Event(), threading.Event()
    partial, whole = [part_of(static())], [static(), continuous()]

    def work(*, on_snapshot: Callable[..., None], **rest: Any) -> list[Recording]:
        on_snapshot(lambda: partial)
        offered.set()
        assert gate.wait(10)
        return whole

    ticket = queue.submit(work)
    assert offered.wait(10)
    assert ticket.status is JobStatus.RUNNING
    assert ticket.parts == partial
    gate.set()
    wait(ticket)
    assert (ticket.recordings, ticket.parts) == (whole, [])


def test_a_failed_run_says_why_and_the_next_one_runs(caplog: pytest.LogCaptureFixture) -> None:
    def bad(**hooks: Any) -> list[Recording]:
        raise ValueError("there is no model 'x': choose bundled")

    def broken(**hooks: Any) -> list[Recording]:
        raise RuntimeError("out of memory")

    def torn(*, on_snapshot: Callable[..., None], **rest: Any) -> list[Recording]:
        def take() -> list[RecordingPart]:
            raise MemoryError("no room for a snapshot")

        on_snapshot(take)
        return [static()]

    queue = JobQueue()
    tickets = [queue.submit(work) for work in (bad, broken, torn, nothing)]
    wait(tickets[-1])
    assert [ticket.status for ticket in tickets] == [JobStatus.FAILED] * 3 + [JobStatus.DONE]
    assert [ticket.error for ticket in tickets] == [
        "there is no model 'x': choose bundled",
        "The run failed (RuntimeError): out of memory",
        "The run failed (MemoryError): no room for a snapshot",
        "",
    ]
    # What nobody foresaw is told to whoever runs the server, what the user can mend is not.
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [RuntimeError, MemoryError]


def test_a_run_of_nothing_has_done_nothing() -> None:
    ticket = Ticket(nothing)
    assert ticket.share_done == 0
    ticket.progress = SimpleNamespace(policy="static", policy_index=0, num_policies=0, num_finished=0, num_requests=0)
    assert ticket.share_done == 0
