"""How the time of a run passes: computed and jumping over idle time, or as on the wall."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from minibatch.workload.request import NANOSECONDS


class RunClock(Protocol):
    """Nanoseconds from the start of a run.

    Attributes:
        is_wall: time passes whatever the engine does.
    """

    is_wall: bool

    def end_of(self, start_ns: int, duration_ns: int) -> int:
        """When an iteration is over that began at `start_ns` and should last `duration_ns`."""
        ...

    def wait(self, until_ns: int | None) -> None:
        """Let the time pass until `until_ns`, or until woken; None: until woken."""
        ...

    def has_reached(self, time_ns: int) -> bool:
        """Whether that time has come; call after `wait`."""
        ...

    def wake(self) -> None:
        """End a wait, or the next one. Any thread may call it."""
        ...


class JumpingClock:
    """Time is the sum of durations, and idle time takes none."""

    is_wall = False

    def end_of(self, start_ns: int, duration_ns: int) -> int:
        return start_ns + duration_ns

    def wait(self, until_ns: int | None) -> None:
        if until_ns is None:
            raise RuntimeError("this clock can't wait for requests that other threads send: use a WallClock")

    def has_reached(self, time_ns: int) -> bool:
        return True

    def wake(self) -> None:
        """It never waits."""


class WallClock:
    """Time as it passes. An iteration lasts as long as it takes, and at least as long as its executor says.

    So a modelled run goes at the pace of the modelled device.

    Args:
        now: a monotonic clock, in nanoseconds.
        sleep: sleeps for so many seconds.
        wait: waits on an event for so many seconds, None for as long as it takes.
    """

    is_wall = True

    def __init__(
        self,
        now: Callable[[], int] = time.perf_counter_ns,
        sleep: Callable[[float], None] = time.sleep,
        wait: Callable[[threading.Event, float | None], object] = threading.Event.wait,
    ) -> None:
        self._now, self._sleep, self._wait = now, sleep, wait
        self._began_ns = now()
        self._woken = threading.Event()

    def read(self) -> int:
        """Nanoseconds since the clock was made."""
        return self._now() - self._began_ns

    def end_of(self, start_ns: int, duration_ns: int) -> int:
        due_ns = start_ns + duration_ns
        while (left_ns := due_ns - self.read()) > 0:
            self._sleep(left_ns / NANOSECONDS)
        return self.read()

    def wait(self, until_ns: int | None) -> None:
        left_ns = None if until_ns is None else until_ns - self.read()
        if left_ns is None or left_ns > 0:
            self._wait(self._woken, None if left_ns is None else left_ns / NANOSECONDS)
        # Cleared before the caller looks at what there is: what comes after that ends the next wait.
        self._woken.clear()

    def has_reached(self, time_ns: int) -> bool:
        return self.read() >= time_ns

    def wake(self) -> None:
        self._woken.set()
