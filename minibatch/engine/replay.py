"""Does again what a recording did, up to an iteration, and stands there ready to go on.

Importing this module imports no torch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from minibatch.engine.aborts import RecordedAborts
from minibatch.engine.executor import Result
from minibatch.engine.loop import Engine
from minibatch.engine.recorder import Recorder
from minibatch.engine.roofline_executor import PLACEHOLDER_TOKEN, RooflineExecutor
from minibatch.recording.schema import Clock, Header, Recording, Table
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape
from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.invariants import InvariantError
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PolicyError
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.arrivals import ClosedLoop
from minibatch.workload.request import Request, SamplingParams


def replay(recording: Recording, iteration: int) -> Engine:
    """An engine that has run the first `iteration` iterations of `recording` as they are recorded.

    It goes on with the modelled clock, and with the recorded tokens: a request generates the same ones
    whatever the schedule. Where none are recorded, because the run was cancelled first, it generates
    placeholders.

    Raises:
        ValueError: the recording lacks what is needed, or this program would not have run it like
            that; one sentence says so.
    """
    header = recording.header
    if header.engines is not None:
        raise ValueError("it is of several engines, and only a run of one can be repeated: choose another one")
    shape, ceilings = _shape(header), _ceilings(header)
    written = _Written(recording)
    start = header_at(header, -1)
    config = config_of(start)
    loop = None if header.closed_loop is None else ClosedLoop(**header.closed_loop)
    recorder = Recorder()
    engine = Engine(
        arrival_source(_requests(recording), loop),
        find_policy(start.policy),
        _Past(recording, written),
        config,
        shape,
        written.eos_token_id,
        recorder=recorder,
        aborts=RecordedAborts(recording, recorder),
    )
    try:
        for fork in reversed([*header.forks()]):
            if fork["iteration"] <= iteration:
                _run_to(engine, fork["iteration"])
                turn(engine, fork["knob"], fork["after"])
        _run_to(engine, iteration)
    except (PolicyError, InvariantError) as error:
        raise ValueError(_unrepeatable(header, engine.recorder.num_iterations)) from error
    _check_past(engine, recording, iteration)
    engine.change(executor=_Future(RooflineExecutor(shape, ceilings, block_size=config.block_size), written))
    return engine


def turn(engine: Engine, knob: str, value: Any) -> None:
    """Give one knob of a run, or its policy, another value; ValueError where that can't be done there."""
    if knob != "policy":
        engine.change(config=replace(engine.state.config, **{knob: value}))
    elif value != engine.policy.name:
        engine.change(policy=find_policy(value))


def header_at(header: Header, iteration: int) -> Header:
    """`header` without the forks after `iteration`: policy, knobs and clock as they were there."""
    while header.fork is not None and header.fork["iteration"] > iteration:
        fork = header.fork
        header = replace(header, clock=fork["clock"], fork=fork["earlier"])
        if fork["knob"] == "policy":
            header = replace(header, policy=fork["before"])
        else:
            header = replace(header, config={**header.config, fork["knob"]: fork["before"]})
    return header


class _Written:
    """The tokens that each request generated, and what comes where no more are recorded."""

    def __init__(self, recording: Recording) -> None:
        self._tokens = [request.output_token_ids for request in recording.requests]
        ends = {
            tokens[-1]
            for tokens, request in zip(self._tokens, recording.requests, strict=True)
            if request.finish_reason == "stop"
        }
        if len(ends) > 1:
            raise ValueError("its requests ended their texts with different tokens, and here a model has one for that")
        self.eos_token_id = next(iter(ends), None)
        self._placeholder = PLACEHOLDER_TOKEN + (self.eos_token_id == PLACEHOLDER_TOKEN)

    def next(self, plan: Plan) -> dict[int, int]:
        """The token of every sequence with `samples`, by request id."""
        return {
            seq.request.request_id: self._token(seq.request.request_id, len(seq.request.output_token_ids))
            for seq in plan.seqs
            if seq.samples
        }

    def _token(self, request_id: int, index: int) -> int:
        tokens = self._tokens[request_id]
        return tokens[index] if index < len(tokens) else self._placeholder


class _Past:
    """Takes the times that were recorded, on whatever clock."""

    clock: Clock = "modelled"  # so that the loop adds no time of its own
    device = "a recording"

    def __init__(self, recording: Recording, written: _Written) -> None:
        executor_ns, duration_ns = (recording.iterations[name].tolist() for name in ("executor_ns", "duration_ns"))
        self._times = zip(executor_ns, duration_ns, strict=True)
        self._written = written

    def execute(self, plan: Plan) -> Result:
        executor_ns, duration_ns = next(self._times)
        return Result(self._written.next(plan), executor_ns, duration_ns - executor_ns)

    def forget(self, request_id: int) -> None:
        """It keeps nothing of requests."""


