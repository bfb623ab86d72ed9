"""The page as a whole, without a browser: what the player is given, and everything around it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from minibatch.recording.schema import Recording
from minibatch.recording.storage import RecordingError, dumps, load, save
from minibatch.ui import compare, jobs, takeaway
from minibatch.ui.forks import ForkRun, fork_words
from minibatch.ui.jobs import Status, Ticket
from minibatch.ui.sources import FOLDER_VARIABLE, Shown, open_upload
from tests.ui.recordings import HTML, IMAGE, continuous, static

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "assets" / "recordings" / "long-document.mbr"


@pytest.fixture(autouse=True)
def _own_queue() -> Iterator[None]:
    """No run of one test waits for those of another."""
    compare._queue.clear()
    yield
    compare._queue.clear()


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one recording that the engine can repeat."""
    save(tmp_path / "long-document.mbr", load(SMALL))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


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
            on_snapshot(lambda snapshot=snapshot: snapshot)
        self.started.set()
        while not self.gate.wait(0.005) and not should_stop():
            pass
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def open_app(**parameters: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
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
    return re.findall(r"role='(?:alert|status)'>(.*?)</div>", html(app), re.DOTALL)


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
    app.radio(key="source").set_value("Run on this machine")
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


# -- a recording ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("bundled")
def test_opens_with_the_player_and_the_numbers() -> None:
    app = open_app()
    given = payload(app)
    assert list(players(app)) == ["player"]
    assert given["title"] == "Chat: short and long answers mixed"
    assert [(run["label"], run["clock"], run["device"]) for run in given["runs"]] == [
        ("static", "measured", "2-core CPU"),
        ("continuous", "measured", "2-core CPU"),
    ]
    options = given["options"]
    assert (options["autoplay"], options["scale"], options["link"]) == (True, 1, {"recording": "chat"})
    assert "live" not in options
    assert "<code>output_throughput</code>" in html(app)
    assert "All numbers measured on 2-core CPU, model bundled in float32" in html(app)
    assert len(app.get("vega_lite_chart")) == 1
    assert notices(app) == []


@pytest.mark.usefixtures("bundled")
def test_the_player_learns_which_knobs_can_be_turned_and_how() -> None:
    knobs = payload(open_app())["options"]["knobs"]
    assert {name: knob["kind"] for name, knob in knobs.items() if knob["kind"] != "choice"} == {
        "max_num_seqs": "int", "max_num_batched_tokens": "int", "max_model_len": "int", "num_kv_blocks": "int",
        "watermark": "float", "max_wait": "float",
    }  # fmt: skip
    assert {name: knob["choices"] for name, knob in knobs.items() if knob["kind"] == "choice"} == {
        "policy": ["static", "dynamic", "continuous", "chunked"],
        "preemption_mode": ["recompute", "swap"],
        "compute_padding": [True, False],
        "mix_prefill": [True, False],
    }
    assert all(knob["help"] for knob in knobs.values())


@pytest.mark.usefixtures("bundled")
def test_shows_only_the_chosen_policies() -> None:
    app = open_app()
    app.multiselect[0].set_value(["continuous"])
    rerun(app)
    assert lanes(app) == ["continuous"]
    assert payload(app)["options"]["link"] == {"recording": "chat", "policies": "continuous"}
    assert ">continuous<" in html(app)
    assert ">static<" not in html(app)
    app.multiselect[0].set_value([])
    rerun(app)
    assert players(app) == {}
    assert notices(app) == ["Choose a policy in the sidebar."]
    assert not app.get("download_button")


@pytest.mark.usefixtures("bundled")
def test_large_type_reaches_the_player() -> None:
    app = open_app()
    app.toggle(key="large").set_value(True)
    rerun(app)
    assert payload(app)["options"]["scale"] == 1.5
    assert "--mb-scale: 1.5" in html(app)


@pytest.mark.usefixtures("bundled")
def test_a_rerun_gives_the_browser_the_same_bytes_and_place() -> None:
    app = open_app()
    before = players(app)["player"].proto
    after = players(rerun(app))["player"].proto
    assert (before.id, before.bytes) == (after.id, after.bytes)
    app.multiselect[0].set_value(["static"])
    other = players(rerun(app))["player"].proto
    assert other.id == before.id
    assert other.bytes != before.bytes


@pytest.mark.usefixtures("bundled")
def test_everything_can_be_taken_away(pair: tuple[Recording, ...]) -> None:
    app = open_app()
    assert [button.label for button in app.get("download_button")] == [
        "Page that plays offline (.html)", "Trace for Perfetto (.trace.json)", "Metrics (.csv)",
        "Requests (.requests.csv)", "Recording (.mbr)",
    ]  # fmt: skip
    made = {ending: make(Shown("key", pair, "name")) for _, ending, _, make in takeaway._FILES}
    assert made["mbr"] == dumps(pair)
    assert str(made["html"]).startswith("<!doctype html>")
    assert json.loads(made["trace.json"])["traceEvents"]
    assert "output_throughput" in str(made["csv"])
    assert len(str(made["requests.csv"]).strip().splitlines()) == 1 + 2 * 3


def test_a_file_that_is_taken_away_has_a_name_that_any_system_takes(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[Recording, ...]
) -> None:
    names: list[str] = []
    monkeypatch.setattr(takeaway.st, "download_button", lambda *_, file_name, **rest: names.append(file_name))
    run = replace(pair[0], header=replace(pair[0].header, scenario='../a b/"<ü>|\n'))
    takeaway.downloads(Shown("key", (run,), "name"))
    assert len(set(names)) == 5
    assert all(re.fullmatch(r"[\w.-]+", name) and "/" not in name for name in names)


# -- links ----------------------------------------------------------------------------------------


def test_a_link_opens_its_recording_at_its_moment(bundled: Path) -> None:
    save(
        bundled / "own.mbr",
        [replace(run, header=replace(run.header, scenario="mine")) for run in (static(), continuous())],
    )
    app = open_app(recording="own", policies="continuous", t="12000000", pin="1", view="close", loop="3-9")
    given = payload(app)
    assert given["options"]["link"] == {"recording": "own", "policies": "continuous"}
    assert given["options"]["start"] == {"position": 12e6, "pin": 1, "view": "close", "loop": [3, 9]}
    assert "autoplay" not in given["options"]
    assert lanes(app) == ["continuous"]
    # The moment belongs to what the link leads to, and to nothing else.
    app.selectbox(key="recording").select_index(0)
    assert payload(rerun(app))["options"]["autoplay"] is True
    app.selectbox(key="recording").select_index(1)
    app.multiselect[0].set_value(["continuous"])
    assert payload(rerun(app))["options"]["start"]["pin"] == 1


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"recording": IMAGE}, f"the link names the recording &#x27;{IMAGE}&#x27;, which is not here"),
        ({"scenario": "chat", "seed": "<b>"}, "seed is &#x27;&lt;b&gt;&#x27;, and a whole number is wanted"),
        ({"scenario": "chat", "model": "/etc"}, "model is &#x27;/etc&#x27;, and one of bundled, "),
    ],
)  # fmt: skip
def test_a_link_that_makes_no_sense_is_one_sentence(parameters: dict[str, str], reason: str) -> None:
    app = open_app(**parameters)
    (notice,) = notices(app)
    assert notice.startswith(f"This link can&#x27;t be followed: {reason}")
    assert lanes(app) == ["static", "continuous"]
    assert "ticket" not in app.session_state
    assert notices(rerun(app)) == []


