"""A lane as runs of identical iterations, against recordings made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from minibatch.analysis.ledger import slot_ledger
from minibatch.analysis.segments import PADDED, labelled, slot_segments
from minibatch.analysis.timeline import Timeline
from minibatch.decisions.phase import Phase
from tests.ui.recordings import MS, continuous, static


def test_identical_iterations_become_one_segment() -> None:
    segments = [s for s in slot_segments(static()) if s.slot == 1]
    assert [(s.request, s.phase, s.first, s.last, s.start_ns, s.end_ns, s.tokens) for s in segments] == [
        (1, Phase.PREFILL, 0, 0, 0, 10 * MS, 3),
        (1, Phase.DECODE, 1, 2, 10 * MS, 30 * MS, 2),
    ]


def test_padding_and_stall_bring_their_reasons() -> None:
    padding = next(s for s in slot_segments(static()) if s.phase is Phase.PADDING)
    stalled = next(s for s in slot_segments(continuous()) if s.phase is Phase.STALLED)
    admitted = next(s for s in slot_segments(continuous()) if s.request == 2)
    assert (padding.request, padding.start_ns, padding.end_ns) == (0, 20 * MS, 30 * MS)
    assert padding.reason == "r0 finishes: it generated all 2 of its tokens"
    assert stalled.request == 1
    assert stalled.reason == "1 request without a token: this step prefills 3 tokens of 1 prompt alone"
    assert admitted.reason == "r2 is admitted to slot 0: takes 1 of 4 free blocks"


def test_a_padded_prefill_is_drawn_as_the_ledger_counts_it() -> None:
    run = static()
    run = replace(run, entries={**run.entries, "padding": np.array([2, 0, 0, 0, 0, 0, 0, 0])})
    segments = slot_segments(run)
    prompt, padded = segments[:2]
    assert (prompt.phase, prompt.start_ns, prompt.end_ns, prompt.tokens, prompt.padding) == (0, 0, 6 * MS, 3, 0)
    assert (padded.phase, padded.start_ns, padded.end_ns, padded.tokens, padded.padding) == (
        Phase.PADDING, 6 * MS, 10 * MS, 0, 2,
    )  # fmt: skip
    assert padded.reason == PADDED
    ledger = slot_ledger(Timeline(run))
    for name, phase in (("prefill", Phase.PREFILL), ("padding", Phase.PADDING)):
        drawn = [sum(s.end_ns - s.start_ns for s in segments if (s.slot, s.phase) == (i, phase)) for i in (0, 1)]
        assert drawn == ledger[name].tolist()


def test_a_prompt_padded_right_before_its_end_is_not_its_held_slot() -> None:
    """r0 is padded in iteration 0 and held after it in iteration 1."""
    run = static()
    entries = {name: column.copy() for name, column in run.entries.items()}
    entries["padding"][0], entries["phase"][2], entries["tokens"][2] = 2, Phase.PADDING, 0
    held = [s for s in slot_segments(replace(run, entries=entries)) if (s.slot, s.phase) == (0, Phase.PADDING)]
    assert [(s.first, s.padded) for s in held] == [(0, True), (1, False)]


def test_a_name_stands_once_a_stay() -> None:
    assert [(s.slot, s.request) for s in labelled(slot_segments(continuous()))] == [(0, 0), (0, 2), (1, 1)]
