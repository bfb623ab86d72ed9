"""What turns a plan into tokens and seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from minibatch.engine.costs import Costs
from minibatch.recording.schema import Clock
from minibatch.scheduling.plan import Plan


@dataclass(frozen=True, slots=True)
class Result:
    """What one iteration gave.

    Attributes:
        token_ids: the sampled token of every sequence with `samples`, by request id.
        duration_ns: how long the iteration took on the executor's clock, in nanoseconds.
        host_ns: the scheduler's part beside it, where a recorded iteration is repeated.
        costs: the work of the iteration, from an executor that counts it anyway.
    """

    token_ids: dict[int, int]
    duration_ns: int
    host_ns: int = 0
    costs: Costs | None = None


class Executor(Protocol):
    """Runs plans. `TorchExecutor` computes them; `RooflineExecutor` computes how long they take."""

    @property
    def clock(self) -> Clock: ...

    @property
    def device(self) -> str:
        """In words: what the durations are durations of."""
        ...

    def execute(self, plan: Plan) -> Result: ...
