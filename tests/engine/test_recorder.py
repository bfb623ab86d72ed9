"""What the recorder writes down, and what it need not repeat."""

from __future__ import annotations

import pytest

from minibatch.decisions.reasons import Code, Reason
from minibatch.engine.recorder import Recorder
from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import engine_of, header_of, record, requests_of

FOUR = [(5, 4), (1, 2), (2, 1), (5, 4)]
"""r0 holds 3 blocks and takes a fourth at its seventh token: r3 has the last 3 and loses them."""


def story(recording: Recording, request_id: int) -> list[tuple[int, str]]:
    return [(i, str(reason.code)) for i, reason in recording.each_reason() if reason.request_id == request_id]


@pytest.mark.parametrize(("mode", "again"), [("swap", "resumed"), ("recompute", "admitted")])
def test_a_request_that_waits_for_the_same_after_an_preemption_is_recorded_again(mode: str, again: str) -> None:
    config = SchedulerConfig(
        max_num_seqs=3, max_num_batched_tokens=8, max_model_len=24, block_size=2, num_kv_blocks=6, watermark=0.0,
        preemption_mode=mode,
    )  # fmt: skip
    recording = record(requests_of(FOUR), "continuous", config)
    assert story(recording, 3) == [
        (0, "queued"),
        (0, "waits_slot"),
        (1, "waits_blocks"),
        (2, "admitted"),
        (3, f"preempted_{mode}"),
        (4, "waits_blocks"),
        (5, again),
        (8, "finished_length"),
    ]
    waits = [reason.numbers for _, reason in recording.each_reason() if reason.code is Code.WAITS_BLOCKS]
    assert waits == [{"needs": 3, "free": 2, "kept": 0}] * 2


def test_a_wait_that_goes_on_is_recorded_once() -> None:
    config = SchedulerConfig(max_num_seqs=1, max_model_len=16)
    recording = record(requests_of([(2, 8), (2, 1)]), "continuous", config)
    assert recording.num_iterations > 8
    assert story(recording, 1)[:3] == [(0, "queued"), (0, "waits_slot"), (8, "admitted")]


def test_waits_are_told_apart_by_request_and_by_numbers() -> None:
    recorder = Recorder()
    one, other = (Reason(Code.WAITS_BUDGET, r, {"needs": 5, "left": 3, "budget": 8}) for r in (1, 2))
    worse = Reason(Code.WAITS_BUDGET, 1, {"needs": 5, "left": 2, "budget": 8})
    for reason in (one, other, one, worse, worse, one):
        recorder.note(reason)
    engine = engine_of(requests_of([(1, 1)] * 3), "continuous", SchedulerConfig())
    noted = recorder.recording(header_of(engine), [], [], False)
    assert [(r.request_id, r.numbers["left"]) for _, r in noted.each_reason()] == [(1, 3), (2, 3), (1, 2), (1, 3)]