class _Future:
    """Takes modelled times, and the recorded tokens."""

    clock: Clock = "modelled"

    def __init__(self, roofline: RooflineExecutor, written: _Written) -> None:
        self.device = roofline.device
        self._roofline = roofline
        self._written = written

    def execute(self, plan: Plan) -> Result:
        return self._roofline.execute(plan)._replace(token_ids=self._written.next(plan))

    def forget(self, request_id: int) -> None:
        """It keeps nothing of requests."""


def _run_to(engine: Engine, iteration: int) -> None:
    while engine.recorder.num_iterations < iteration:
        if engine.step() is None:
            raise PolicyError("all requests have finished earlier than recorded")


def _check_past(engine: Engine, recording: Recording, iteration: int) -> None:
    """ValueError unless `engine` has done what is recorded, to the nanosecond and with the same reasons."""
    done = engine.recording(recording.header)
    rows = len(done.reason_numbers)
    differ = [_first_difference(getattr(done, name), getattr(recording, name), iteration) for name in _TABLES]
    if done.reason_numbers != recording.reason_numbers[:rows]:
        pairs = enumerate(zip(done.reason_numbers, recording.reason_numbers, strict=False))
        row = next((row for row, (mine, theirs) in pairs if mine != theirs), rows - 1)
        differ.append(int(done.reasons["iteration"][row]))
    if found := [i for i in differ if i is not None]:
        raise ValueError(_unrepeatable(recording.header, min(found)))


_TABLES = ("iterations", "entries", "blocks", "reasons")


def _first_difference(done: Table, recorded: Table, iteration: int) -> int | None:
    """The first iteration whose rows differ, of those before `iteration`; None if there is none.

    The entries of one iteration may come in any order.
    """
    mine, theirs = (_rows(table) for table in (done, recorded))
    if "iteration" in recorded:
        mine_at, theirs_at = mine[:, 0], theirs[:, 0]
    else:
        mine_at, theirs_at = np.arange(len(mine)), np.arange(len(theirs))
    shared = min(len(mine), len(theirs))
    unequal = np.flatnonzero((mine[:shared] != theirs[:shared]).any(axis=1))
    if len(unequal):
        return int(min(mine_at[unequal[0]], theirs_at[unequal[0]]))
    rest = [*mine_at[shared:].tolist(), *(i for i in theirs_at[shared:].tolist() if i < iteration)]
    return rest[0] if rest else None


def _rows(table: Table) -> npt.NDArray[np.int64]:
    rows = np.stack([*table.values()], axis=1)
    return rows[np.lexsort((table["slot"], table["iteration"]))] if "slot" in table else rows


def _unrepeatable(header: Header, iteration: int) -> str:
    return (
        f"at step {iteration} this program would have gone on otherwise than recorded: the recording was made by "
        f"another version of the policy {header.policy!r} or of Minibatch, so record it again"
    )


def _requests(recording: Recording) -> list[Request]:
    try:
        return [
            Request(
                request_id,
                request.prompt_token_ids,
                SamplingParams(max_tokens=request.max_tokens, **request.sampling),
                request.arrival_ns,
                request.prompt,
                request.tenant,
                request.priority,
                request.true_output_tokens,
            )
            for request_id, request in enumerate(recording.requests)
        ]
    except TypeError as error:
        raise ValueError("its requests have sampling parameters that this program does not know") from error


def config_of(header: Header) -> SchedulerConfig:
    """Its knobs; ValueError where they are not those of this program."""
    try:
        return SchedulerConfig(**header.config)
    except TypeError as error:
        raise ValueError("it was recorded with knobs that this program does not know: record it again") from error


def _shape(header: Header) -> ModelShape:
    if header.shape is None:
        raise ValueError(_lacking("the shape of its model"))
    try:
        shape = ModelShape(**header.shape)
    except TypeError as error:
        raise ValueError("the shape of its model is not one that this program knows: record it again") from error
    sizes = [size for size in header.shape.values() if size is not None]
    if not all(isinstance(size, int | float) and size >= 0 for size in sizes) or not shape.n_head:
        raise ValueError("the shape of its model does not consist of numbers: record it again")
    return shape


def _ceilings(header: Header) -> Ceilings:
    if header.ceilings is None:
        raise ValueError(_lacking("how fast its device is"))
    try:
        return Ceilings.from_dict({**header.ceilings, "device": header.device})
    except TypeError as error:
        raise ValueError("its device has ceilings that this program does not know: record it again") from error


def _lacking(what: str) -> str:
    return f"the recording does not say {what}, from which modelled times are computed: choose another one"
