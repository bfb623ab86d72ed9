"""Numbers, tables and texts as they are shown."""

from dataclasses import replace

import pytest

from minibatch.analysis.formats import duration, percent, plural, three_figures
from minibatch.analysis.shown_metrics import ROWS
from minibatch.recording.schema import Recording
from minibatch.ui.compare.ledger_bars import ledger_bars_html, slot_time_rows
from minibatch.ui.compare.metrics_table import metrics_frame, metrics_html
from minibatch.ui.shared.notices import Notice, notice_html
from minibatch.ui.shared.palette import theme
from minibatch.ui.shared.summary import (
    clocks,
    intro_html,
    ledger_legend_html,
    progress_words,
    provenance,
    provenances,
    title,
    watch,
)
from tests.ui.recordings import HTML

Pair = tuple[Recording, ...]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (None, "–"),
        (1728.05, "1,730"),
        (999.6, "1,000"),
        (0.09922, "0.0992"),
        (1.4, "1.40"),
        (12.34, "12.3"),
    ],
)
def test_three_figures(value: float | None, text: str) -> None:
    assert three_figures(value) == text


def test_units_follow_the_size() -> None:
    assert (duration(840_000), duration(1_460_000_000)) == ("0.840 ms", "1.46 s")
    assert (percent(0.333), percent(0.0612), percent(0), percent(None)) == ("33", "6.1", "0", "–")
    assert (plural(1, "request"), plural(32, "request")) == ("1 request", "32 requests")


def test_the_best_of_a_row_is_marked(pair: Pair) -> None:
    frame = metrics_frame(pair)
    assert list(frame.index) == [row.key for row in ROWS]
    duration_row = frame.loc["duration"]
    assert (duration_row["shown static"], duration_row["shown continuous"]) == ("0.0600", "0.0500")
    assert not duration_row["best static"]
    assert duration_row["best continuous"]
    assert frame.loc["slot_padding"]["best continuous"]


def test_no_value_is_best_where_all_are_equal_or_none_is_better(pair: Pair) -> None:
    frame = metrics_frame(pair)
    assert not frame.loc["num_preemptions"][["best static", "best continuous"]].any()
    assert not frame.loc["slot_idle_empty"][["best static", "best continuous"]].any()


def test_a_policy_may_bear_any_name(pair: Pair) -> None:
    names = ("unit", "best unit")
    runs = [replace(run, header=replace(run.header, policy=name)) for run, name in zip(pair, names, strict=True)]
    html = metrics_html(metrics_frame(runs), names, "", grouped=False)
    assert "<td>0.0600</td><td class='mb-best'><span title='best of the row'>●</span>0.0500</td>" in html
    assert "<span class='mb-tail'>" in html


def test_one_recording_alone_is_not_the_best(pair: Pair) -> None:
    assert not metrics_frame(pair[:1])[["best static"]].any(axis=None)


def test_the_table_marks_with_more_than_colour_and_says_measured(pair: Pair) -> None:
    caption = provenance(pair[0].header)
    html = metrics_html(metrics_frame(pair), ("static", "continuous"), caption, grouped=True)
    assert "class='mb-best'><span title='best of the row'>●</span>" in html
    assert "measured on 2-core CPU, model bundled in float32" in html
    assert "output_throughput" in html


def test_what_is_measured_and_what_modelled_is_said_by_policy(pair: Pair) -> None:
    modelled = replace(pair[1], header=replace(pair[1].header, clock="modelled", device="H100"))
    assert provenances(pair) == "measured on 2-core CPU, model bundled in float32"
    assert "continuous modelled on H100" in provenances((pair[0], modelled))
    assert clocks((pair[0], modelled)) == "measured and modelled"


def test_a_scenario_has_a_title_and_something_to_watch(pair: Pair) -> None:
    known = pair[0].header
    assert title(known) == "Chat: short and long answers mixed"
    assert watch(known).startswith("In a static batch the short answers finish early")
    assert title(replace(known, scenario="typed prompts")) == "Your own prompts"
    assert (title(replace(known, scenario="mine")), watch(replace(known, scenario="mine"))) == ("mine", "")


def test_progress_in_words() -> None:
    assert progress_words("chunked", 12, 3200) == "chunked: 12 of 3,200 requests"
    assert progress_words("static", 0, 1) == "static: 0 of 1 request"


def test_what_somebody_wrote_stays_text(pair: Pair) -> None:
    runs = [replace(run, header=replace(run.header, policy=f"{HTML}{k}", device=HTML)) for k, run in enumerate(pair)]
    names = tuple(run.header.policy for run in runs)
    for html in (
        metrics_html(metrics_frame(runs), names, provenances(runs), grouped=True),
        intro_html(HTML, HTML),
        ledger_legend_html([(HTML, "#fff")]),
        ledger_bars_html(slot_time_rows(runs), HTML, theme("light")),
        notice_html(Notice(HTML, "error")),
    ):
        assert "&lt;img src=x onerror=alert(1)&gt; &amp; **bold**" in html
        assert "<img" not in html


def test_a_notice_shows_commands_as_such_and_nothing_else() -> None:
    html = notice_html(Notice(f"Run `python -m x` for {HTML}", "note"))
    assert "<code>python -m x</code>" in html
    assert "<img" not in html


def test_a_notice_is_said_aloud_where_something_is_wrong() -> None:
    assert "role='status'" in notice_html(Notice("Choose a policy.", "note"))
    assert "role='alert'" in notice_html(Notice("There is no file.", "warning"))
    assert "role='alert'" in notice_html(Notice("The run failed.", "error"))
