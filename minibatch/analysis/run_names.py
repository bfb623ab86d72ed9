"""What a run is called beside others: its policy, what a fork changed, and where its times come from."""

from __future__ import annotations

from collections.abc import Sequence

from minibatch.recording.engine_recordings import engine_recordings
from minibatch.recording.schema import Recording


def lanes(recordings: Sequence[Recording], labels: Sequence[str]) -> list[tuple[str, Recording]]:
    """(name, recording) of each engine of each run: what is shown as a lane.

    Args:
        labels: of the runs; an engine of several adds its own name.
    """
    named: list[tuple[str, Recording]] = []
    for label, recording in zip(labels, recordings, strict=True):
        engines = recording.header.engines
        names = [label] if engines is None else [f"{label}, {engine.name}" for engine in engines]
        named += zip(names, engine_recordings(recording), strict=True)
    return named


def run_name(recording: Recording) -> str:
    """As in "static (measured)": no number goes without one of the two words."""
    cut = "" if recording.header.complete else ", cut short"
    return f"{policy_of(recording)} ({clock_of(recording)}{cut})"


def policy_of(recording: Recording) -> str:
    """The policy it began with, and what forks turned: "static, max_num_seqs 8 from iteration 12"."""
    policy, turned = recording.header.policy, []
    for fork in recording.header.forks():
        if fork["before"] == fork["after"]:
            continue
        value = f"{fork['knob']} {fork['after']}"
        if fork["knob"] == "policy":
            policy, value = fork["before"], fork["after"]
        turned.append(f"{value} from iteration {fork['iteration']}")
    return ", ".join([policy, *reversed(turned)])


def clock_of(recording: Recording) -> str:
    """ "measured", "modelled", or "measured, then modelled" for a fork that left a measured run."""
    header = recording.header
    clocks = dict.fromkeys(header.clock_at(i) for i in range(recording.num_iterations))
    return ", then ".join(clocks or [header.clock])
