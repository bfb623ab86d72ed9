"""An outcome's numbers are those of the recording of the same run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.analysis.bottleneck import shares_of
from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.slo import Slo, goodput_of
from minibatch.analysis.summary_metrics import summary_goodput, summary_metrics, summary_rates, summary_shares
from minibatch.analysis.sweeps.alerts import busy_share
from minibatch.analysis.sweeps.knee import rates_over_arrivals
from minibatch.engine.summary_recorder import SummaryRecorder
from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.arrivals import ClosedLoop
from tests.engine.test_fast_forward import SLOW, loops
from tests.engine.test_summary_recorder import engine
from tests.helpers import header_of
from tests.strategies import configs, workloads


@settings(deadline=None)
@given(workloads, configs(), st.sampled_from(list(POLICIES)), loops, st.floats(0.1, 50))
def test_same_numbers(
    workload: list[tuple[int, int, float]], config: SchedulerConfig, policy: str, loop: ClosedLoop | None, ms: float
) -> None:
    recorded = engine(workload, config, policy, loop, None)
    recorded.run()
    header = header_of(recorded, loop)
    header.ceilings.update(flops_per_s=SLOW.flops_per_s, bytes_per_s=SLOW.bytes_per_s)
    recording = recorded.recording(header)
    tally = SummaryRecorder(config.num_kv_blocks, SLOW.ridge)
    tallied = engine(workload, config, policy, loop, tally)
    tallied.run()
    outcome = tally.outcome(tallied.is_done)

    expected, found = compute_metrics(recording), summary_metrics(outcome)
    assert found.pop("busy") == pytest.approx(busy_share(recording))
    for name, value in found.items():
        if "itl" in name and name != "mean_itl_ms":
            continue  # to within a bin: below
        assert value == (None if expected[name] is None else pytest.approx(expected[name])), name
    slo = Slo(ttft_ms=ms, tpot_ms=ms / 4, e2el_ms=4 * ms)
    assert summary_goodput(outcome, slo) == goodput_of(recording, slo)
    assert summary_rates(outcome) == rates_over_arrivals(recording)
    assert summary_shares(outcome, True) == shares_of(recording, True)


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
