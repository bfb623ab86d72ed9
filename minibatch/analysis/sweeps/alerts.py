"""Alarms that a server's operator would set: on queue time, on preemptions, and on thrashing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from minibatch.analysis.formats import percent, plural, three_figures
from minibatch.analysis.metrics import Metrics
from minibatch.analysis.slo import Goodput


class Alarm(StrEnum):
    """What an alert is about; the value is its word on the screen."""

    QUEUE_TIME = "queue time"
    PREEMPTIONS = "preemptions"
    THRASHING = "thrashing"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When an alarm goes off: at these values or beyond them. The defaults are rules of thumb.

    Attributes:
        queue_share: mean queue time as a share of mean E2E. A share suits every device and model.
        preemptions: per completed request.
        busy: share of the run's time in which an iteration ran; from here on it may be thrashing.
        thrashing_preemptions: per completed request, likewise.
        attainment: good requests as a share of those that arrived; thrashing is at or below it.
    """

    queue_share: float = 0.5
    preemptions: float = 0.1
    busy: float = 0.95
    thrashing_preemptions: float = 1.0
    attainment: float = 0.1


@dataclass(frozen=True, slots=True)
class Alert:
    """One alarm that went off, and a sentence with the numbers that set it off."""

    alarm: Alarm
    sentence: str


def alerts(
    metrics: Metrics,
    *,
    busy: float | None = None,
    goodput: Goodput | None = None,
    thresholds: Thresholds = Thresholds(),
) -> list[Alert]:
    """Every alarm that goes off, thrashing first. What a run does not have sets nothing off.

    Args:
        metrics: as `compute_metrics` gives them.
        busy: the metric of that name. Without it or `goodput` thrashing can't be told.
        goodput: as `judge` gives it, for the SLO of the day.
    """
    found = (
        _thrashing(metrics, busy, goodput, thresholds),
        _queue_time(metrics, thresholds),
        _preemptions(metrics, thresholds),
    )
    return [alert for alert in found if alert is not None]


def _queue_time(metrics: Metrics, thresholds: Thresholds) -> Alert | None:
    queue, e2el, p99 = (metrics[name] for name in ("mean_queue_time_ms", "mean_e2el_ms", "p99_queue_time_ms"))
    if queue is None or not e2el or queue / e2el < thresholds.queue_share:
        return None
    sentence = (
        f"Requests spend {percent(queue / e2el)} % of their time in the queue: "
        f"{three_figures(queue)} of {three_figures(e2el)} ms in the mean, p99 {three_figures(p99)} ms."
    )
    return Alert(Alarm.QUEUE_TIME, sentence)


def _preemptions(metrics: Metrics, thresholds: Thresholds) -> Alert | None:
    number, completed = int(metrics["num_preemptions"] or 0), int(metrics["completed"] or 0)
    if not number or number < thresholds.preemptions * completed:
        return None
    return Alert(Alarm.PREEMPTIONS, f"{_preempted(number, completed)}.")


def _thrashing(metrics: Metrics, busy: float | None, goodput: Goodput | None, thresholds: Thresholds) -> Alert | None:
    number, completed = int(metrics["num_preemptions"] or 0), int(metrics["completed"] or 0)
    if busy is None or goodput is None or goodput.attainment is None:
        return None
    calm = not number or number < thresholds.thrashing_preemptions * completed
    if calm or busy < thresholds.busy or goodput.attainment > thresholds.attainment:
        return None
    sentence = (
        f"Thrashing: the device is busy {percent(busy)} % of the time, yet {goodput.good} of "
        f"{plural(goodput.arrived, 'request')} met the SLO; {_preempted(number, completed)}."
    )
    return Alert(Alarm.THRASHING, sentence)


def _preempted(number: int, completed: int) -> str:
    """3 preemptions for 2 completed requests, 1.5 each."""
    words = f"{plural(number, 'preemption')} for {plural(completed, 'completed request')}"
    return f"{words}, {three_figures(number / completed)} each" if completed else words
