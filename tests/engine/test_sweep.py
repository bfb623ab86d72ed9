"""The points of a sweep: the same wherever they run."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.summary_metrics import summary_metrics
from minibatch.engine.sweep import (
    BACKENDS,
    Backend,
    Point,
    SweepSpec,
    executor_of,
    knob_value,
    record_point,
    run_point,
    run_points,
    with_knob,
)
from minibatch.recording.run_summary import RunSummary
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.demand import Load, drawn_demand

SHAPE = ModelShape(n_layer=4, n_embd=64, n_head=4, n_kv_head=4, vocab_size=97, n_inner=256, n_positions=512)
STUDY = SweepSpec(
    drawn_demand(30, "uniform:4:40", "uniform:2:20", 7), SHAPE, Ceilings(1e10, 1e9, "a device"), "tiny", 7
)
CONFIG = SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=32, max_model_len=64, num_kv_blocks=64)
POINTS = [Point(policy, Load("rate", rate), CONFIG) for policy in ("static", "chunked") for rate in (20.0, 200.0)]
POINTS.append(Point("continuous", Load("users", 3, think_s=0.01), CONFIG))


def assert_equal(one: RunSummary, other: RunSummary) -> None:
    for name in RunSummary.__slots__:
        mine, theirs = getattr(one, name), getattr(other, name)
        if name == "requests":
            assert {key: column.tolist() for key, column in mine.items()} == {
                key: column.tolist() for key, column in theirs.items()
            }
        else:
            assert np.array_equal(mine, theirs), name


QUICK = "processes"


@pytest.mark.parametrize(
    "backend", [QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in BACKENDS if name != QUICK)]
)
def test_every_executor_gives_the_same_bit_for_bit(backend: Backend) -> None:
    """Processes of this machine, and a local cluster of Dask and of Ray."""
    with executor_of(backend, 2) as executor:
        found = dict(run_points(STUDY, POINTS, executor, 2))
    assert list(found) != []
    assert set(found) == set(POINTS)
    for point, outcome in found.items():
        assert_equal(outcome, run_point(STUDY, point))


def test_a_run_leaves_no_cycles() -> None:
    """So it can do without the garbage collector, which it leaves as it was."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        run_point(STUDY, POINTS[0])
        assert not gc.isenabled()
        gc.collect()
        # What is imported for the first time, and other threads, may leave cycles of their own.
        assert [each for each in gc.garbage if type(each).__module__.startswith("minibatch")] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    run_point(STUDY, POINTS[0])
    assert gc.isenabled()


def test_no_more_points_are_begun_once_it_is_stopped() -> None:
    done = []
    with ThreadPoolExecutor(1) as executor:
        for point, _ in run_points(STUDY, POINTS * 4, executor, 1, should_stop=lambda: len(done) >= 2):
            done.append(point)
    assert done == (POINTS * 4)[: len(done)]
    assert 2 <= len(done) <= 4  # those that had begun are waited for


def test_a_point_is_recorded_as_it_was_run() -> None:
    for point in POINTS:
        recording, outcome = record_point(STUDY, point), run_point(STUDY, point)
        assert (recording.header.clock, recording.header.complete) == ("modelled", True)
        assert recording.end_ns == outcome.end_ns
        assert compute_metrics(recording)["mean_ttft_ms"] == pytest.approx(summary_metrics(outcome)["mean_ttft_ms"])


def test_points_that_cannot_be_run() -> None:
    with pytest.raises(ValueError, match="unknown policy 'magic'"):
        replace(POINTS[0], policy="magic").check(STUDY)
    with pytest.raises(ValueError, match="reads at most 512 tokens"):
        with_knob(POINTS[0], "max_model_len", 1024).check(STUDY)
    small = replace(STUDY, ceilings=replace(STUDY.ceilings, memory_bytes=1e6))
    with pytest.raises(ValueError, match="num_kv_blocks of at most"):
        POINTS[0].check(small)
    assert (knob_value("watermark", "0.5"), knob_value("mix_prefill", "true")) == (0.5, True)
    assert knob_value("kv_layout", "contiguous") == "contiguous"
    for name, text, says in (("max_num_seqs", "many", "use a number"), ("mix_prefill", "1", "use true or false")):
        with pytest.raises(ValueError, match=says):
            knob_value(name, text)
