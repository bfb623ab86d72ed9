"""A tally comes to what the recording of the same run comes to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.analysis.bottleneck import waits_of_head
from minibatch.analysis.metrics import inter_token_ns
from minibatch.analysis.timeline import Timeline
from minibatch.engine.loop import Engine
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.engine.summary_recorder import SummaryRecorder
from minibatch.recording.run_summary import NUM_BINS, RunSummary, gap_bin, gap_bins, gap_values, lowest_gap
from minibatch.recording.schema import Recording
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


def assert_same(outcome: RunSummary, recording: Recording) -> None:
    timeline = Timeline(recording)
    done, iterations = timeline.completed, recording.iterations
    order = np.argsort(outcome.requests["request"])
    found = {name: column[order] for name, column in outcome.requests.items()}
    assert found["request"].tolist() == np.flatnonzero(done).tolist()
    for name in ("arrival_ns", "first_scheduled_ns", "first_token_ns", "last_token_ns"):
        assert found[name].tolist() == getattr(timeline, name)[done].tolist(), name
    assert found["output_tokens"].tolist() == timeline.num_output_tokens[done].tolist()
    assert found["prompt_tokens"].tolist() == [
        r.num_prompt_tokens for r, d in zip(recording.requests, done, strict=True) if d
    ]
    assert sorted(outcome.arrival_ns.tolist()) == sorted(timeline.arrival_ns.tolist())
    assert outcome.num_rejected == sum(request.finish_reason == "rejected" for request in recording.requests)
    assert (outcome.end_ns, outcome.num_iterations) == (recording.end_ns, recording.num_iterations)
    assert outcome.num_preemptions == timeline.num_preemptions == found["preemptions"].sum()
    duration = iterations["duration_ns"]
    assert outcome.busy_ns == duration.sum()
    assert outcome.held_block_ns == int(timeline.held_blocks @ duration)
    moved = sum(iterations[name] for name in ("bytes_weights", "bytes_kv", "bytes_activations"))
    assert outcome.computing_ns == duration[iterations["flops"] >= SLOW.ridge * moved].sum()
    waits: dict[str, int] = {}
    for i, code in enumerate(waits_of_head(recording)):
        if code is not None:
            waits[code] = waits.get(code, 0) + int(duration[i])
    assert outcome.waiting_ns == waits
    gaps = inter_token_ns(timeline, done)
    assert outcome.gaps.tolist() == np.bincount(gap_bins(gaps), minlength=NUM_BINS).tolist()
    assert outcome.gap_ns == gaps.sum()


@settings(deadline=None)
@given(workloads, configs(), st.sampled_from(list(POLICIES)), loops)
def test_tally_and_recording_agree(
    workload: list[tuple[int, int, float]], config: SchedulerConfig, policy: str, loop: ClosedLoop | None
) -> None:
    recorded = engine(workload, config, policy, loop, None)
    recorded.run()
    tally = SummaryRecorder(config.num_kv_blocks, SLOW.ridge)
    tallied = engine(workload, config, policy, loop, tally)
    assert tallied.run()
    assert_same(tally.outcome(tallied.is_done), recorded.recording(header_of(recorded, loop)))


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
