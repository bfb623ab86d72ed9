"""Runs that are refused or fail: one sentence each, in plain text."""

from __future__ import annotations

import pytest

from tests.ui.page.driving import (
    Engine,
    choose_run,
    finish,
    lanes,
    notices,
    open_app,
    players,
    press,
    rerun,
)
from tests.ui.recordings import IMAGE, static


@pytest.mark.usefixtures("bundled")
def test_what_cannot_be_run_is_one_sentence_and_never_reaches_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch)
    app = choose_run(open_app())
    app.number_input(key="knob chat block_size").set_value(65)
    app.button(key="run").click()
    (refusal,) = notices(rerun(app))
    assert refusal.startswith("block_size is 65: use ")
    app.number_input(key="knob chat block_size").set_value(16)
    app.pills[0].set_value([])
    app.button(key="run").click()
    assert notices(rerun(app)) == ["No policy is chosen: choose at least one in the sidebar."]
    app.pills[0].set_value(["static"])
    app.selectbox(key="scenario").set_value("typed")
    rerun(app)
    app.text_area(key="prompts").set_value("  \n ")
    app.button(key="run").click()
    assert notices(rerun(app)) == ["No prompt is typed: write at least one in the sidebar."]
    assert engine.jobs == []
    assert "ticket" not in app.session_state


@pytest.mark.usefixtures("bundled")
def test_a_refusal_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [static()], ValueError("old error"))
    engine.gate.set()
    app = choose_run(open_app())
    finish(app, press(app))
    assert lanes(app) == ["static"]
    app.number_input(key="knob chat block_size").set_value(65)
    app.button(key="run").click()
    rerun(app)
    assert len(notices(app)) == 1
    assert players(app) == {}
    app.number_input(key="knob chat block_size").set_value(16)
    finish(app, press(app))
    assert notices(app) == ["old error"]
    app.number_input(key="knob chat block_size").set_value(65)
    app.button(key="run").click()
    (refusal,) = notices(rerun(app))
    assert refusal.startswith("block_size is 65: use ")


@pytest.mark.usefixtures("bundled")
def test_a_refusal_leaves_a_run_that_goes_on_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [static()])
    app = choose_run(open_app())
    ticket = press(app)
    assert engine.started.wait(10)
    app.number_input(key="knob chat block_size").set_value(65)
    app.button(key="run").click()
    rerun(app)
    assert len(notices(app)) == 1
    assert app.get("progress")
    assert not ticket.cancelled
    engine.gate.set()
    finish(app, ticket)
    assert lanes(app) == ["static"]


@pytest.mark.usefixtures("bundled")
def test_what_an_engine_quotes_is_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, ValueError(f"there is no model {IMAGE}<img src=x>"))
    engine.gate.set()
    app = choose_run(open_app())
    assert notices(finish(app, press(app))) == [f"there is no model {IMAGE}&lt;img src=x&gt;"]
    assert players(app) == {}
