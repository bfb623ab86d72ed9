"""Where the engine gets its requests from while its clock runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Protocol

from minibatch.workload.arrivals import ClosedLoop
from minibatch.workload.request import LONGEST_S, NANOSECONDS, Request

NOT_YET_NS = LONGEST_S * NANOSECONDS
"""In place of the arrival of a closed loop's request that has not been sent yet."""


class ArrivalSource(Protocol):
    """Hands out requests as they arrive, numbered 0, 1, 2, ... in order of arrival."""

    @property
    def num_requests(self) -> int:
        """Requests known so far, arrived or not: ids below it have been given."""
        ...

    @property
    def pending(self) -> Sequence[Request]:
        """Those known and still to arrive, in order."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether requests may still come of which nothing is known yet."""
        ...

    @property
    def next_ns(self) -> int | None:
        """When the next one arrives, as far as that is known now; None if it is not."""
        ...

    def pop_arrived(self, now_ns: int) -> Request | None:
        """The next request, if it has arrived by `now_ns`."""
        ...

    def on_finished(self, now_ns: int) -> None:
        """A request has been answered or rejected at `now_ns`."""
        ...


class OpenArrivals:
    """Requests at the times that they carry.

    Raises:
        ValueError: they are not numbered in order of arrival.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        ordered = sorted(requests, key=lambda request: request.arrival_ns)
        _check_numbers(ordered)
        self._pending = deque(ordered)
        self.num_requests = len(ordered)
        self.is_open = False

    @property
    def pending(self) -> Sequence[Request]:
        return self._pending

    @property
    def next_ns(self) -> int | None:
        return self._pending[0].arrival_ns if self._pending else None

    def pop_arrived(self, now_ns: int) -> Request | None:
        if not self._pending or self._pending[0].arrival_ns > now_ns:
            return None
        return self._pending.popleft()

    def on_finished(self, now_ns: int) -> None:
        """Arrivals don't depend on it."""


class ClosedLoopArrivals:
    """Requests in order of number, each sent when a user has thought; the times that they carry don't count.

    Raises:
        ValueError: they are not numbered 0, 1, 2, ...
    """

    def __init__(self, requests: Sequence[Request], loop: ClosedLoop) -> None:
        _check_numbers(requests)
        self._pending = deque(replace(request, arrival_ns=NOT_YET_NS) for request in requests)
        self.num_requests = len(self._pending)
        self.is_open = False
        self._think_ns = loop.think_ns
        self._sends_ns = [0] * loop.num_users
        """A heap: when each user that waits for no answer sends the next request."""

    @property
    def pending(self) -> Sequence[Request]:
        return self._pending

    @property
    def next_ns(self) -> int | None:
        return self._sends_ns[0] if self._pending and self._sends_ns else None

    def pop_arrived(self, now_ns: int) -> Request | None:
        next_ns = self.next_ns
        if next_ns is None or next_ns > now_ns:
            return None
        return replace(self._pending.popleft(), arrival_ns=heappop(self._sends_ns))

    def on_finished(self, now_ns: int) -> None:
        heappush(self._sends_ns, now_ns + self._think_ns)


def arrival_source(requests: Sequence[Request], loop: ClosedLoop | None = None) -> ArrivalSource:
    """What hands out `requests`: at their own times, or as the users of `loop` send them."""
    return OpenArrivals(requests) if loop is None else ClosedLoopArrivals(requests, loop)


def _check_numbers(requests: Sequence[Request]) -> None:
    if [request.request_id for request in requests] != list(range(len(requests))):
        raise ValueError("requests must be numbered 0, 1, 2, ... in order of arrival")
