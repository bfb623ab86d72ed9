"""The page "Published results": before a run, while it runs, and what it came to."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from minibatch.analysis.reproduce import EXPERIMENTS, Experiment, anyscale, kv_share
from minibatch.analysis.reproduce.result import Reproduction, ResultRow, StoppedError, Watch
from minibatch.ui.published import page as reproduce
from minibatch.ui.published.chart import chart_of, reasons_html, table_html
from minibatch.ui.shared.palette import theme
from tests.ui.page.driving import html, notices, rerun, wait_for
from tests.ui.recordings import HTML


@pytest.fixture(scope="module")
def shares() -> Reproduction:
    return kv_share.reproduce(num_requests=20)


class Waiting:
    """In place of an experiment: waits until a test says how it ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outcome: Reproduction | Exception) -> None:
        self.started, self.gate, self.outcome = threading.Event(), threading.Event(), outcome
        self.was_stopped = False
        self.seeds: list[int] = []
        patched = {name: Experiment(name, each.title, self) for name, each in EXPERIMENTS.items()}
        monkeypatch.setattr(reproduce, "EXPERIMENTS", patched)

    def __call__(self, seed: int, watch: Watch) -> Reproduction:
        self.seeds.append(seed)
        try:
            watch.at(1, 4)
            self.started.set()
            while not self.gate.wait(0.005):
                watch.at(1, 4)
        except StoppedError:
            self.was_stopped = True
            raise
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def open_page() -> AppTest:
    def script() -> None:
        from minibatch.ui.published import page as reproduce

        reproduce.page()

    return rerun(AppTest.from_function(script, default_timeout=60))


def press_run(app: AppTest) -> Any:
    app.button(key="reproduce").click()
    rerun(app)
    return app.session_state[reproduce._RUN].ticket


