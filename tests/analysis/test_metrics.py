"""Metrics and ledgers against numbers worked out by hand.

`CountingExecutor` takes 1 ms an iteration and 0.1 ms a token. Continuous batching serves requests
of (3, 2), (5, 4) and (2, 2) tokens on two slots in five iterations of 8, 2, 2, 2 and 1 tokens:

    iteration   0         1         2         3         4
    ends at     1.8       3.0       4.2       5.4       6.5 ms
    slot 0      r0 P      r0 D      r2 P      r2 D
    slot 1      r1 P      r1 D      r1 -      r1 D      r1 D
"""

from __future__ import annotations

import numpy as np
import pytest

from minibatch.analysis.ledger import request_ledger, slot_ledger
from minibatch.analysis.metrics import compute_metrics, latencies_ns
from minibatch.analysis.summarise import completed_requests, inter_token_ns
from minibatch.analysis.timeline import Timeline
from minibatch.engine.executor import Result
from minibatch.engine.loop import Engine
from minibatch.recording.schema import Recording
from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.workload.arrival_source import OpenArrivals
from tests.helpers import MS, SHAPE, CountingExecutor, header_of, record, requests_of

THREE = [(3, 2), (5, 4), (2, 2)]


def run(policy: str, lengths=THREE, **knobs) -> Recording:
    knobs = {"max_num_seqs": 2, "max_num_batched_tokens": 4, "max_model_len": 16, "watermark": 0.0} | knobs
    return record(requests_of(lengths), policy, SchedulerConfig(**knobs))


def ms_of(column) -> list[float]:
    return [round(value / MS, 6) for value in column.tolist()]


def in_ms(columns) -> dict[str, list[float]]:
    return {name: ms_of(column) for name, column in columns.items()}


@pytest.fixture(scope="module")
def continuous() -> Recording:
    return run("continuous")


def test_latencies_are_as_vllm_defines_them(continuous):
    """In the order in which the requests finish: r0, r2, r1."""
    rows = completed_requests(Timeline(continuous))
    ttft, tpot, e2el = (ms_of(column) for column in latencies_ns(rows))
    assert rows["request"].tolist() == [0, 2, 1]
    assert ttft == [1.8, 4.2, 1.8]
    assert e2el == [3.0, 5.4, 6.5]
    assert tpot == [1.2, 1.2, pytest.approx((6.5 - 1.8) / 3, abs=1e-6)]
    assert sorted(ms_of(inter_token_ns(Timeline(continuous)))) == [1.1, 1.2, 1.2, 1.2, 2.4]
    assert ms_of(rows["first_scheduled_ns"] - rows["arrival_ns"]) == [0.0, 3.0, 0.0]


def test_tpot_leaves_the_first_token_out():
    """TTFT 600 ms, E2E 1,600 ms, 11 tokens: 100 ms here and in vLLM, where a mean over all tokens has 145 ms."""

    class Slow(CountingExecutor):
        def execute(self, plan: Plan) -> Result:
            return super().execute(plan)._replace(duration_ns=(100 if plan.num_tokens == 1 else 600) * MS)

    config = SchedulerConfig(max_num_seqs=1, max_num_batched_tokens=64, max_model_len=64)
    engine = Engine(OpenArrivals(requests_of([(8, 11)])), find_policy("continuous"), Slow(), config, SHAPE)
    engine.run()
    metrics = compute_metrics(engine.recording(header_of(engine)))
    assert (metrics["mean_ttft_ms"], metrics["mean_e2el_ms"], metrics["total_output_tokens"]) == (600, 1600, 11)
    assert metrics["mean_tpot_ms"] == metrics["mean_itl_ms"] == 100
    assert metrics["mean_e2el_ms"] / metrics["total_output_tokens"] == pytest.approx(145.45, abs=0.01)


def test_a_request_of_one_token_has_no_tpot():
    metrics = compute_metrics(run("chunked", [(3, 1), (5, 1)]))
    assert metrics["completed"] == 2
    assert metrics["mean_tpot_ms"] is None
    assert metrics["mean_itl_ms"] is None


def test_throughput_and_statistics(continuous):
    metrics = compute_metrics(continuous)
    assert metrics["completed"] == 3
    assert metrics["total_input_tokens"] == 10
    assert metrics["total_output_tokens"] == 8
    assert metrics["duration"] == pytest.approx(6.5e-3)
    assert metrics["output_throughput"] == pytest.approx(8 / 6.5e-3)
    assert metrics["request_throughput"] == pytest.approx(3 / 6.5e-3)
    assert metrics["total_token_throughput"] == pytest.approx(18 / 6.5e-3)
    assert metrics["mean_ttft_ms"] == pytest.approx((1.8 + 1.8 + 4.2) / 3)
    assert metrics["median_e2el_ms"] == pytest.approx(5.4)
    assert metrics["p99_itl_ms"] == pytest.approx(np.percentile([1.1, 1.2, 1.2, 1.2, 2.4], 99))
    assert metrics["num_iterations"] == 5


def test_request_ledger(continuous):
    assert in_ms(request_ledger(Timeline(continuous))) == {
        "queue": [0.0, 0.0, 3.0],
        "prefill": [1.8, 1.8, 1.2],
        "decode": [1.2, 3.5, 1.2],
        "stalled": [0.0, 1.2, 0.0],
        "preempted": [0.0, 0.0, 0.0],
    }


