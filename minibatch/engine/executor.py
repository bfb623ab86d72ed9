"""What turns a plan into tokens and seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from minibatch.recording.schema import Clock
from minibatch.roofline.costs import Costs
from minibatch.roofline.decode_cost import DecodeCost
from minibatch.scheduling.plan import Plan


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
        durations: nanoseconds of each; none is shorter than the one before it.
        starts: when each began, nanoseconds on the run's clock.
        end_ns: when the last one ended.
        kind: what they have in common.
        contexts: KV entries that each of them read.
        token_id: what every request generated in each of them.
    """

    durations: Sequence[int]
    starts: Sequence[int]
    end_ns: int
    kind: DecodeCost
    contexts: Sequence[int]
    token_id: int


class Executor(Protocol):
    """Runs plans. `TorchExecutor` computes them; `RooflineExecutor` computes how long they take."""

    @property
    def clock(self) -> Clock: ...

    @property
    def device(self) -> str:
        """In words: what the durations are durations of."""
        ...

    def execute(self, plan: Plan) -> Result: ...

    def forget(self, request_id: int) -> None:
        """Drop what is kept of a swapped request that will not come back."""
        ...
