"""Requests whose clients have left, until the engine lets them go."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from minibatch.decisions.reasons import Code
from minibatch.engine.recorder import Recorder
from minibatch.recording.schema import CODES, Recording


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


class RecordedAborts(AbortQueue):
    """Requests leave where they are recorded to have left, and others may leave beside them.

    That is behind so many reasons, or, once the run goes another way, at the beginning of the same iteration.
    """

    def __init__(self, recording: Recording, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        reasons = recording.reasons
        rows = np.flatnonzero(reasons["code"] == CODES.index(Code.ABORTED)).tolist()
        self._to_come = deque((int(reasons["iteration"][row]), row, int(reasons["request"][row])) for row in rows)

    def has_any(self) -> bool:
        return bool(self._to_come) or super().has_any()

    def take(self, num_arrived: int) -> Sequence[int]:
        here = (self._recorder.num_iterations, self._recorder.num_reasons)
        # One at a time: the next one stands behind the reason that this one leaves.
        if self._to_come and self._to_come[0][:2] <= here:
            self.put(self._to_come.popleft()[2])
        return super().take(num_arrived)
