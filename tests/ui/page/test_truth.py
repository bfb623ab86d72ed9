"""The page "How true is this?", with nothing calibrated, with something, and while it calibrates."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from minibatch.recording.schema import Recording
from minibatch.roofline.calibration_store import Calibration, save_calibration
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape, Totals
from minibatch.roofline.efficiency import Efficiency
from minibatch.roofline.step_samples import Sample
from minibatch.ui.shared.jobs import Done
from minibatch.ui.shared.palette import theme
from minibatch.ui.truth import page as truth
from minibatch.ui.truth.chart import errors_html, steps_frame, truth_chart, worst_html
from tests.ui.page.driving import html, notices, rerun, wait_for
from tests.ui.recordings import HTML

SHAPE = ModelShape(n_layer=1, n_embd=8, n_head=1, n_kv_head=1, vocab_size=10, n_inner=32)
MS = 1_000_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    truth._loaded.clear()
    yield tmp_path / "minibatch"
    truth._loaded.clear()


def fitted(model: str = "bundled", device: str = "a CPU") -> Calibration:
    """Steps that are modelled with 10 ms each, as good as nothing but the fixed cost."""
    held_out = tuple(
        Sample(kind, Totals(tokens, tokens, context, 1), seqs, measured, spread=0.02)
        for kind, tokens, context, seqs, measured in [
            ("decode", 1, 100, 1, 10 * MS),
            ("decode", 2, 600, 2, 20 * MS),
            ("prefill", 300, 300, 1, 12_500_000),
            ("prefill", 30, 30, 1, 10 * MS),
            ("mixed", 40, 900, 3, 5 * MS),
            ("mixed", 41, 900, 3, 10 * MS),
            ("mixed", 42, 900, 3, 11 * MS),
        ]
    )
    ceilings = Ceilings(1e18, 1e18, device, efficiency=Efficiency(step_ns=10 * MS, source="by hand"))
    return Calibration(model, SHAPE, ceilings, 12, held_out)


def open_page() -> AppTest:
    def script() -> None:
        from minibatch.ui.truth import page as truth

        truth.page()

    return rerun(AppTest.from_function(script, default_timeout=60))


def chart(app: AppTest) -> dict[str, Any]:
    (found,) = app.get("arrow_vega_lite_chart") or app.get("vega_lite_chart")
    spec: dict[str, Any] = json.loads(found.proto.spec)
    return spec


def rows(table: str) -> list[str]:
    return [re.sub(r"(<[^>]+>)+", "|", row).strip("|") for row in re.findall(r"<tr>.*?</tr>", table)]


def test_with_nothing_calibrated_it_says_what_to_run() -> None:
    app = open_page()
    (said,) = notices(app)
    assert "run `python -m minibatch calibrate`, or press the button" in said
    assert not app.get("arrow_vega_lite_chart")


def test_what_was_measured_and_modelled_is_drawn_and_said() -> None:
    save_calibration(fitted())
    app = open_page()
    assert notices(app) == []
    shown = html(app)
    assert "modelled times of 7 steps held out differ from measured ones by 9.1 % in the median" in shown
    assert "fitted to 12 other measured steps" in shown
    assert truth.LEFT_OUT in shown
    assert "4 of them lie within 10% of each other" in chart(app)["description"]


def test_the_tables_say_what_the_chart_shows() -> None:
    assert rows(errors_html(fitted())) == [
        "steps held out|median error|90 % of them below",
        "decode|2|25 %|45 %",
        "prefill|2|10 %|18 %",
        "mixed|3|9.1 %|82 %",
        "all|7|9.1 %|70 %",
    ]
    assert rows(worst_html(steps_frame(fitted())))[:4] == [
        "measured|modelled|error",
        "mixed, 3 sequences, 40 tokens, mean context 300|5.00 ms|10.0 ms|+100 %",
        "decode, 2 sequences, 2 tokens, mean context 300|20.0 ms|10.0 ms|−50 %",
        "prefill, 1 sequence, 300 tokens, mean context 300|12.5 ms|10.0 ms|−20 %",
    ]


def test_kinds_are_told_apart_by_shape_as_well_as_colour() -> None:
    points = truth_chart(steps_frame(fitted()), theme("dark")).to_dict()["layer"][2]["encoding"]
    for channel in ("shape", "color"):
        scale = points[channel]["scale"]
        assert scale["domain"] == ["decode", "prefill", "mixed"]
        assert len(set(scale["range"])) == 3
    assert [points[axis]["scale"]["type"] for axis in "xy"] == ["log", "log"]


def test_one_of_several_is_chosen_and_damaged_ones_are_named(folder: Path) -> None:
    save_calibration(fitted())
    save_calibration(replace(fitted("gpt2"), shape=replace(SHAPE, n_layer=2)))
    (folder / "steps-broken.json").write_text("{")
    app = open_page()
    assert notices(app) == ["steps-broken.json is damaged: run `python -m minibatch calibrate` again"]
    app.selectbox[0].set_value(next(one for one in app.selectbox[0].options if one.startswith("gpt2")))
    assert "Model gpt2 on a CPU, float32" in html(rerun(app))


def test_names_stay_text() -> None:
    save_calibration(fitted(HTML, "a CPU"))
    assert "<img" not in html(open_page())


class FakeCalibration:
    """In place of the real one: waits until a test says how it ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outcome: Exception | None = None) -> None:
        self.started, self.gate, self.outcome = threading.Event(), threading.Event(), outcome
        self.was_stopped = False
        monkeypatch.setattr(truth, "calibrate_bundled", self)

    def __call__(
        self, *, on_progress: Callable[..., None], should_stop: Callable[[], bool], on_snapshot: object
    ) -> list[Recording]:
        on_progress(Done(250, 1000))
        self.started.set()
        while not self.gate.wait(0.005) and not should_stop():
            pass
        self.was_stopped = should_stop()
        if self.outcome:
            raise self.outcome
        if not self.was_stopped:
            save_calibration(fitted())
        return []


def press(app: AppTest, calibration: FakeCalibration) -> AppTest:
    app.button(key="calibrate").click()
    rerun(app)
    assert calibration.started.wait(10)
    return rerun(app)


def test_the_button_calibrates_in_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    calibration = FakeCalibration(monkeypatch)
    app = press(open_page(), calibration)
    assert app.get("progress")[0].proto.value == 25
    calibration.gate.set()
    wait_for(lambda: app.session_state["calibration ticket"].finished)
    assert "modelled times of 7 steps" in html(rerun(app))


def test_it_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    calibration = FakeCalibration(monkeypatch)
    app = press(open_page(), calibration)
    app.button(key="cancel calibration").click()
    rerun(app)
    wait_for(lambda: app.session_state["calibration ticket"].finished)
    assert calibration.was_stopped
    assert "Nothing is calibrated" in notices(rerun(app))[0]


def test_why_it_failed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    calibration = FakeCalibration(monkeypatch, ValueError("the bundled model can't be read"))
    calibration.gate.set()
    app = press(open_page(), calibration)
    wait_for(lambda: app.session_state["calibration ticket"].finished)
    assert notices(rerun(app))[0] == "the bundled model can&#x27;t be read"