def buttons(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def test_before_a_run_it_says_what_prints_the_same() -> None:
    app = open_page()
    assert app.selectbox[0].options == [experiment.title for experiment in EXPERIMENTS.values()]
    (said,) = notices(app)
    assert "`python -m minibatch reproduce anyscale` prints the same" in said
    assert buttons(app) == ["Run"]


def test_a_run_shows_its_progress_and_then_both_figures(monkeypatch: pytest.MonkeyPatch, shares: Reproduction) -> None:
    waiting = Waiting(monkeypatch, replace(shares, name="anyscale"))
    app = open_page()
    ticket = press_run(app)
    waiting.started.wait(10)
    rerun(app)
    assert buttons(app) == ["Cancel"]
    assert ticket.share_done == 0.25
    waiting.gate.set()
    wait_for(lambda: ticket.finished)
    shown = html(rerun(app))
    assert buttons(app) == []
    assert re.search(r"title='share of KV memory[^']*checked 2026-11-29'>20\.4 %</td><td>[0-9.]+ %</td>", shown)
    assert "Published by Kwon et al., PagedAttention (SOSP 2023). Modelled on opt-13b on A100" in shown
    assert "<h2>Assumptions</h2>" in shown
    (drawn,) = app.get("arrow_vega_lite_chart") or app.get("vega_lite_chart")
    assert "published 96.3 %, modelled" in json.loads(drawn.proto.spec)["description"]


def test_what_was_run_stays_and_others_are_run_by_themselves(
    monkeypatch: pytest.MonkeyPatch, shares: Reproduction
) -> None:
    waiting = Waiting(monkeypatch, shares)
    waiting.gate.set()
    app = open_page()
    ticket = press_run(app)
    wait_for(lambda: ticket.finished)
    rerun(app)
    app.selectbox[0].set_value("orca")
    rerun(app)
    assert (buttons(app), app.get("arrow_vega_lite_chart")) == (["Run"], [])
    app.selectbox[0].set_value("anyscale")
    assert "<h2>Assumptions</h2>" in html(rerun(app))


def test_each_seed_is_run_by_itself(monkeypatch: pytest.MonkeyPatch, shares: Reproduction) -> None:
    waiting = Waiting(monkeypatch, replace(shares, name="anyscale"))
    waiting.gate.set()
    app = open_page()
    app.number_input(key="reproduce seed").set_value(7)
    (said,) = notices(rerun(app))
    assert "`python -m minibatch reproduce anyscale --seed 7` prints the same" in said
    ticket = press_run(app)
    wait_for(lambda: ticket.finished)
    rerun(app)
    assert (waiting.seeds, buttons(app)) == ([7], [])
    app.number_input(key="reproduce seed").set_value(8)
    assert buttons(rerun(app)) == ["Run"]


def test_a_cancelled_run_may_be_begun_again(monkeypatch: pytest.MonkeyPatch, shares: Reproduction) -> None:
    waiting = Waiting(monkeypatch, shares)
    app = open_page()
    ticket = press_run(app)
    waiting.started.wait(10)
    rerun(app)
    app.button(key="cancel reproduction").click()
    app.run()
    wait_for(lambda: ticket.finished)
    rerun(app)
    assert waiting.was_stopped
    assert buttons(app) == ["Run"]


def test_a_failure_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    Waiting(monkeypatch, ValueError("there is no such model")).gate.set()
    app = open_page()
    ticket = press_run(app)
    wait_for(lambda: ticket.finished)
    assert notices(rerun(app))[0] == "there is no such model"


def test_sources_show_on_hovering_and_what_is_off_is_marked_and_said() -> None:
    found = anyscale.reproduce(num_requests=30)
    table, reasons = table_html(found), reasons_html(found)
    assert "title='continuous batching (Ray Serve, TGI): throughput over naive static batching" in table
    assert "checked 2026-11-29'>8 x</td>" in table
    assert table.count("mb-best") == sum(row.is_off for row in found.rows)
    assert "● off: modelled and published are more than 30\N{NO-BREAK SPACE}% apart." in table
    for row in found.rows:
        assert (f"<li>{row.what}: " in reasons) == bool(row.verdict)
        assert row.is_off == ("% below what was published" in row.verdict or "% above what" in row.verdict)


def test_names_stay_text(shares: Reproduction) -> None:
    hostile = replace(shares, machine=HTML, rows=(ResultRow(HTML, None, "x", None, HTML),), assumptions=(HTML,))
    assert "<img" not in table_html(hostile) + reasons_html(hostile)


@pytest.mark.parametrize("kind", ["light", "dark"])
def test_curves_are_modelled_lines_and_published_marks(kind: str) -> None:
    found = anyscale.reproduce(num_requests=20)
    spec = chart_of(found, theme(kind)).to_dict()
    kinds: list[str] = [layer["mark"]["type"] for layer in spec["layer"]]
    assert kinds == ["line", "line", "line", "point", "point", "text"]
    modelled, published = (spec["layer"][layer]["data"]["values"] for layer in (3, 4))
    assert {point["curve"].rpartition(" ")[2] for point in modelled} == {"(modelled)"}
    assert [(point["curve"], point["y"]) for point in published] == [
        ("continuous (published)", 8),
        ("continuous, paged KV (published)", 23),
    ]


def test_bars_stand_below_their_names_with_room_for_their_numbers(shares: Reproduction) -> None:
    spec = chart_of(shares, theme("light")).to_dict()
    bars, numbers, names = spec["layer"]
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["bar", "text", "text"]
    assert bars["encoding"]["x"]["scale"]["range"] == [0, {"expr": "width - 80.0"}]
    assert [each["row"] for each in names["data"]["values"]] == [row.what for row in shares.rows if row.ratio]
    assert numbers["data"]["values"][0]["words"] == "20.4 %"


def test_words_of_how_sure_a_figure_is_are_explained(shares: Reproduction) -> None:
    assert "Secondary" not in table_html(shares)
    unsure = replace(shares, machine="opt-13b on 2 × A100 (data sheet, link secondary)")
    assert "Secondary: read in another account of the source." in table_html(unsure)
    assert "Assumption:" not in table_html(unsure)