def test_slot_ledger(continuous):
    assert in_ms(slot_ledger(Timeline(continuous))) == {
        "prefill": [3.0, 1.8],
        "decode": [2.4, 3.5],
        "padding": [0.0, 0.0],
        "stalled": [0.0, 1.2],
        "idle_waiting": [0.0, 0.0],
        "idle_empty": [1.1, 0.0],
    }
    metrics = compute_metrics(continuous)
    assert metrics["slot_utilization"] == pytest.approx((3.0 + 1.8 + 2.4 + 3.5) / 13)
    assert metrics["stalled_s"] == pytest.approx(1.2e-3)


def test_padding_and_queue_of_a_static_batch():
    """Tokens an iteration: 10 (2 of them padding), 2, 2, 2 (one of each padding), 2, 1."""
    recording = run("static")
    slots = in_ms(slot_ledger(Timeline(recording)))
    # Slot 0: 2.0 ms of prefill of which 2 of 5 positions are padding, 1.2 ms decode, 2 x 1.2 padding.
    assert slots["padding"] == [pytest.approx(2.0 * 2 / 5 + 2.4), 0.0]
    assert slots["prefill"] == [pytest.approx(2.0 * 3 / 5 + 1.2), 2.0]
    assert slots["decode"] == [pytest.approx(1.2 + 1.1), pytest.approx(3.6)]
    assert slots["idle_empty"] == [0.0, pytest.approx(1.2 + 1.1)]
    metrics = compute_metrics(recording)
    assert metrics["padding_tokens"] == 4
    assert metrics["padding_share"] == pytest.approx(4 / 19)
    queue = in_ms(request_ledger(Timeline(recording)))["queue"]
    assert queue == [0.0, 0.0, pytest.approx(2.0 + 3 * 1.2)]


def test_held_slots_without_computed_padding_are_padding_too():
    slots = in_ms(slot_ledger(Timeline(run("static", compute_padding=False))))
    assert slots["padding"] == [pytest.approx(2 * 1.1), 0.0]


def test_a_decode_beside_a_prefill_is_stalled_for_what_the_prefill_adds():
    """Chunked: iteration 1 decodes r0 and prefills 3 tokens in 1.4 ms; a decode alone takes 1.1 ms here."""
    ledger = in_ms(request_ledger(Timeline(run("chunked"))))
    assert ledger["prefill"][0] == 1.4
    assert ledger["decode"][0] == pytest.approx(1.1)
    assert ledger["stalled"][0] == pytest.approx(0.3)


def test_preempted_time_and_count():
    recording = run("continuous", [(3, 4), (3, 4)], block_size=2, num_kv_blocks=4)
    # 6, 2, 1, 1, 5, 1 tokens: r1 is out for the third and fourth iterations, 1.1 ms each.
    assert in_ms(request_ledger(Timeline(recording)))["preempted"] == [0.0, 2.2]
    assert compute_metrics(recording)["num_preemptions"] == 1


def test_kv_use_and_fragmentation():
    """One request of 3 + 2 tokens in blocks of 4: 3 tokens in one block, then 4 tokens in one block."""
    metrics = compute_metrics(run("continuous", [(3, 2)], block_size=4, num_kv_blocks=10))
    assert metrics["mean_kv_cache_usage"] == pytest.approx(0.1)
    assert metrics["max_kv_cache_usage"] == pytest.approx(0.1)
    first, second = 1.3, 1.1
    assert metrics["kv_fragmentation"] == pytest.approx(first * 1 / (4 * (first + second)))


def test_contiguous_reservation_is_mostly_fragmentation():
    paged = compute_metrics(run("continuous", block_size=4, num_kv_blocks=16))
    contiguous = compute_metrics(run("continuous", block_size=4, num_kv_blocks=16, kv_layout="contiguous"))
    assert contiguous["kv_fragmentation"] > paged["kv_fragmentation"]
    assert contiguous["max_kv_cache_usage"] == pytest.approx(8 / 16)  # two slots of 16 tokens


def test_one_output_token_has_no_tpot_and_no_itl():
    metrics = compute_metrics(run("static", [(3, 1)]))
    assert metrics["mean_tpot_ms"] is None
    assert metrics["p99_itl_ms"] is None
    assert metrics["mean_ttft_ms"] == pytest.approx(1.3)


def test_rejected_requests_count_as_rejected_and_nowhere_else():
    recording = run("chunked", [(3, 2), (40, 2)])
    metrics = compute_metrics(recording)
    assert (metrics["completed"], metrics["num_rejected"], metrics["total_input_tokens"]) == (1, 1, 3)
    assert sum(column[1] for column in request_ledger(Timeline(recording)).values()) == 0


def test_idle_time_before_an_arrival_is_nobody_waiting():
    slots = in_ms(slot_ledger(Timeline(run("continuous", [(3, 1, 10.0)]))))
    assert slots["idle_empty"] == [10.0, pytest.approx(11.3)]


def test_a_window_that_waits_is_idle_with_work_waiting():
    slots = in_ms(slot_ledger(Timeline(run("dynamic", [(3, 1, 10.0)], max_wait=0.02))))
    assert slots["idle_waiting"] == [20.0, 20.0]
    assert slots["idle_empty"] == [10.0, pytest.approx(11.3)]


def test_a_run_without_iterations_has_no_numbers():
    metrics = compute_metrics(run("static", [(40, 2)]))
    assert metrics["output_throughput"] is None
    assert metrics["num_rejected"] == 1
