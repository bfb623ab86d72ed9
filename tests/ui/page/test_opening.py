"""A recording on the page, without a browser: what the player is given, and everything around it."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from minibatch.recording.schema import Recording
from minibatch.recording.storage import dumps
from minibatch.scheduling import POLICIES
from minibatch.ui.compare import takeaway
from minibatch.ui.shared.sources import Shown
from tests.ui.browser import ROOT
from tests.ui.page.driving import (
    html,
    lanes,
    notices,
    open_app,
    payload,
    players,
    rerun,
    take_away,
)


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
    assert "<table class='mb-bars'>" in html(app)
    assert notices(app) == []


@pytest.mark.usefixtures("bundled")
def test_the_player_learns_which_knobs_can_be_turned_and_how() -> None:
    knobs = payload(open_app())["options"]["knobs"]
    assert {name: knob["kind"] for name, knob in knobs.items() if knob["kind"] != "choice"} == {
        "max_num_seqs": "int", "max_num_batched_tokens": "int", "max_model_len": "int", "num_kv_blocks": "int",
        "watermark": "float", "max_wait": "float", "queue_ageing": "float",
        "long_prefill_token_threshold": "int", "schedule_conservativeness": "float",
    }  # fmt: skip
    assert {name: knob["choices"] for name, knob in knobs.items() if knob["kind"] == "choice"} == {
        "policy": list(POLICIES),
        "preemption_mode": ["recompute", "swap"],
        "compute_padding": [True, False],
        "mix_prefill": [True, False],
        "queue_order": ["fcfs", "shortest", "priority", "fair"],
    }
    assert all(knob["help"] for knob in knobs.values())


@pytest.mark.usefixtures("bundled")
def test_shows_only_the_chosen_policies() -> None:
    app = open_app()
    app.pills[0].set_value(["continuous"])
    rerun(app)
    assert lanes(app) == ["continuous"]
    assert payload(app)["options"]["link"] == {"recording": "chat", "policies": "continuous"}
    assert ">continuous<" in html(app)
    assert ">static<" not in html(app)
    app.pills[0].set_value([])
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
    app.pills[0].set_value(["static"])
    other = players(rerun(app))["player"].proto
    assert other.id == before.id
    assert other.bytes != before.bytes


@pytest.mark.usefixtures("bundled")
def test_everything_can_be_taken_away(pair: tuple[Recording, ...]) -> None:
    app = take_away(open_app())
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


@pytest.mark.usefixtures("bundled")
def test_a_large_trace_is_gzipped_and_says_its_size(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[Recording, ...]
) -> None:
    assert any("MB of JSON." in caption.value for caption in take_away(open_app()).caption)
    given = {}
    captions: list[str] = []

    def button(_: str, *, file_name: str, data, **rest: object) -> None:
        given[file_name.partition(".")[2]] = data

    monkeypatch.setattr(takeaway.st, "download_button", button)
    monkeypatch.setattr(takeaway.st, "caption", captions.append)
    monkeypatch.setattr(takeaway, "_LARGE", 100)
    monkeypatch.setattr(takeaway, "MOST_BYTES", 1000)
    takeaway.downloads(Shown("key", pair, "name"))
    assert "gzipped" in captions[0]
    assert "--from-s" in captions[0]
    assert "trace.json" not in given
    assert json.loads(gzip.decompress(given["trace.json.gz"]()))["traceEvents"]


def test_a_file_that_is_taken_away_has_a_name_that_any_system_takes(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[Recording, ...]
) -> None:
    names: list[str] = []
    monkeypatch.setattr(takeaway.st, "download_button", lambda *_, file_name, **rest: names.append(file_name))
    run = replace(pair[0], header=replace(pair[0].header, scenario='../a b/"<ü>|\n'))
    takeaway.downloads(Shown("key", (run,), "name"))
    assert len(set(names)) == 5
    assert all(re.fullmatch(r"[\w.-]+", name) and "/" not in name for name in names)


@pytest.mark.slow
@pytest.mark.usefixtures("bundled")
def test_opening_the_app_imports_no_torch() -> None:
    program = (
        "import sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        "app = AppTest.from_file('minibatch/ui/script.py', default_timeout=60).run()\n"
        "assert not app.exception and len(app.get('bidi_component')) == 1\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
