"""A summary recorder comes to what the recording of the same run comes to."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.analysis.summarise import summarise
from minibatch.engine.loop import Engine
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.engine.summary_recorder import SummaryRecorder
from minibatch.recording.run_summary import RunSummary, gap_bin, gap_bins, gap_values, lowest_gap
from minibatch.scheduling import POLICIES, find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.arrivals import ClosedLoop
from tests.engine.test_fast_forward import SLOW, loops
from tests.helpers import SHAPE, header_of, requests_of
from tests.strategies import configs, workloads


def engine(
    workload: list[tuple[int, int, float]],
    config: SchedulerConfig,
    policy: str,
    loop: ClosedLoop | None,
    tally: SummaryRecorder | None,
) -> Engine:
    executor = RooflineExecutor(SHAPE, SLOW, block_size=config.block_size)
    return Engine(
        arrival_source(requests_of(workload), loop), find_policy(policy), executor, config, SHAPE,
        fast_forward=tally is not None, recorder=tally,
    )  # fmt: skip


def assert_same(found: RunSummary, expected: RunSummary) -> None:
    for field in fields(RunSummary):
        mine, theirs = getattr(found, field.name), getattr(expected, field.name)
        if field.name == "requests":
            by_id = {name: column[np.argsort(mine["request"])].tolist() for name, column in mine.items()}
            assert by_id == {name: column[np.argsort(theirs["request"])].tolist() for name, column in theirs.items()}
        elif field.name == "arrival_ns":
            assert sorted(mine.tolist()) == sorted(theirs.tolist())
        else:
            assert np.array_equal(mine, theirs) if field.name == "gaps" else mine == theirs, field.name


@settings(deadline=None)
@given(workloads, configs(), st.sampled_from(list(POLICIES)), loops)
def test_a_summary_is_that_of_the_recording_of_the_same_run(
    workload: list[tuple[int, int, float]], config: SchedulerConfig, policy: str, loop: ClosedLoop | None
) -> None:
    recorded = engine(workload, config, policy, loop, None)
    recorded.run()
    tally = SummaryRecorder(config.num_kv_blocks, SLOW.ridge)
    tallied = engine(workload, config, policy, loop, tally)
    assert tallied.run()
    header = header_of(recorded, loop)
    header.ceilings.update(flops_per_s=SLOW.flops_per_s, bytes_per_s=SLOW.bytes_per_s)
    assert_same(tally.outcome(tallied.is_done), summarise(recorded.recording(header)))


@given(st.lists(st.integers(0, 10**15), min_size=1))
def test_gaps_are_counted_to_within_a_percent(gaps: list[int]) -> None:
    bins = gap_bins(np.array(gaps))
    assert bins.tolist() == [gap_bin(gap) for gap in gaps]
    assert all(lowest_gap(place) <= gap < lowest_gap(place + 1) for gap, place in zip(gaps, bins.tolist(), strict=True))
    values = gap_values()
    assert (np.diff(values) > 0).all()
    for gap, place in zip(gaps, bins.tolist(), strict=True):
        assert values[place] == pytest.approx(gap, rel=0.004)


def test_a_tally_has_no_recording() -> None:
    config = SchedulerConfig(max_num_seqs=2)
    tallied = engine([(4, 2, 0.0)], config, "static", None, SummaryRecorder(config.num_kv_blocks, 1.0))
    with pytest.raises(TypeError, match="ask its tally"):
        tallied.recording(header_of(tallied))
