"""What if: both futures below the recording, and the wishes that can't be granted."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from minibatch.ui.compare.forks import ForkRun, fork_words
from minibatch.ui.shared.jobs import JobStatus
from tests.ui.page.driving import (
    SMALL,
    ask,
    finish,
    lanes,
    notices,
    open_app,
    payload,
    players,
    rerun,
)


@pytest.mark.usefixtures("real")
def test_what_if_shows_both_futures_below_the_recording() -> None:
    app = open_app()
    original = next(run for run in load(SMALL) if run.header.policy == "continuous")
    ask(app, policy="continuous", iteration=20, knob="policy", value="chunked", nonce=1)
    key, run, ticket = app.session_state["fork"]
    finish(app, ticket)
    assert ticket.status is JobStatus.DONE
    assert list(players(app)) == ["player", "fork"]
    given = payload(app, "fork")
    assert [run["label"] for run in given["runs"]] == ["policy = continuous", "policy = chunked"]
    assert [run["policy"] for run in given["runs"]] == ["continuous", "chunked"]
    assert given["options"]["title"] == (
        "What if, from step 20 of continuous, policy were chunked instead of continuous?"
    )
    difference = run.result.difference
    assert given["options"]["watch"].startswith(f"A{difference[1:]}. From the fork on, steps are modelled")
    assert "knobs" not in given["options"]
    assert given["options"]["link"] is None
    # It starts where the two part, which is not before the step that was asked for.
    differs_at = run.result.differs_at
    assert differs_at >= 20
    assert given["options"]["start"]["position"] == run.result.changed.iterations["start_ns"][differs_at]
    assert run.result.changed.iterations["start_ns"][:20].tolist() == original.iterations["start_ns"][:20].tolist()
    assert key == payload(app)["options"]["id"]


@pytest.mark.usefixtures("real")
def test_a_wish_is_granted_once_and_belongs_to_its_recordings() -> None:
    app = open_app()
    ask(app, policy="static", iteration=0, knob="max_num_seqs", value="4", nonce=1)
    ticket = app.session_state["fork"][2]
    finish(app, ticket)
    rerun(app)
    assert app.session_state["fork"][2] is ticket
    app.pills[0].set_value(["chunked"])
    assert list(players(rerun(app))) == ["player", "fork"]
    app.segmented_control(key="source").set_value("New run")
    assert list(players(rerun(app))) == []
    app.segmented_control(key="source").set_value("Recorded")
    assert list(players(rerun(app))) == ["player", "fork"]


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("knob", "value", "reason"),
    [
        ("max_num_seqs", "0", "max_num_seqs is 0: use a whole number of at least 1"),
        ("max_num_seqs", "1.5", "max_num_seqs is &#x27;1.5&#x27;: expected a whole number"),
        ("watermark", "nan", "watermark is &#x27;nan&#x27;: expected a number"),
        ("policy", "<b>lottery</b>", "unknown policy &#x27;&lt;b&gt;lottery&lt;/b&gt;&#x27;: choose from "),
    ],
)
def test_a_wish_that_cannot_be_granted_is_one_sentence(knob: str, value: str, reason: str) -> None:
    app = open_app()
    ask(app, policy="chunked", iteration=3, knob=knob, value=value)
    finish(app, app.session_state["fork"][2])
    (notice,) = notices(app)
    assert notice.startswith(reason)
    assert list(players(app)) == ["player"]


@pytest.mark.usefixtures("bundled")
def test_a_recording_that_cannot_be_repeated_is_said_so() -> None:
    app = open_app()
    ask(app, policy="static", iteration=1, knob="max_num_seqs", value="1")
    finish(app, app.session_state["fork"][2])
    assert len(notices(app)) == 1
    assert list(players(app)) == ["player"]


@pytest.mark.usefixtures("real")
def test_another_wish_takes_the_place_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, begun = threading.Event(), threading.Event()
    work = ForkRun.__call__

    def slow(self: ForkRun, **hooks: Any) -> list[Recording]:
        begun.set()
        assert gate.wait(10)
        return work(self, **hooks)

    monkeypatch.setattr(ForkRun, "__call__", slow)
    app = open_app()
    ask(app, policy="chunked", iteration=3, knob="max_num_seqs", value="4")
    first = app.session_state["fork"][2]
    assert begun.wait(10)
    assert app.button(key="cancel fork").label == "Cancel"
    ask(app, policy="chunked", iteration=3, knob="max_num_batched_tokens", value="32")
    assert first.cancelled
    gate.set()
    finish(app, app.session_state["fork"][2])
    assert lanes(app, "fork") == ["max_num_batched_tokens = 64", "max_num_batched_tokens = 32"]


def test_every_knob_is_turned_to_what_the_player_sends() -> None:
    """The browser sends text, as JavaScript writes values."""
    recording = next(run for run in load(SMALL) if run.header.policy == "continuous")
    for knob, text, value in (
        ("mix_prefill", "true", True),
        ("watermark", "0.5", 0.5),
        ("preemption_mode", "swap", "swap"),
    ):
        run = ForkRun(recording, {"policy": "continuous", "iteration": 5, "knob": knob, "value": text})
        with pytest.raises(ValueError, match="not done"):
            fork_words(run)
        pair = run(on_progress=lambda _: None, should_stop=lambda: False, on_snapshot=lambda _: None)
        assert pair[1].header.config[knob] == value
        assert fork_words(run)[0].endswith(f"{knob} were {value} instead of {recording.header.config[knob]}?")
