"""What turns a plan into tokens and seconds."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from minibatch.engine.costs import Costs, Operator, sums_of
from minibatch.recording.schema import Clock
from minibatch.scheduling.plan import Plan

Ints = npt.NDArray[np.int64]


class Result(NamedTuple):
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


class RunResult(NamedTuple):
    """What a run of iterations gave in which only the context grows.

    Attributes:
        durations: (num_steps,) nanoseconds; none is shorter than the one before it.
        starts: (num_steps,) when each began, nanoseconds on the run's clock.
        end_ns: when the last one ended.
        parts: the work that is the same in all, and that which grows, for num_steps iterations or more.
        token_id: what every request wrote in each of them.
    """

    durations: Ints
    starts: Ints
    end_ns: int
    parts: tuple[Operator, Operator]
    token_id: int

    def costs(self) -> Ints:
        """(4, num_steps) FLOPs, and bytes of weights, KV and activations."""
        return sums_of(self.parts, len(self.durations))


class Executor(Protocol):
    """Runs plans. `TorchExecutor` computes them; `RooflineExecutor` computes how long they take."""

    @property
    def clock(self) -> Clock: ...

    @property
    def device(self) -> str:
        """In words: what the durations are durations of."""
        ...

    def execute(self, plan: Plan) -> Result: ...
