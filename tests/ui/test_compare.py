"""The page as a whole, without a browser."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from minibatch.recording.schema import Recording
from minibatch.recording.storage import RecordingError, dumps, save
from minibatch.ui import jobs
from minibatch.ui.sources import FOLDER_VARIABLE, open_upload
from tests.ui.recordings import IMAGE, continuous, static

ROOT = Path(__file__).parents[2]


def open_app() -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30).run()
    assert not app.exception
    return app


def html(app: AppTest) -> str:
    return "".join(element.proto.body for element in app.get("html"))


def notices(app: AppTest) -> list[str]:
    """The messages, and nothing that would be taken for Markdown."""
    assert not [*app.error, *app.warning, *app.info]
    return re.findall(r"role='(?:alert|status)'>(.*?)</div>", html(app), re.DOTALL)


def choose_run(app: AppTest) -> AppTest:
    return app.radio(key="source").set_value("Run on this machine").run()


@pytest.mark.usefixtures("bundled")
def test_opens_with_a_recording_and_its_numbers() -> None:
    app = open_app()
    assert "Chat: short and long answers mixed" in html(app)
    assert "measured · 2-core CPU · model bundled" in html(app)
    assert "<code>output_throughput</code>" in html(app)
    # Two lanes, the slots' time, two rooflines, one request's time.
    assert len(app.get("vega_lite_chart")) == 6
    assert "same text under all policies" in html(app)


@pytest.mark.usefixtures("bundled")
def test_shows_only_the_chosen_policies() -> None:
    app = open_app()
    app.multiselect[0].set_value(["continuous"]).run()
    assert not app.exception
    assert ">continuous<" in html(app)
    assert ">static<" not in html(app)


def test_a_typed_prompt_is_shown_as_text(bundled: Path) -> None:
    app = open_app()
    chosen = next(box for box in app.selectbox if box.label == "Request")
    chosen.set_value(1).run()
    assert not app.exception
    assert "&lt;img src=x onerror=alert(1)&gt;" in html(app)
    assert "<img" not in html(app)


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


def test_two_runs_of_one_policy_are_refused(bundled: Path) -> None:
    save(bundled / "chat.mbr", [static(), static()])
    assert "several runs of the policy &#x27;static&#x27;" in notices(open_app())[0]


@pytest.mark.usefixtures("bundled")
def test_a_bad_knob_is_one_sentence() -> None:
    app = choose_run(open_app())
    app.number_input(key="knob chat block_size").set_value(65)
    app.button(key="run").click().run()
    assert not app.exception
    (refusal,) = notices(app)
    assert refusal.startswith("block_size is 65: use ")


@pytest.mark.usefixtures("bundled")
def test_a_refusal_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = iter([[static()], ValueError("old error")])

    def run(job: dict[str, Any], *, on_progress: Callable, should_stop: Callable) -> list[Recording]:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(jobs, "run_on_engine", run)
    app = choose_run(open_app())
    press(app)
    assert ">static<" in html(app)
    app.number_input(key="knob chat block_size").set_value(65)
    app.button(key="run").click().run()
    assert len(notices(app)) == 1
    assert ">static<" not in html(app)
    app.number_input(key="knob chat block_size").set_value(16)
    press(app)
    assert notices(app) == ["old error"]
    app.number_input(key="knob chat block_size").set_value(65)
    app.button(key="run").click().run()
    (refusal,) = notices(app)
    assert refusal.startswith("block_size is 65: use ")


@pytest.mark.usefixtures("bundled")
def test_what_an_engine_quotes_is_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(job: dict[str, Any], *, on_progress: Callable, should_stop: Callable) -> list[Recording]:
        raise ValueError(f"there is no model {IMAGE}<img src=x>")

    monkeypatch.setattr(jobs, "run_on_engine", run)
    app = choose_run(open_app())
    press(app)
    assert notices(app) == [f"there is no model {IMAGE}&lt;img src=x&gt;"]


def test_what_a_file_says_of_itself_is_plain_text(bundled: Path) -> None:
    run = static()
    save(bundled / "chat.mbr", [replace(run, header=replace(run.header, policy=IMAGE))] * 2)
    app = open_app()
    assert IMAGE in notices(app)[0]
    assert IMAGE not in "".join(element.value for element in app.markdown)


def test_policies_that_this_program_does_not_know_are_shown(bundled: Path) -> None:
    run = static()
    unknown = [replace(run, header=replace(run.header, policy=name)) for name in ("lottery", IMAGE)]
    save(bundled / "chat.mbr", [*unknown, continuous()])
    app = open_app()
    assert app.multiselect[0].options == ["continuous", "lottery", IMAGE]
    assert ">lottery<" in html(app)
    app.multiselect[0].set_value([]).run()
    assert notices(app) == ["Choose a policy in the sidebar."]


def test_a_list_of_recordings_names_the_device_where_titles_repeat(bundled: Path) -> None:
    run = static()
    save(bundled / "chat-2.mbr", [replace(run, header=replace(run.header, device="H200"))])
    save(bundled / "own.mbr", [replace(run, header=replace(run.header, scenario="mine"))])
    chat = "Chat: short and long answers mixed"
    assert app_options(open_app()) == [f"{chat} (measured, 2-core CPU)", f"{chat} (measured, H200)", "mine"]


@pytest.mark.usefixtures("bundled")
def test_runs_show_progress_and_then_their_results(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, seen = threading.Event(), []

    def run(job: dict[str, Any], *, on_progress: Callable, should_stop: Callable) -> list[Recording]:
        seen.append(job)
        on_progress(SimpleNamespace(policy="static", policy_index=0, num_policies=2, num_finished=12, num_requests=32))
        gate.wait(10)
        return [continuous(), static()]

    monkeypatch.setattr(jobs, "run_on_engine", run)
    app = choose_run(open_app())
    app.selectbox(key="scenario").set_value("kv-squeeze").run()
    app.button(key="run").click().run()
    ticket = app.session_state["ticket"]
    wait_for(lambda: ticket.progress is not None)
    app.run()
    assert "static: 12 of 32 requests" in [bar.proto.text for bar in app.get("progress")]
    gate.set()
    wait_for(lambda: ticket.finished)
    app.run()
    assert not app.exception
    assert "measured · 2-core CPU" in html(app)
    assert html(app).index(">static<") < html(app).index(">continuous<")
    assert seen[0]["scenario"] == "kv-squeeze"
    assert seen[0]["config"].num_kv_blocks == 64


@pytest.mark.usefixtures("bundled")
def test_a_run_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(job: dict[str, Any], *, on_progress: Callable, should_stop: Callable) -> list[Recording]:
        wait_for(should_stop)
        return [static()]

    monkeypatch.setattr(jobs, "run_on_engine", run)
    app = choose_run(open_app())
    app.selectbox(key="scenario").set_value("typed").run()
    app.text_area(key="prompts").set_value("<b>hello</b>\n\n  second  ")
    app.button(key="run").click().run()
    app.button(key="cancel").click().run()
    ticket = app.session_state["ticket"]
    wait_for(lambda: ticket.finished)
    app.run()
    assert not app.exception
    assert ticket.work.args[0]["prompts"] == ("<b>hello</b>", "second")
    assert ">static<" in html(app)


@pytest.mark.usefixtures("bundled")
def test_an_engine_that_refuses_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(job: dict[str, Any], *, on_progress: Callable, should_stop: Callable) -> list[Recording]:
        raise ValueError("prompt 1 is empty: write at least one word")

    monkeypatch.setattr(jobs, "run_on_engine", run)
    app = choose_run(open_app())
    app.button(key="run").click().run()
    wait_for(lambda: app.session_state["ticket"].finished)
    app.run()
    assert notices(app) == ["prompt 1 is empty: write at least one word"]


def test_opening_the_app_imports_no_torch(bundled: Path) -> None:
    program = (
        "import sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        "app = AppTest.from_file('app.py', default_timeout=60).run()\n"
        "assert not app.exception and len(app.get('vega_lite_chart')) == 6\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


def press(app: AppTest) -> None:
    """Press Run and wait for its end."""
    app.button(key="run").click().run()
    wait_for(lambda: app.session_state["ticket"].finished)
    app.run()


def app_options(app: AppTest) -> list[str]:
    return app.selectbox(key="recording").options


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise TimeoutError
