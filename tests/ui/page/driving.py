"""The page driven without a browser: what stands on it, what is pressed, and an engine that waits."""

from __future__ import annotations

import functools
import json
import re
import threading
import time
import zlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from minibatch.recording.part import part_of
from minibatch.recording.schema import Recording
from minibatch.ui.shared import jobs
from minibatch.ui.shared.jobs import Ticket
from tests.ui.browser import ROOT

SMALL = ROOT / "assets" / "recordings" / "long-document.mbr"


# A new page of AppTest reads the metadata of every installed package, which a server does once.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)


class Engine:
    """In place of the real engine: goes on when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *outcomes: list[Recording] | Exception) -> None:
        self.outcomes = list(outcomes)
        self.jobs: list[dict[str, Any]] = []
        self.started = threading.Event()
        self.gate = threading.Event()
        self.snapshots: list[list[Recording]] = []
        monkeypatch.setattr(jobs, "run_on_engine", self)

    def __call__(
        self,
        job: dict[str, Any],
        *,
        on_progress: Callable[..., None],
        should_stop: Callable[[], bool],
        on_snapshot: Callable[..., None],
    ) -> list[Recording]:
        self.jobs.append(job)
        on_progress(SimpleNamespace(policy="static", policy_index=0, num_policies=2, num_finished=12, num_requests=32))
        for snapshot in self.snapshots:
            on_snapshot(lambda snapshot=snapshot: [part_of(recording) for recording in snapshot])
        self.started.set()
        while not self.gate.wait(0.005) and not should_stop():
            pass
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def open_app(**parameters: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "minibatch" / "ui" / "script.py"), default_timeout=60)
    app.query_params.update(parameters)
    return rerun(app)


def rerun(app: AppTest) -> AppTest:
    app.run()
    assert not app.exception
    return app


def html(app: AppTest) -> str:
    return "".join(element.proto.body for element in app.get("html"))


def notices(app: AppTest) -> list[str]:
    """The messages, and nothing that would be taken for Markdown."""
    assert not [*app.error, *app.warning, *app.info]
    found = re.findall(r"role='(?:alert|status)'>(.*?)</div>", html(app), re.DOTALL)
    return [re.sub("</?code>", "`", text) for text in found]


def players(app: AppTest) -> dict[str, Any]:
    """Every player's element by its key."""
    found = [e for e in app.get("bidi_component") if e.proto.component_name == "minibatch.player"]
    assert len({e.key for e in found}) == len(found)
    return {e.key: e for e in found}


def payload(app: AppTest, key: str = "player") -> dict[str, Any]:
    """What a player was given, without its columns."""
    head, _, _ = zlib.decompress(players(app)[key].proto.bytes).partition(b"\n")
    return json.loads(head)


def lanes(app: AppTest, key: str = "player") -> list[str]:
    return [run["label"] for run in payload(app, key)["runs"]]


def choose_run(app: AppTest) -> AppTest:
    app.segmented_control(key="source").set_value("New run")
    return rerun(app)


def choose_recording(app: AppTest, index: int) -> None:
    radio = app.radio(key="recording")
    radio.set_value(radio.options[index])


def take_away(app: AppTest) -> AppTest:
    """Open what holds the downloads."""
    app.session_state["export"] = True
    return rerun(app)


def press(app: AppTest) -> Ticket:
    app.button(key="run").click()
    rerun(app)
    return app.session_state["ticket"]


def finish(app: AppTest, ticket: Ticket) -> AppTest:
    wait_for(lambda: ticket.finished)
    return rerun(app)


def ask(app: AppTest, **wish: Any) -> AppTest:
    """What the browser sends for setTriggerValue("fork", wish), and the rerun that follows."""
    states = app._tree.get_widget_states()
    events = f"$$STREAMLIT_INTERNAL_KEY_{players(app)['player'].proto.id}__events"
    states.widgets.append(WidgetState(id=events, json_trigger_value=json.dumps([{"event": "fork", "value": wish}])))
    app._run(states)
    assert not app.exception
    return app


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
