"""Requests whose clients have left, until the engine lets them go."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol


class Aborts(Protocol):
    """Where the engine learns between two iterations which requests to abort."""

    def put(self, request_id: int) -> None:
        """Abort a request as soon as it is there. Any thread may call it."""
        ...

    def has_any(self) -> bool:
        """Whether one of them may be due."""
        ...

    def take(self, num_arrived: int) -> Sequence[int]:
        """Those due now, in order; ids from `num_arrived` on have not arrived and stay."""
        ...


class AbortQueue:
    """Aborts in the order in which they were asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: list[int] = []

    def put(self, request_id: int) -> None:
        with self._lock:
            self._ids.append(request_id)

    def has_any(self) -> bool:
        return bool(self._ids)

    def take(self, num_arrived: int) -> Sequence[int]:
        if not self._ids:
            return ()
        with self._lock:
            due = [request_id for request_id in self._ids if request_id < num_arrived]
            self._ids = [request_id for request_id in self._ids if request_id >= num_arrived]
        return due
