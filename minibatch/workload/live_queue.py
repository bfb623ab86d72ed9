"""Requests that other threads send while the engine runs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from minibatch.workload.request import Request, SamplingParams


class Alarm(Protocol):
    """The clock that stamps arrivals, and what wakes an engine that waits for one."""

    def read(self) -> int:
        """Nanoseconds since the run began."""
        ...

    def wake(self) -> None:
        """End the wait of the engine's thread, or the next one."""
        ...


class LiveQueue:
    """An `ArrivalSource` that any thread may fill; the engine's thread alone takes from it.

    Ids are given in order of arrival: 0, 1, 2, ... Arrivals carry the time of `put` on the clock.
    """

    def __init__(self, clock: Alarm) -> None:
        self.is_open = True
        self.num_requests = 0
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: deque[Request] = deque()

    @property
    def pending(self) -> Sequence[Request]:
        with self._lock:
            return tuple(self._pending)

    @property
    def next_ns(self) -> int | None:
        with self._lock:
            return self._pending[0].arrival_ns if self._pending else None

    def put(
        self, prompt_token_ids: tuple[int, ...] | range, sampling: SamplingParams, prompt: str | None = None
    ) -> int:
        """Send a request; returns its id.

        Raises:
            ValueError: the prompt is empty, or the queue is closed.
        """
        with self._lock:
            if not self.is_open:
                raise ValueError("the queue is closed: it takes no more requests")
            # Stamped under the lock, so that ids and times are in one order.
            request = Request(self.num_requests, prompt_token_ids, sampling, self._clock.read(), prompt)
            self._pending.append(request)
            self.num_requests += 1
        self._clock.wake()
        return request.request_id

    def close(self) -> None:
        """Take no more requests; the run ends once those that came have finished."""
        with self._lock:
            self.is_open = False
        self._clock.wake()

    def pop_arrived(self, now_ns: int) -> Request | None:
        with self._lock:
            if not self._pending or self._pending[0].arrival_ns > now_ns:
                return None
            return self._pending.popleft()

    def on_finished(self, now_ns: int) -> None:
        """Arrivals don't depend on it."""
