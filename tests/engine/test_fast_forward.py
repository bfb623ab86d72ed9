"""Iterations taken at once are recorded as those taken one by one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.engine.loop import Engine
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.recording import storage
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.efficiency import Efficiency
from minibatch.scheduling import POLICIES, find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.arrivals import ClosedLoop
from tests.helpers import SHAPE, header_of, requests_of
from tests.strategies import configs, workloads

SLOW = Ceilings(1e9, 1e8, "a slow device", efficiency=Efficiency(linear_memory=0.7, step_ns=3000.3, seq_ns=77.7))
"""Steps of about half a millisecond, so that the arrivals of random workloads fall between them."""

loops = st.one_of(st.none(), st.builds(ClosedLoop, st.integers(1, 4), st.floats(0, 0.01)))


def run(
    workload: list[tuple[int, int, float]],
    config: SchedulerConfig,
    policy: str,
    loop: ClosedLoop | None,
    fast_forward: bool,
) -> tuple[Engine, int]:
    """The engine when all is done, and how many plans it asked for."""
    executor = RooflineExecutor(SHAPE, SLOW, block_size=config.block_size)
    requests = requests_of(workload)
    engine = Engine(
        arrival_source(requests, loop), find_policy(policy), executor, config, SHAPE, fast_forward=fast_forward
    )
    plans = 0
    while engine.step() is not None:
        plans += 1
    return engine, plans


@settings(deadline=None)
@given(workloads, configs(), st.sampled_from(list(POLICIES)), loops)
def test_records_are_equal(
    workload: list[tuple[int, int, float]], config: SchedulerConfig, policy: str, loop: ClosedLoop | None
) -> None:
    (slow, _), (fast, _) = (run(workload, config, policy, loop, fast_forward) for fast_forward in (False, True))
    header = header_of(slow, loop)
    assert storage.dumps([fast.recording(header)]) == storage.dumps([slow.recording(header)])
    assert fast.state.pool.free_units == slow.state.pool.free_units
    assert (fast.num_finished, fast.state.now_ns) == (slow.num_finished, slow.state.now_ns)


def test_a_long_decode_needs_few_plans() -> None:
    config = SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=64, max_model_len=1024, num_kv_blocks=256)
    workload = [(8, 200, 0.0), (8, 300, 0.0), (8, 300, 40.0)]
    for policy in POLICIES:
        if getattr(POLICIES[policy], "repeats_decodes", False):
            engine, plans = run(workload, config, policy, None, fast_forward=True)
            assert engine.recorder.num_iterations >= 300
            assert plans < 25
