"""Runs from the page: while they are recorded, after that, cancelled, and one after another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ui.page.driving import (
    Engine,
    choose_run,
    finish,
    html,
    lanes,
    notices,
    open_app,
    payload,
    players,
    press,
    rerun,
    take_away,
)
from tests.ui.recordings import continuous, static


@pytest.mark.usefixtures("bundled")
def test_a_run_plays_while_it_is_recorded_and_then_shows_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [continuous(), static()])
    app = choose_run(open_app())
    assert notices(app) == ["Choose a workload in the sidebar and press Run."]
    app.selectbox(key="scenario").set_value("kv-squeeze")
    rerun(app)
    unfinished = replace(static(), header=replace(static().header, complete=False))
    engine.snapshots = [[unfinished]]
    ticket = press(app)
    assert engine.started.wait(10)
    rerun(app)
    assert "static: 12 of 32 requests" in [bar.proto.text for bar in app.get("progress")]
    live = payload(app)
    assert live["options"]["live"] is True
    assert "knobs" not in live["options"], "what is not yet recorded can't be rerun"
    assert [(run["label"], run["complete"]) for run in live["runs"]] == [("static", False)]
    assert not app.get("download_button")
    place = players(app)["player"].proto.id
    engine.gate.set()
    finish(app, ticket)
    done = payload(app)
    assert not done["options"].get("live")
    assert done["options"]["id"] == live["options"]["id"], "the player would begin anew"
    assert players(app)["player"].proto.id == place
    assert lanes(app) == ["static", "continuous"]
    assert done["options"]["knobs"]
    assert not app.get("progress")
    assert html(app).index(">static<") < html(app).index(">continuous<")
    assert len(take_away(app).get("download_button")) == 5
    (job,) = engine.jobs
    assert (job["scenario"], job["config"].num_kv_blocks) == ("kv-squeeze", 64)
    assert done["options"]["link"] == {
        "scenario": "kv-squeeze", "model": "bundled", "clock": "measured", "seed": "0", "temperature": "0.7",
    }  # fmt: skip


@pytest.mark.usefixtures("bundled")
def test_a_run_can_be_cancelled_and_shows_what_it_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [replace(static(), header=replace(static().header, complete=False))], [])
    app = choose_run(open_app())
    app.selectbox(key="scenario").set_value("typed")
    rerun(app)
    app.text_area(key="prompts").set_value("<b>hello</b>\n\n  second  ")
    ticket = press(app)
    assert engine.started.wait(10)
    app.button(key="cancel").click()
    rerun(app)
    assert ticket.cancelled
    finish(app, ticket)
    assert engine.jobs[0]["prompts"] == ("<b>hello</b>", "second")
    assert [run["complete"] for run in payload(app)["runs"]] == [False]
    nothing = press(app)
    nothing.cancel()
    assert notices(finish(app, nothing)) == ["The run was cancelled before it recorded anything."]
    assert players(app) == {}


@pytest.mark.usefixtures("bundled")
def test_runs_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [static()], [static()])
    first, second = choose_run(open_app()), choose_run(open_app())
    press(first)
    assert engine.started.wait(10)
    ticket = press(second)
    assert "Waiting for 1 other run" in [bar.proto.text for bar in second.get("progress")]
    engine.gate.set()
    finish(second, ticket)
    assert lanes(second) == ["static"]


@pytest.mark.usefixtures("bundled")
def test_another_run_takes_the_place_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [static()], [continuous()])
    app = choose_run(open_app())
    first = press(app)
    assert engine.started.wait(10)
    engine.gate.set()
    second = press(app)
    assert first.cancelled
    finish(app, second)
    assert lanes(app) == ["continuous"]


@pytest.mark.usefixtures("bundled")
def test_a_run_with_somebodys_own_model_has_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [static()])
    engine.gate.set()
    app = choose_run(open_app())
    app.selectbox(key="model measured").set_value("another one")
    rerun(app)
    app.text_input(key="model name").set_value(" someone/gpt2 ")
    finish(app, press(app))
    assert engine.jobs[0]["model"] == "someone/gpt2"
    assert payload(app)["options"]["link"] is None
