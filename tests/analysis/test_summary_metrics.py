"""An outcome's numbers are those of the recording of the same run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.summarise import summarise
from minibatch.analysis.summary_metrics import summary_metrics
from minibatch.engine.summary_recorder import SummaryRecorder
from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.arrivals import ClosedLoop
from tests.engine.test_fast_forward import SLOW, loops
from tests.engine.test_summary_recorder import engine
from tests.helpers import header_of
from tests.strategies import configs, workloads


@settings(deadline=None)
@given(workloads, configs(), st.sampled_from(list(POLICIES)), loops)
def test_same_numbers(
    workload: list[tuple[int, int, float]], config: SchedulerConfig, policy: str, loop: ClosedLoop | None
) -> None:
    recorded = engine(workload, config, policy, loop, None)
    recorded.run()
    recording = recorded.recording(header_of(recorded, loop))
    expected, found = compute_metrics(recording), summary_metrics(summarise(recording))
    assert found.pop("busy") is None or recording.end_ns
    for name, value in found.items():
        if "itl" in name and name != "mean_itl_ms":
            continue  # to within a bin: below
        assert value == (None if expected[name] is None else pytest.approx(expected[name])), name


def test_gaps_to_within_a_bin() -> None:
    workload = [(8, 40, float(arrival)) for arrival in range(0, 40, 2)]
    config = SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=16, max_model_len=64, num_kv_blocks=64)
    recorded = engine(workload, config, "chunked", None, None)
    recorded.run()
    expected = compute_metrics(recorded.recording(header_of(recorded)))
    tally = SummaryRecorder(config.num_kv_blocks, SLOW.ridge)
    tallied = engine(workload, config, "chunked", None, tally)
    tallied.run()
    found = summary_metrics(tally.outcome(True))
    for name in ("median_itl_ms", "p95_itl_ms", "p99_itl_ms"):
        assert found[name] == pytest.approx(expected[name], rel=0.01), name
