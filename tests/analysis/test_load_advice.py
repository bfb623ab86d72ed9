"""Runs that idle nearly all the time are told from those that policies differ in."""

from __future__ import annotations

import pytest

from minibatch.analysis.load_advice import busy_share, too_little_load
from minibatch.commands.terminal import metrics_table
from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.compare.metrics_table import metrics_frame
from tests.helpers import record, requests_of

CONFIG = SchedulerConfig(max_num_seqs=2, max_num_batched_tokens=16, max_model_len=16)


def runs(gap_ms: float) -> list[Recording]:
    """Two requests of 3 + 2 tokens, 1.3 and 1.1 ms each, so 2.4 ms of work each."""
    return [record(requests_of([(3, 2), (3, 2, gap_ms)]), policy, CONFIG) for policy in ("continuous", "chunked")]


def test_an_idle_machine_is_said_and_marks_nothing() -> None:
    """Busy 4.8 of 1,002.4 ms; a hundred times as fast it would be busy half of the time."""
    idle = runs(1000.0)
    assert busy_share(idle) == pytest.approx(4.8 / 1002.4)
    assert too_little_load(idle) == (
        "Too little load to tell policies apart: busy 0.5 % of the time at most. "
        "Requests that arrive 100 times as fast would keep it busy half of it"
    )
    frame = metrics_frame(idle)
    assert not frame[[column for column in frame if column.startswith("best ")]].to_numpy().any()
    assert str(metrics_table(idle).caption).startswith("Too little load")


def test_a_busy_machine_is_compared() -> None:
    busy = runs(0.5)
    assert too_little_load(busy) == ""
    assert str(metrics_table(busy).caption) == "* best of the row"
    assert too_little_load([record([], "static", CONFIG)]) == ""
