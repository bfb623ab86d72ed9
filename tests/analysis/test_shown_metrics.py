from __future__ import annotations

from minibatch.analysis.formats import three_figures
from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.shown_metrics import HEADLINES, ROWS, MetricRow, best_of_row, headlines, requests_in_words
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of

TTFT = MetricRow("TTFT", "mean", "ms", "mean_ttft_ms", "lower")


def best(*values: float | None) -> list[bool]:
    return best_of_row(TTFT, [{"mean_ttft_ms": value} for value in values], [three_figures(value) for value in values])


def test_the_lowest_latency_is_best_and_shown_ties_share_it():
    assert best(2.0, 1.001, 1.002) == [False, True, True]


def test_none_is_best_where_all_are_equal_or_unknown():
    assert best(2.0, 2.0) == [False, False]
    assert best(None, None) == [False, False]


def test_a_run_without_a_value_does_not_win():
    assert best(None, 3.0, 2.0) == [False, False, True]


def test_every_row_names_a_metric():
    metrics = compute_metrics(record(requests_of([(3, 2)]), "static", SchedulerConfig()))
    keys = [row.key for row in ROWS]
    assert [key for key in keys if key not in metrics] == []
    assert set(HEADLINES) <= set(keys)


def test_means_say_how_many_requests_they_are_of():
    def of(*counts: tuple[int, int]) -> list[dict[str, float | int | None]]:
        return [{"completed": served, "num_rejected": rejected} for served, rejected in counts]

    assert requests_in_words(3, of((3, 0), (3, 0))) == "3 requests"
    assert requests_in_words(3, of((2, 1), (2, 1))) == "3 requests, 2 served, 1 rejected"
    assert requests_in_words(3, of((2, 1), (3, 0))) == "3 requests, of which some were rejected"
    assert headlines(of((3, 0))) == HEADLINES
    assert headlines(of((3, 0), (2, 1)))[:2] == ("completed", "num_rejected")
