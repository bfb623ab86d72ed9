"""What if: a recording rerun from one of its steps with one knob changed, beside its unchanged future."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from minibatch.engine.fork import Fork, fork
from minibatch.recording.schema import Recording
from minibatch.ui.player.component import show_player
from minibatch.ui.player.payload import pack
from minibatch.ui.shared.jobs import Progress
from minibatch.ui.shared.link_values import parse_knob
from minibatch.ui.shared.palette import Theme
from minibatch.ui.shared.sources import Shown

_CAUTION = "From the fork on, steps are modelled: compare the two futures with each other, not with the past."


class ForkRun:
    """A fork as work for the queue.

    Attributes:
        result: the fork, when it is done.
    """

    def __init__(self, recording: Recording, wish: Mapping[str, Any]) -> None:
        self.recording = recording
        self.wish = wish
        self.result: Fork | None = None

    def __call__(
        self,
        *,
        on_progress: Callable[[Progress], None],
        should_stop: Callable[[], bool],
        on_snapshot: Callable[..., None],
    ) -> list[Recording]:
        knob, text = str(self.wish["knob"]), str(self.wish["value"])
        value = text if knob == "policy" else parse_knob(knob, text)
        self.result = fork(self.recording, int(self.wish["iteration"]), knob, value, should_stop)
        return [self.result.unchanged, self.result.changed]


def fork_run(shown: Shown, wish: Mapping[str, Any]) -> ForkRun:
    """What the player asked for: {policy, iteration, knob, value}."""
    recording = next(run for run in shown.recordings if run.header.policy == wish["policy"])
    return ForkRun(recording, wish)


def fork_words(run: ForkRun) -> tuple[str, str]:
    """(heading, what differs and where) of a fork that is done."""
    if run.result is None:
        raise ValueError("the fork is not done")
    spec = run.result.changed.header.fork or {}
    policy = run.recording.header.policy
    place = f"from step {spec['iteration']} of {policy}"
    heading = f"What if, {place}, {spec['knob']} were {spec['after']} instead of {spec['before']}?"
    return heading, run.result.difference


def show_fork(run: ForkRun, key: str, look: Theme) -> None:
    """Both futures side by side."""
    if run.result is None:
        return
    heading, difference = fork_words(run)
    fork = run.result
    spec = fork.changed.header.fork or {}
    start = int(spec["iteration"]) if fork.differs_at is None else fork.differs_at
    times = fork.changed.iterations["start_ns"]
    options = {
        "id": key,
        "title": heading,
        "watch": f"{difference[:1].upper()}{difference[1:]}. {_CAUTION}",
        "link": None,
        "reveal": True,
        "scale": look.scale,
        "start": {"position": int(times[start]) if start < len(times) else fork.changed.end_ns},
    }
    labels = (f"{spec['knob']} = {spec['before']}", f"{spec['knob']} = {spec['after']}")
    show_player(_packed(key, fork, options, labels), "fork")


@st.cache_resource(max_entries=4, show_spinner=False)
def _packed(key: str, _fork: Fork, _options: Mapping[str, Any], _labels: tuple[str, str]) -> bytes:
    return pack([_fork.unchanged, _fork.changed], _options, _labels)
