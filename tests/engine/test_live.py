"""Serving on the wall clock: requests and aborts come while the engine runs or waits. Time is a test's own."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from minibatch.engine.loop import Engine
from minibatch.engine.replay import replay
from minibatch.engine.run_clock import WallClock
from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.request_state import FinishReason
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.live_queue import LiveQueue
from minibatch.workload.request import Request, SamplingParams
from tests.helpers import MS, SHAPE, CountingExecutor, header_of, requests_of

PROMPT = (1, 2, 3, 4)
THREE = SamplingParams(3, ignore_eos=True)


class World:
    """A clock on which the time passes only in sleeps and waits, and what happens at which ms of it."""

    def __init__(self) -> None:
        self.now = 0
        self.events: list[tuple[int, Callable[[], object]]] = []
        self.clock = WallClock(lambda: self.now, self.sleep, self.wait)
        self.source = LiveQueue(self.clock)

    def at(self, ms: float, event: Callable[[], object]) -> None:
        self.events.append((round(ms * MS), event))
        self.events.sort(key=lambda each: each[0])

    def put(self, ms: float, sampling: SamplingParams = THREE) -> None:
        self.at(ms, lambda: self.source.put(PROMPT, sampling))

    def engine(self, policy: str, config: SchedulerConfig | None = None) -> Engine:
        config = config or SchedulerConfig(max_num_seqs=2)
        return Engine(self.source, find_policy(policy), CountingExecutor(), config, SHAPE, clock=self.clock)

    def sleep(self, seconds: float) -> None:
        self._pass(self.now + round(seconds * 1e9), lambda: False)

    def wait(self, woken: threading.Event, seconds: float | None) -> None:
        if seconds is None:
            assert self.events or woken.is_set(), "the engine would wait for ever"
        self._pass(None if seconds is None else self.now + round(seconds * 1e9), woken.is_set)

    def _pass(self, until: int | None, is_over: Callable[[], bool]) -> None:
        while not is_over() and self.events and (until is None or self.events[0][0] <= until):
            time, event = self.events.pop(0)
            self.now = max(self.now, time)
            event()
        if until is not None and not is_over():
            self.now = max(self.now, until)


def test_requests_are_served_as_they_come_and_idle_time_passes():
    world = World()
    world.put(10)
    world.put(11)  # while the first is prefilled
    world.put(500)
    world.at(600, world.source.close)
    engine = world.engine("continuous")
    assert engine.run()
    assert world.now == 600 * MS, "it ends when the queue is closed"
    recording = engine.recording(header_of(engine))
    assert [request.arrival_ns / MS for request in recording.requests] == [10, 11, 500]
    assert [request.finish_reason for request in recording.requests] == ["length"] * 3
    starts, ends = recording.iterations["start_ns"], recording.end_of_iteration_ns
    # Back to back while there is work: 1 ms an iteration and 0.1 ms a token.
    assert [start / MS for start in starts] == [10, 11.4, 12.8, 14, 500, 501.4, 502.5]
    assert ends[-1] == 503.6 * MS
    with pytest.raises(ValueError, match="closed"):
        world.source.put(PROMPT, THREE)


def test_aborts_come_while_the_engine_runs_and_while_it_waits():
    world = World()
    config = SchedulerConfig(max_num_seqs=4, max_wait=0.1)
    engine = world.engine("dynamic", config)
    world.put(0)
    world.put(20)
    world.at(40, lambda: engine.abort(0))  # in the window
    world.at(122, lambda: engine.abort(1))  # while it writes
    world.at(300, world.source.close)
    assert engine.run()
    assert [request.finish_reason for request in engine.requests] == [FinishReason.ABORT] * 2
    assert len(engine.requests[0].output_token_ids) == 0
    assert 0 < len(engine.requests[1].output_token_ids) < 3
    recording = engine.recording(header_of(engine))
    assert recording.iterations["start_ns"][0] == 120 * MS, "the window of the one who stayed"
    replay(recording, recording.num_iterations)


def test_the_last_to_leave_an_idle_window_ends_the_run():
    world = World()
    engine = world.engine("dynamic", SchedulerConfig(max_wait=100.0))
    world.put(0)
    world.at(1, world.source.close)
    world.at(2, lambda: engine.abort(0))
    assert engine.run()
    assert world.now == 2 * MS


def test_known_arrivals_keep_their_times_on_the_wall_clock():
    world = World()
    source = arrival_source(requests_of([(4, 2), (4, 2, 50)]))
    config = SchedulerConfig()
    engine = Engine(source, find_policy("chunked"), CountingExecutor(), config, SHAPE, clock=world.clock)
    assert engine.run()
    jumping = Engine(
        arrival_source(requests_of([(4, 2), (4, 2, 50)])), find_policy("chunked"), CountingExecutor(), config, SHAPE
    )
    jumping.run()
    header = header_of(engine)
    assert engine.recording(header).iterations["start_ns"].tolist() == (
        jumping.recording(header).iterations["start_ns"].tolist()
    )


def test_many_threads_fill_one_queue():
    """On the real clock: ids in order of arrival, none lost, and all are served."""
    clock = WallClock(sleep=lambda seconds: None)
    source = LiveQueue(clock)
    engine = Engine(source, find_policy("continuous"), CountingExecutor(), SchedulerConfig(), SHAPE, clock=clock)
    given: list[int] = []

    def send() -> None:
        for k in range(20):
            request_id = source.put(PROMPT, SamplingParams(1 + k % 3, ignore_eos=True))
            given.append(request_id)
            if k % 4 == 0:
                engine.abort(request_id)

    threads = [threading.Thread(target=send) for _ in range(4)]
    worker = threading.Thread(target=engine.run)
    worker.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    source.close()
    worker.join(30)
    assert not worker.is_alive()
    assert sorted(given) == list(range(80))
    assert [request.request_id for request in engine.requests] == list(range(80))
    arrivals = [request.request.arrival_ns for request in engine.requests]
    assert arrivals == sorted(arrivals)
    assert all(request.finish_reason is not None for request in engine.requests)


def test_a_clock_that_jumps_serves_no_live_queue():
    source = LiveQueue(WallClock())
    engine = Engine(source, find_policy("static"), CountingExecutor(), SchedulerConfig(), SHAPE)
    with pytest.raises(RuntimeError, match="use a WallClock"):
        engine.run()


def test_a_request_is_checked_before_it_gets_an_id():
    source = LiveQueue(WallClock())
    with pytest.raises(ValueError, match="empty prompt"):
        source.put((), THREE)
    assert source.put(PROMPT, THREE, "text") == 0
    (request,) = source.pending
    assert isinstance(request, Request)
    assert request.prompt == "text"
