"""Small schedules to draw by hand: what the real engine does with them, cell by cell, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minibatch.decisions.phase import Phase
from minibatch.engine.executor import Result
from minibatch.engine.loop import Engine
from minibatch.recording.schema import Clock
from minibatch.roofline.costs import Costs, ModelShape
from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.request import NANOSECONDS, Request, SamplingParams

PAD = "pad"
"""A slot that is held for a request that has finished."""
IDLE = ""
"""A slot that no request holds."""
POLICIES = ("static", "continuous")

_MOST_REQUESTS, _MOST_SLOTS, _MOST_STEPS = 12, 8, 60
_TINY = ModelShape(n_layer=1, n_embd=1, n_head=1, n_kv_head=1, vocab_size=2, n_inner=1)


@dataclass(frozen=True, slots=True)
class ExerciseRequest:
    """One request of an exercise.

    Attributes:
        id: "r0", "r1", … in order of arrival.
        arrival: the step in which it can run first.
        output: tokens that it generates, so the steps for which it runs: its prompt takes one step,
            which generates the first token.
    """

    id: str
    arrival: int
    output: int


@dataclass(frozen=True, slots=True)
class Exercise:
    """A schedule to draw, and the engine's own.

    Attributes:
        policy: "static", or "continuous" with new prompts beside the decodes (Orca's way).
        solution: by step and slot a request's id, `PAD` or `IDLE`; (steps, slots).
        reasons: likewise, a sentence that says why.
    """

    policy: str
    slots: int
    requests: tuple[ExerciseRequest, ...]
    solution: tuple[tuple[str, ...], ...]
    reasons: tuple[tuple[str, ...], ...]


class _UnitExecutor:
    """Every iteration takes one step, which is a second of the engine's clock."""

    clock: Clock = "modelled"
    device = "a clock of steps"

    def execute(self, plan: Plan) -> Result:
        tokens = {seq.request.request_id: 0 for seq in plan.seqs if seq.samples}
        return Result(tokens, NANOSECONDS, costs=Costs())

    def forget(self, request_id: int) -> None:
        """It keeps nothing of requests."""


def solve(requests: Sequence[tuple[int, int]], policy: str, slots: int) -> Exercise:
    """What the engine does with `requests`: (arrival step, output tokens), in order of arrival.

    The request that has waited longest is admitted first, to the lowest free slot. One that arrives at a step can
    run in it.

    Raises:
        ValueError: the exercise is none that fits on a whiteboard; the sentence says what was expected.
    """
    _check(requests, policy, slots)
    asked = tuple(ExerciseRequest(f"r{k}", arrival, output) for k, (arrival, output) in enumerate(requests))
    rows = _rows(asked, policy, slots)
    if len(rows) > _MOST_STEPS:
        raise ValueError(f"the exercise takes {len(rows)} steps: expected at most {_MOST_STEPS}")
    reasons = _ReasonsByCell(asked, policy, rows).all()
    return Exercise(policy, slots, asked, tuple(rows), reasons)


def _check(requests: Sequence[tuple[int, int]], policy: str, slots: int) -> None:
    if policy not in POLICIES:
        raise ValueError(f"the policy of an exercise is {policy!r}: expected {' or '.join(POLICIES)}")
    if not 1 <= slots <= _MOST_SLOTS:
        raise ValueError(f"an exercise has {slots} slots: expected 1 to {_MOST_SLOTS}")
    if not 1 <= len(requests) <= _MOST_REQUESTS:
        raise ValueError(f"an exercise has {len(requests)} requests: expected 1 to {_MOST_REQUESTS}")
    for arrival, output in requests:
        if not (0 <= arrival < _MOST_STEPS and 1 <= output <= _MOST_STEPS):
            raise ValueError(
                f"a request arrives at step {arrival} and generates {output} tokens: "
                f"expected a step from 0 to {_MOST_STEPS - 1}, and 1 to {_MOST_STEPS} tokens"
            )
    if list(requests) != sorted(requests, key=lambda request: request[0]):
        raise ValueError("the requests of an exercise must be in order of arrival")


def _rows(asked: Sequence[ExerciseRequest], policy: str, slots: int) -> list[tuple[str, ...]]:
    """What each slot does in each step, by the engine."""
    longest = 1 + max(request.output for request in asked)
    config = SchedulerConfig(
        max_num_seqs=slots,
        max_num_batched_tokens=slots * longest,
        max_model_len=longest,
        block_size=1,
        num_kv_blocks=slots * longest,
        watermark=0.0,
        mix_prefill=True,
    )
    requests = [
        Request(k, (0,), SamplingParams(each.output, ignore_eos=True), each.arrival * NANOSECONDS)
        for k, each in enumerate(asked)
    ]
    rows: list[tuple[str, ...]] = []

    def on_step(engine: Engine, plan: Plan) -> None:
        if not plan.seqs:
            return
        cells = [IDLE] * slots
        for seq in plan.seqs:
            cells[seq.slot] = PAD if seq.phase is Phase.PADDING else asked[seq.request.request_id].id
        for slot, _, phase in plan.held:
            cells[slot] = PAD if phase is Phase.PADDING else cells[slot]
        step = engine.state.now_ns // NANOSECONDS - 1
        rows.extend([(IDLE,) * slots] * (step - len(rows)))  # steps in which no request was there
        rows.append(tuple(cells))

    Engine(arrival_source(requests), find_policy(policy), _UnitExecutor(), config, _TINY).run(on_step)
    return rows


class _ReasonsByCell:
    """Why each cell of a finished schedule holds what it holds, in plain words."""

    def __init__(self, asked: Sequence[ExerciseRequest], policy: str, rows: Sequence[Sequence[str]]) -> None:
        self._asked = asked
        self._is_static = policy == "static"
        self._rows = rows
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        for step, row in enumerate(rows):
            for cell in row:
                self._first.setdefault(cell, step)
                self._last[cell] = step

    def all(self) -> tuple[tuple[str, ...], ...]:
        steps, slots = range(len(self._rows)), range(len(self._rows[0]))
        return tuple(tuple(self._cell(step, slot) for slot in slots) for step in steps)

    def _cell(self, step: int, slot: int) -> str:
        cell = self._rows[step][slot]
        if cell == PAD:
            return self._pad(step, slot)
        if cell == IDLE:
            return self._idle(step)
        request = next(each for each in self._asked if each.id == cell)
        if step > self._first[cell]:
            return f"{cell} generates token {step - self._first[cell] + 1} of {request.output}"
        return self._entry(request, step, slot)

    def _entry(self, request: ExerciseRequest, step: int, slot: int) -> str:
        done = f"{request.id} runs its prompt and generates token 1 of {request.output}"
        waited = step - request.arrival
        if not waited:
            return f"{request.id} arrives and slot {slot} is the lowest free one: {done}"
        since = f"it has waited since step {request.arrival}"
        if self._is_static:
            return f"the last batch is over and a new one begins: {request.id} joins, {since}; {done}"
        return f"{self._before(step, slot)} has left slot {slot} and {request.id} is next, {since}: {done}"

    def _pad(self, step: int, slot: int) -> str:
        gone = self._before(step, slot)
        return f"{gone} finished at step {self._last[gone]}; static waits for {self._stragglers(step)}"

    def _idle(self, step: int) -> str:
        waiting = [each.id for each in self._asked if each.arrival <= step < self._first[each.id]]
        if waiting:  # a static batch that began with slots to spare
            verb = "waits" if len(waiting) == 1 else "wait"
            return (
                f"{_list(waiting)} {verb}, but the batch began without and static admits no request "
                f"before {self._stragglers(step)} ends"
            )
        coming = [each for each in self._asked if each.arrival > step]
        if coming:
            first = coming[0]
            return f"{first.id} has not arrived yet: it comes at step {first.arrival}"
        return "the queue is empty, and no more requests arrive"

    def _before(self, step: int, slot: int) -> str:
        """The request that was the last to hold a slot before a step."""
        held = (self._rows[earlier][slot] for earlier in range(step - 1, -1, -1))
        return next(cell for cell in held if cell not in (PAD, IDLE))

    def _stragglers(self, step: int) -> str:
        """The requests that run longest of those that run at a step."""
        running = [cell for cell in self._rows[step] if cell not in (PAD, IDLE)]
        end = max(self._last[cell] for cell in running)
        return _list([cell for cell in running if self._last[cell] == end])


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def exercise_dict(exercise: Exercise, title: str = "") -> dict[str, Any]:
    """An exercise as pages take it."""
    return {
        **({"title": title} if title else {}),
        "policy": exercise.policy,
        "slots": exercise.slots,
        "requests": [{"id": each.id, "arrival": each.arrival, "output": each.output} for each in exercise.requests],
        "solution": [list(row) for row in exercise.solution],
        "reasons": [list(row) for row in exercise.reasons],
    }
