"""Alerts: each at its threshold, with the numbers that set it off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.slo import Goodput, Slo
from minibatch.analysis.summarise import summarise
from minibatch.analysis.summary_metrics import summary_goodput, summary_metrics
from minibatch.analysis.sweeps.alerts import Alarm, Thresholds, alerts
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of

CALM = {
    "mean_queue_time_ms": 10.0,
    "p99_queue_time_ms": 90.0,
    "mean_e2el_ms": 100.0,
    "num_preemptions": 0,
    "completed": 20,
}


def run(lengths, **knobs):
    """1 ms an iteration and 0.1 ms a token, two slots."""
    knobs = {"max_num_seqs": 2, "max_num_batched_tokens": 4, "max_model_len": 16, "watermark": 0.0} | knobs
    return record(requests_of(lengths), "continuous", SchedulerConfig(**knobs))


def good(good: int, arrived: int) -> Goodput:
    return Goodput(good, arrived, arrived, good / 2, good / arrived if arrived else None)


def sentences(metrics, **given) -> dict[Alarm, str]:
    return {alert.alarm: alert.sentence for alert in alerts(CALM | metrics, **given)}


def test_a_calm_run_sets_nothing_off():
    assert alerts(CALM, busy=1.0, goodput=good(20, 20)) == []


def test_queue_time():
    assert sentences({"mean_queue_time_ms": 49.9}) == {}
    assert sentences({"mean_queue_time_ms": 50.0}) == {
        Alarm.QUEUE_TIME: "Requests spend 50 % of their time in the queue: 50.0 of 100 ms in the mean, p99 90.0 ms."
    }
    assert sentences({"mean_queue_time_ms": 50.0}, thresholds=Thresholds(queue_share=0.6)) == {}


def test_preemptions():
    assert sentences({"num_preemptions": 1}) == {}
    assert sentences({"num_preemptions": 2}) == {
        Alarm.PREEMPTIONS: "2 preemptions for 20 completed requests, 0.100 each."
    }
    assert sentences({"num_preemptions": 1}, thresholds=Thresholds(preemptions=0.05)) == {
        Alarm.PREEMPTIONS: "1 preemption for 20 completed requests, 0.0500 each."
    }


THRASHING = {"busy": 0.95, "goodput": good(2, 20)}


def test_thrashing():
    assert sentences({"num_preemptions": 20}, **THRASHING)[Alarm.THRASHING] == (
        "Thrashing: the device is busy 95 % of the time, yet 2 of 20 requests met the SLO; "
        "20 preemptions for 20 completed requests, 1.00 each."
    )


@pytest.mark.parametrize(
    ("preemptions", "change"),
    [(19, {}), (20, {"busy": 0.94}), (20, {"goodput": good(3, 20)}), (20, {"busy": None}), (20, {"goodput": None}),
     (20, {"goodput": good(0, 0)}), (20, {"thresholds": Thresholds(thrashing_preemptions=1.1)})],
)  # fmt: skip
def test_each_sign_alone_is_not_thrashing(preemptions, change):
    assert Alarm.THRASHING not in sentences({"num_preemptions": preemptions}, **THRASHING | change)


def test_nothing_completed_and_everything_preempted_is_thrashing():
    nothing = {"mean_queue_time_ms": None, "p99_queue_time_ms": None, "mean_e2el_ms": None, "completed": 0}
    found = sentences(nothing | {"num_preemptions": 7}, busy=1.0, goodput=Goodput(0, 0, 4, 0.0, 0.0))
    assert list(found) == [Alarm.THRASHING, Alarm.PREEMPTIONS]
    assert found[Alarm.PREEMPTIONS] == "7 preemptions for 0 completed requests."
    assert sentences(nothing, busy=1.0, goodput=Goodput(0, 0, 4, 0.0, 0.0)) == {}


@given(st.floats(0, 100), st.integers(0, 50), st.integers(1, 50), st.integers(0, 20))
def test_worse_numbers_never_silence_an_alarm(queue, preemptions, more, met):
    def alarms(queue: float, preemptions: int, met: int) -> set[Alarm]:
        metrics = {"mean_queue_time_ms": queue, "num_preemptions": preemptions}
        return set(sentences(metrics, busy=1.0, goodput=good(met, 20)))

    assert alarms(queue, preemptions, met) <= alarms(queue + more, preemptions + more, max(0, met - more))


def test_alerts_of_a_run():
    """Six requests for two slots and four blocks; the last iterations are busy with what was dropped."""
    recording = run([(3, 4)] * 6, block_size=2, num_kv_blocks=4)
    metrics = compute_metrics(recording)
    summary = summarise(recording)
    found = alerts(
        metrics,
        busy=summary_metrics(summary)["busy"],
        goodput=summary_goodput(summary, Slo(ttft_ms=1.5)),
    )
    assert [alert.alarm for alert in found] == [Alarm.QUEUE_TIME, Alarm.PREEMPTIONS]
    assert f"{metrics['num_preemptions']} preemptions for 6 completed requests" in found[1].sentence


def test_the_busy_share_leaves_out_the_gaps():
    """1.3 and 1.1 ms, and the same again from 10 ms on: 4.8 of 12.4 ms."""
    assert summary_metrics(summarise(run([(3, 2), (3, 2, 10.0)])))["busy"] == pytest.approx(4.8 / 12.4)
    assert summary_metrics(summarise(run([(12, 8)])))["busy"] is None
