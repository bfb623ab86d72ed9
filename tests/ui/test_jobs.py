"""The queue of runs: one at a time, in order, stoppable."""

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

from minibatch.recording.schema import Recording
from minibatch.ui.jobs import ABANDONED_AFTER_S, JobQueue, Status, Ticket
from tests.ui.recordings import static


def wait(ticket: Ticket) -> None:
    for _ in range(500):
        if ticket.finished:
            return
        time.sleep(0.01)
    raise TimeoutError(ticket.status)


def until_stopped(*, on_progress: Callable, should_stop: Callable[[], bool]) -> list[Recording]:
    on_progress(SimpleNamespace(policy="static", policy_index=1, num_policies=2, num_finished=1, num_requests=4))
    while not should_stop():
        time.sleep(0.005)
    return [static()]


def test_runs_wait_for_each_other() -> None:
    queue, gate = JobQueue(), threading.Event()

    def work(*, on_progress: Callable, should_stop: Callable[[], bool]) -> list[Recording]:
        gate.wait(5)
        return [static()]

    first, second = queue.submit(work), queue.submit(work)
    assert (queue.num_ahead(first), queue.num_ahead(second)) == (0, 1)
    gate.set()
    wait(second)
    assert first.status is second.status is Status.DONE
    assert len(first.recordings) == 1


def test_a_cancelled_run_keeps_what_it_recorded() -> None:
    queue = JobQueue()
    ticket = queue.submit(until_stopped)
    while ticket.progress is None:
        time.sleep(0.005)
    assert ticket.share_done == 0.625
    ticket.cancel()
    wait(ticket)
    assert ticket.status is Status.DONE
    assert len(ticket.recordings) == 1


def test_a_run_whose_page_has_gone_stops() -> None:
    ticket = Ticket(until_stopped)
    assert not ticket.should_stop()
    ticket.last_seen -= ABANDONED_AFTER_S + 1
    assert ticket.should_stop()


def test_a_failed_run_says_why_and_the_next_one_runs() -> None:
    def bad(*, on_progress: Callable, should_stop: Callable[[], bool]) -> list[Recording]:
        raise ValueError("there is no model 'x': choose bundled")

    def broken(*, on_progress: Callable, should_stop: Callable[[], bool]) -> list[Recording]:
        raise RuntimeError("out of memory")

    queue = JobQueue()
    tickets = [queue.submit(work) for work in (bad, broken)]
    wait(tickets[1])
    assert [ticket.status for ticket in tickets] == [Status.FAILED, Status.FAILED]
    assert tickets[0].error == "there is no model 'x': choose bundled"
    assert tickets[1].error == "The run failed (RuntimeError): out of memory"
