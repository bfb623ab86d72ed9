"""FLOPs, bytes and modelled times of a recording are those of its entries, or it was altered."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minibatch.analysis.counted_work import check_counted_work, check_modelled_times
from minibatch.engine.fork import fork
from minibatch.engine.headers import header_of
from minibatch.engine.loop import Engine
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from minibatch.roofline.ceilings import Ceilings
from minibatch.scheduling import POLICIES, find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.arrival_source import arrival_source
from tests.helpers import SHAPE, requests_of
from tests.strategies import configs, workloads
from tests.ui.player.recordings import BUNDLED, preempting, tight


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_bundled_recordings_count_what_they_ran(path):
    for run in load(path):
        check_counted_work(run)


@pytest.mark.parametrize("column", ["flops", "bytes_weights", "bytes_kv", "bytes_activations"])
def test_an_altered_count_is_named(column):
    for run in (preempting("swap"), tight("static")):
        check_counted_work(run)
        values = run.iterations[column].copy()
        values[3] += 1
        with pytest.raises(ValueError, match=f"iteration 3 has {column} of {values[3]:,}"):
            check_counted_work(replace(run, iterations={**run.iterations, column: values}))


def modelled(workload, config: SchedulerConfig, policy: str) -> Recording:
    """A run on the roofline of a device that is not here."""
    ceilings = Ceilings(3e11, 3e10, "an invented machine", source="invented")
    executor = RooflineExecutor(SHAPE, ceilings, block_size=config.block_size)
    engine = Engine(arrival_source(requests_of(workload)), find_policy(policy), executor, config, SHAPE)
    engine.run()
    return engine.recording(header_of(engine, ceilings, model="small", scenario="drawn", seed=0))


@given(workloads, configs(), st.sampled_from(sorted(POLICIES)), st.floats(0, 0.99))
def test_modelled_times_are_those_of_the_entries(workload, config, policy, where):
    run = modelled(workload, config, policy)
    check_modelled_times(run)
    assume(run.num_iterations)
    i = int(where * run.num_iterations)
    shorter = run.iterations["duration_ns"].copy()
    shorter[i] //= 3
    altered = replace(run, iterations={**run.iterations, "duration_ns": shorter})
    with pytest.raises(ValueError, match=f"iteration {i} takes {shorter[i]:,} ns, and the model says"):
        check_modelled_times(altered)


def test_what_comes_before_a_fork_was_measured():
    measured = next(run for run in load(BUNDLED[0]) if run.header.policy == "chunked")
    check_modelled_times(measured)
    check_modelled_times(fork(measured, 3, "max_num_batched_tokens", 32).changed)
    with pytest.raises(ValueError, match="iteration 0 takes"):
        check_modelled_times(replace(measured, header=replace(measured.header, clock="modelled")))