@pytest.mark.usefixtures("bundled")
def test_a_link_runs_its_job_and_goes_to_its_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [continuous(), static()])
    engine.snapshots = [[static()]]
    link = {"scenario": "kv-squeeze", "clock": "modelled", "seed": "3", "num_kv_blocks": "80", "mix_prefill": "True"}
    app = open_app(**link, policies="static,continuous", t="7")
    (ticket,) = [app.session_state["ticket"]]
    assert engine.started.wait(10)
    live = payload(rerun(app))["options"]
    assert live["live"] is True
    engine.gate.set()
    options = payload(finish(app, ticket))["options"]
    assert options["start"] == {"position": 7}
    assert options["id"] != live["id"], "the player would stay where the run had come to"
    assert options["link"] == {
        **link, "model": "bundled", "temperature": "0.7", "policies": "static,continuous"
    }  # fmt: skip
    (job,) = engine.jobs
    assert (job["scenario"], job["clock"], job["seed"]) == ("kv-squeeze", "modelled", 3)
    assert job["policies"] == ("static", "continuous")
    assert (job["config"].num_kv_blocks, job["config"].mix_prefill, job["config"].max_num_seqs) == (80, True, 8)
    rerun(app)
    assert len(engine.jobs) == 1


# -- files that are wrong, and files that mean ill ------------------------------------------------


