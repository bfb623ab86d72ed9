"""Two futures of one recording: as it was, and with one knob turned at an iteration.

Importing this module imports no torch, and no model is needed: both futures have the modelled clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from minibatch.engine.fork_diff import diff_forks
from minibatch.engine.headers import forked_header
from minibatch.engine.loop import Engine
from minibatch.engine.replay import config_of, header_at, replay, turn
from minibatch.recording.schema import Header, Recording
from minibatch.scheduling.config import SchedulerConfig

KNOBS = ("policy", *(field.name for field in fields(SchedulerConfig) if field.name not in ("block_size", "kv_layout")))
"""What can be turned in the middle of a run."""

_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "one of its words"}


@dataclass(frozen=True, slots=True)
class Fork:
    """A recording's past twice, with two futures.

    Attributes:
        unchanged: goes on with the knobs as they were.
        changed: goes on with one knob turned.
        differs_at: the first iteration at which the two schedules differ; None if none does.
        difference: in a sentence, how they differ there.
    """

    unchanged: Recording
    changed: Recording
    differs_at: int | None
    difference: str


def fork(
    recording: Recording, iteration: int, knob: str, value: Any, should_stop: Callable[[], bool] | None = None
) -> Fork:
    """Repeat `recording` up to `iteration`, and go on from there without and with a knob turned.

    All before `iteration` is as recorded, to the nanosecond. The knob turns as soon as the iteration
    before has ended, so requests that have arrived since are judged by its new value; those that are
    already here are served. Forks of the recording itself that come after `iteration` are undone.

    Args:
        iteration: 0 to the recording's number of iterations.
        knob: one of `KNOBS`.
        value: of the kind that the knob has; the value that it has already changes nothing.
        should_stop: asked between the iterations of both futures, which it ends as they are.

    Raises:
        ValueError: the recording can't be repeated, or the knob can't be turned like that at that
            point; one sentence says why.
    """
    if not 0 <= iteration <= recording.num_iterations:
        raise ValueError(f"step {iteration} is none of this recording: use 0 to {recording.num_iterations}")
    if knob not in ("policy", *asdict(SchedulerConfig())):
        raise ValueError(f"unknown knob {knob!r}: choose from {', '.join(KNOBS)}")
    base = header_at(recording.header, iteration)
    before = _value(knob, base.policy if knob == "policy" else getattr(config_of(base), knob))
    after = _value(knob, value)
    engines = [replay(recording, iteration) for _ in range(2)]
    for engine, setting in zip(engines, (before, after), strict=True):
        turn(engine, knob, setting)
    turned = {"iteration": iteration, "knob": knob, "before": before}
    try:
        for engine in engines:
            engine.run(should_stop=should_stop)
        unchanged = _record(engines[0], recording, base, {**turned, "after": before})
        changed = _record(engines[1], recording, base, {**turned, "after": after})
    except OverflowError as error:
        raise ValueError("its model is so large, or its device so slow, that no clock holds the times") from error
    differs_at, difference = diff_forks(unchanged, changed, iteration)
    return Fork(unchanged, changed, differs_at, difference)


def _value(knob: str, value: Any) -> Any:
    """`value` in the knob's own kind."""
    kind = str if knob == "policy" else type(getattr(SchedulerConfig(), knob))
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise ValueError(f"{knob} is {value!r}: use {_KINDS[kind]}")
    return value


def _record(engine: Engine, original: Recording, base: Header, fork: dict[str, Any]) -> Recording:
    """What `engine` has done, with the header of a fork and the text that `original` has."""
    recording = engine.recording(forked_header(engine, base, fork))
    requests = (
        replace(request, pieces=_pieces(old.pieces, len(request.output_token_ids)))
        for request, old in zip(recording.requests, original.requests, strict=True)
    )
    return replace(recording, requests=tuple(requests))


def _pieces(pieces: tuple[str, ...], num_tokens: int) -> tuple[str, ...]:
    """The text of the first tokens; placeholders, which come after all that was recorded, have none."""
    return (*pieces, *("",) * (num_tokens - len(pieces)))[:num_tokens] if pieces else ()
