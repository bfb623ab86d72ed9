from __future__ import annotations

import pytest

from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.summary import ROWS, Row, best, shown, three_figures
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of

TTFT = Row("TTFT", "TTFT mean", "mean_ttft_ms", "ms", "lower")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1,230"), (99.96, "100"), (12.345, "12.3"), (1.2345, "1.23"), (0.0012345, "0.0012"), (3, "3")],
)
def test_at_most_three_significant_figures(value, text):
    assert three_figures(value) == text


def test_the_lowest_latency_is_best_and_shown_ties_share_it():
    assert best(TTFT, [{"mean_ttft_ms": v} for v in (2.0, 1.001, 1.002)]) == [False, True, True]


def test_none_is_best_where_all_are_equal_or_unknown():
    assert best(TTFT, [{"mean_ttft_ms": 2.0}, {"mean_ttft_ms": 2.0}]) == [False, False]
    assert best(TTFT, [{"mean_ttft_ms": None}, {"mean_ttft_ms": None}]) == [False, False]
    assert shown(TTFT, {"mean_ttft_ms": None}) == "–"


def test_a_run_without_a_value_does_not_win():
    assert best(TTFT, [{"mean_ttft_ms": None}, {"mean_ttft_ms": 2.0}]) == [False, True]


def test_every_row_names_a_metric():
    metrics = compute_metrics(record(requests_of([(3, 2)]), "static", SchedulerConfig()))
    assert [row.key for row in ROWS if row.key not in metrics] == []