def test_what_a_file_says_of_itself_stays_data(bundled: Path) -> None:
    header = replace(static().header, policy=HTML, device=HTML, model=HTML, scenario=HTML)
    other = replace(continuous(), header=replace(continuous().header, scenario=HTML))
    save(bundled / "chat.mbr", [replace(static(), header=header), other])
    app = open_app()
    given = payload(app)
    assert given["title"] == HTML
    assert lanes(app) == ["continuous", HTML]
    prompts = [request[-1] for request in given["requests"][0]]
    assert prompts == ["once", HTML, "why"]
    assert "<img" not in html(app)
    assert "&lt;img src=x onerror=alert(1)&gt; &amp; **bold**" in html(app)
    element = players(app)["player"].proto
    code = element.html_content + element.css_content + element.js_content
    assert HTML not in code
    assert HTML not in "".join(part.value for part in app.markdown)


def test_two_runs_of_one_policy_are_refused_in_plain_text(bundled: Path) -> None:
    save(bundled / "chat.mbr", [replace(static(), header=replace(static().header, policy=IMAGE))] * 2)
    app = open_app()
    (notice,) = notices(app)
    assert f"several runs of the policy &#x27;{IMAGE}&#x27;" in notice
    assert IMAGE not in "".join(element.value for element in app.markdown)
    assert players(app) == {}


def test_policies_that_this_program_does_not_know_are_shown(bundled: Path) -> None:
    unknown = [replace(static(), header=replace(static().header, policy=name)) for name in ("lottery", IMAGE)]
    save(bundled / "chat.mbr", [*unknown, continuous()])
    app = open_app()
    assert app.multiselect[0].options == ["continuous", "lottery", IMAGE]
    assert lanes(app) == ["continuous", "lottery", IMAGE]
    assert ">lottery<" in html(app)


def test_a_recording_of_nothing_is_shown(bundled: Path) -> None:
    """A run may be cancelled before its first iteration ends."""
    run = static()
    nothing = {name: values[:0] for name, values in run.entries.items()}
    requests = tuple(replace(request, pieces=(), finish_reason=None) for request in run.requests)
    empty = replace(
        run,
        header=replace(run.header, complete=False),
        requests=requests,
        iterations={name: values[:0] for name, values in run.iterations.items()},
        entries=nothing,
        reasons={name: values[:0] for name, values in run.reasons.items()},
        reason_numbers=(),
    )
    save(bundled / "chat.mbr", [empty])
    app = open_app()
    assert [run["complete"] for run in payload(app)["runs"]] == [False]


def test_says_how_to_make_recordings_where_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert "python -m minibatch record" in notices(open_app())[0]


def test_a_damaged_recording_is_one_sentence(bundled: Path) -> None:
    (bundled / "chat.mbr").write_bytes(b"nothing of the kind")
    assert "is not a Minibatch recording" in notices(open_app())[0]


def test_an_uploaded_file_is_opened_or_refused_in_a_sentence() -> None:
    shown = open_upload(dumps([continuous(), static()]), "mine.mbr")
    assert shown.policies == ("static", "continuous")
    assert open_upload(dumps([continuous(), static()]), "mine.mbr").key == shown.key
    with pytest.raises(RecordingError, match=r"notes\.txt is not a Minibatch recording"):
        open_upload(b"hello", "notes.txt")


@pytest.mark.usefixtures("bundled")
def test_an_uploaded_file_is_played_and_has_no_link() -> None:
    app = open_app()
    app.radio(key="source").set_value("Open a file")
    assert notices(rerun(app)) == ["Choose a recording file in the sidebar."]
    app.get("file_uploader")[0].set_value(("mine.mbr", dumps([continuous()]), "application/octet-stream"))
    rerun(app)
    assert lanes(app) == ["continuous"]
    assert payload(app)["options"]["link"] is None


def test_a_list_of_recordings_names_the_device_where_titles_repeat(bundled: Path) -> None:
    save(bundled / "chat-2.mbr", [replace(static(), header=replace(static().header, device="H200"))])
    save(bundled / "own.mbr", [replace(static(), header=replace(static().header, scenario="mine"))])
    chat = "Chat: short and long answers mixed"
    options = open_app().selectbox(key="recording").options
    assert options == [f"{chat} (measured, 2-core CPU)", f"{chat} (measured, H200)", "mine"]


# -- a run ----------------------------------------------------------------------------------------


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
    assert len(app.get("download_button")) == 5
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
    app.selectbox(key="model").set_value("another one")
    rerun(app)
    app.text_input(key="model name").set_value(" someone/gpt2 ")
    finish(app, press(app))
    assert engine.jobs[0]["model"] == "someone/gpt2"
    assert payload(app)["options"]["link"] is None


@pytest.mark.usefixtures("bundled")
def test_what_cannot_be_run_is_one_sentence_and_never_reaches_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch)
    app = choose_run(open_app())
    app.number_input(key="knob chat block_size").set_value(65)
    app.button(key="run").click()
    (refusal,) = notices(rerun(app))
    assert refusal.startswith("block_size is 65: use ")
    app.number_input(key="knob chat block_size").set_value(16)
    app.multiselect[0].set_value([])
    app.button(key="run").click()
    assert notices(rerun(app)) == ["No policy is chosen: choose at least one in the sidebar."]
    app.multiselect[0].set_value(["static"])
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


# -- what if --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("real")
def test_what_if_shows_both_futures_below_the_recording() -> None:
    app = open_app()
    original = next(run for run in load(SMALL) if run.header.policy == "continuous")
    ask(app, policy="continuous", iteration=20, knob="policy", value="chunked", nonce=1)
    key, run, ticket = app.session_state["fork"]
    finish(app, ticket)
    assert ticket.status is Status.DONE
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
    parts_at = run.result.parts_at
    assert parts_at >= 20
    assert given["options"]["start"]["position"] == run.result.changed.iterations["start_ns"][parts_at]
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
    app.multiselect[0].set_value(["chunked"])
    assert list(players(rerun(app))) == ["player", "fork"]
    app.radio(key="source").set_value("Run on this machine")
    assert list(players(rerun(app))) == []
    app.radio(key="source").set_value("Recorded")
    assert list(players(rerun(app))) == ["player", "fork"]


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("knob", "value", "reason"),
    [
        ("max_num_seqs", "0", "max_num_seqs is 0: use a whole number of at least 1"),
        ("max_num_seqs", "1.5", "max_num_seqs is &#x27;1.5&#x27;, and a whole number is wanted"),
        ("watermark", "nan", "watermark is &#x27;nan&#x27;, and a number is wanted"),
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


# -- the server -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("bundled")
def test_opening_the_app_imports_no_torch() -> None:
    program = (
        "import sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        "app = AppTest.from_file('app.py', default_timeout=60).run()\n"
        "assert not app.exception and len(app.get('bidi_component')) == 1\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
