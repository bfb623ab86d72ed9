"""The page "Load": a sweep from the form to its charts, its tables and a point in the player."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from minibatch.analysis.slo import Slo
from minibatch.analysis.sweeps.definition import described
from minibatch.analysis.sweeps.file import SweepFile, row_of
from minibatch.engine.sweep import Point, SweepSpec, run_point, run_points
from minibatch.ui.load import job as sweep_job
from minibatch.ui.load import point as sweep_point
from minibatch.ui.load.plan import SweepPlan, Wanted, plan_of
from minibatch.ui.load.source import open_sweep
from minibatch.ui.load.takeaway import results
from minibatch.ui.shared.machine import MachineChoice
from tests.ui.page.driving import html, notices, payload, rerun, wait_for
from tests.ui.recordings import HTML

WANTED = Wanted(
    MachineChoice("llama-3.1-8b", "modelled", "H100", 1), 40, "fixed:64", "fixed:16", 0, ("static", "chunked"), "rate",
    "4 32 256", 1.0, 0.0, {"max_num_seqs": 8, "max_num_batched_tokens": 512},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """All requests here have one length, so that few of them show a knee."""
    monkeypatch.setattr("minibatch.analysis.sweeps.curves.FEWEST_REQUESTS", 1)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads in place of processes, which take a second to start."""

    @contextmanager
    def executor() -> Iterator[Executor]:
        with ThreadPoolExecutor(2) as threads:
            yield threads

    monkeypatch.setattr(sweep_job, "processes", executor)


SCRIPT = """
if __name__ == "__main__":  # as in minibatch/ui/script.py
    from minibatch.ui.load import page as sweep

    sweep.page()
"""


def open_page(**parameters: str) -> AppTest:
    app = AppTest.from_string(SCRIPT, default_timeout=60)
    app.query_params.update(parameters)
    return rerun(app)


def ask(app: AppTest, loads: str = "4 32 256") -> AppTest:
    """A sweep of two policies and three loads that takes a moment."""
    app.multiselect(key="sweep policies").set_value(["static", "chunked"])
    app.text_input(key="sweep loads rate chat").set_value(loads)
    app.number_input(key="sweep requests chat").set_value(40)
    app.text_input(key="sweep prompt lengths chat").set_value("fixed:64")
    app.text_input(key="sweep output lengths chat").set_value("fixed:16")
    app.button(key="run sweep").click()
    return rerun(app)


def finished(app: AppTest, key: str = "sweep ticket") -> AppTest:
    def ticket() -> Any:
        found = app.session_state[key]
        return found[-1] if isinstance(found, tuple) else found

    wait_for(lambda: ticket().finished)
    return rerun(app)


def charts(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(element.proto.spec) for element in app.get("vega_lite_chart")]


def titles(app: AppTest) -> list[str]:
    return [chart["title"]["text"] for chart in charts(app)]


def table(app: AppTest, head: str) -> list[str]:
    """The rows of the table that follows a heading."""
    shown = html(app).partition(f"<h2>{head}</h2>")[2].partition("</table>")[0]
    return [re.sub(r"(<[^>]+>)+", "|", row).strip("|") for row in re.findall(r"<tr>.*?</tr>", shown)]


@pytest.mark.slow
def test_a_sweep_runs_in_processes_and_an_slo_is_judged_without_running_it_again() -> None:
    app = finished(ask(open_page()))
    assert notices(app) == []
    assert titles(app) == [
        "Throughput, requests/s (modelled)", "Goodput, requests/s (modelled)",
        "TTFT p99, ms (modelled)", "TPOT p99, ms (modelled)",
    ]  # fmt: skip
    shown = html(app)
    words = "model llama-3.1-8b in bfloat16: at every load 40 requests, prompts "
    assert f"All numbers modelled on H100 SXM 80GB (data sheet), {words}" in shown
    assert "<b>TTFT</b>: time to first token" in shown
    assert "<b>goodput</b>: requests/s that meet all of them" in shown
    assert "The knee is at 32.0 requests/s" in shown
    assert len(table(app, "Every point")) == 1 + 2 * 3
    before = table(app, "Goodput frontier")
    app.number_input(key="sweep ttft_ms").set_value(30.0)
    rerun(app)
    assert table(app, "Goodput frontier") != before
    assert "SLO: TTFT ≤ 30 ms, TPOT ≤ 50 ms." in html(app)
    app.button(key="run sweep").click()
    rerun(app)
    assert "sweep ticket" not in app.session_state  # all of it is known
    assert len(charts(app)) == 4


class Gate:
    """In place of `run_points`: one point, and the rest when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.points: list[list[Point]] = []
        self.open = threading.Event()
        monkeypatch.setattr(sweep_job, "run_points", self)

    def __call__(
        self, spec: SweepSpec, points: list[Point], executor: Executor, workers: int, should_stop: Callable[[], bool]
    ) -> Iterator[Any]:
        self.points.append(points)
        yield points[0], run_point(spec, points[0])
        while not self.open.wait(0.005):
            if should_stop():
                return
        yield from run_points(spec, points[1:], executor, workers, should_stop)


@pytest.mark.usefixtures("threads")
def test_what_is_done_shows_at_once_and_stays_when_the_rest_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    app = ask(open_page())
    wait_for(lambda: len(app.session_state["sweep"].found) == 1)
    wait_for(lambda: app.session_state["sweep ticket"].progress.num_finished == 1)
    rerun(app)
    assert app.get("progress")[0].proto.text == "1 of 6 points"
    assert len(charts(app)) == 4
    assert "knee" not in html(app).partition("</style>")[2]
    app.button(key="cancel sweep").click()
    rerun(app)
    assert "1 of 6 points are done; Run computes the rest." in notices(finished(app))
    gate.open.set()
    app.button(key="run sweep").click()
    finished(rerun(app))
    assert [len(points) for points in gate.points] == [6, 5]
    assert notices(app) == []


def test_a_refusal_stands_where_the_result_would_have_been() -> None:
    app = ask(open_page(), "1 <b>")
    assert notices(app) == ["&#x27;&lt;b&gt;&#x27; is not a load: type requests/s, such as 1 2 4 8"]
    assert not charts(app)


def bring(app: AppTest, data: bytes) -> AppTest:
    app.radio(key="sweep lengths").set_value("of a trace")
    rerun(app)
    app.get("file_uploader")[0].set_value(("*my*.csv", data, "text/csv"))
    return rerun(app)


@pytest.mark.usefixtures("threads")
def test_a_trace_is_served_at_every_load_and_what_is_scaled_is_said() -> None:
    app = open_page()
    app.radio(key="sweep lengths").set_value("of a trace")
    assert notices(rerun(app))[-1] == "No trace is chosen: upload a file in the sidebar, under Requests."
    lines = "".join(f"{k / 2},{40 + k},8\n" for k in range(40))
    app = bring(app, f"arrival_s,prompt_tokens,output_tokens\n{lines}".encode())
    app.number_input(key="sweep trace scale").set_value(0.5)
    app.number_input(key="sweep requests chat").set_value(30)
    app.text_input(key="sweep loads rate chat").set_value("4 32")
    said = [caption.value for caption in rerun(app).caption]
    words = (
        "race \\_my\\_\\.csv\\, 30 requests over 14\\.5 s\\, lengths x 0\\.5\\, arrivals scaled from 2\\/s to each load"
    )
    assert any(words in caption and "27.2 prompt and 4.00 output tokens" in caption for caption in said)
    app.button(key="run sweep").click()
    app = finished(rerun(app))
    assert notices(app) == []
    words = "trace _my_.csv, 30 requests over 14.5 s, lengths x 0.5, arrivals scaled from 2/s to each load"
    assert f"at every load {words}, seed 0" in html(app)
    offered = [row.metrics["offered"] for row in app.session_state["sweep"].found]
    assert sorted(offered) == [pytest.approx(rate * 30 / 29) for rate in (4, 4, 4, 4, 32, 32, 32, 32)]


def test_a_bad_trace_is_one_sentence_with_its_line() -> None:
    app = bring(open_page(), b"arrival_s,prompt_tokens,output_tokens\n0,10,4\n1,<b>,4\n")
    (said,) = [notice for notice in notices(app) if ".csv" in notice]
    assert said.startswith("_my_.csv, line 3: prompt_tokens is &#x27;&lt;b&gt;&#x27;: use a whole number")
    app.button(key="run sweep").click()
    assert notices(rerun(app)) == [said]


def link_of(app: AppTest) -> dict[str, str]:
    (code,) = app.code
    return dict(parse_qsl(code.value.partition("?")[2], keep_blank_values=True))


def test_a_link_brings_the_whole_form_back() -> None:
    link = {
        "sweep": "thrashing", "users": "2 8", "policies": "static,chunked", "accelerator": "A100-80GB",
        "model": "llama-3.1-70b", "tensor_parallel": "8", "num_requests": "40", "prompt_lengths": "fixed:64",
        "output_lengths": "uniform:8:16", "seed": "7", "think_s": "0.25", "max_num_seqs": "8", "watermark": "0.1",
        "kv_layout": "contiguous", "vary": "max_num_batched_tokens", "values": "256 512", "slo": "ttft:30 e2el:900",
        "share": "99",
    }  # fmt: skip
    app = open_page(**link)
    assert link_of(app) == link
    assert [notice for notice in notices(app) if "link" in notice] == []
    assert "8 points of 40 requests each, modelled." in [caption.value for caption in app.caption]
    app.number_input(key="sweep seed").set_value(8)
    assert link_of(rerun(app)) == {**link, "seed": "8"}
    assert link_of(open_page(sweep="chat", slo="none"))["slo"] == "none"


def test_a_link_that_makes_no_sense_is_one_sentence() -> None:
    app = open_page(sweep="chat", seed="<b>")
    said = "This link can&#x27;t be followed: seed is &#x27;&lt;b&gt;&#x27;: expected a whole number."
    assert notices(app)[0] == said
    assert said not in notices(rerun(app))


@pytest.fixture(scope="module")
def plan() -> SweepPlan:
    return plan_of(WANTED)


@pytest.fixture(scope="module")
def file(plan: SweepPlan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command would write of the same sweep."""
    path = tmp_path_factory.mktemp("sweep") / "mine.parquet"
    written = SweepFile(path, described(plan.spec))
    for point in plan.points:
        written.add(row_of(point.policy, point.load, point.config, run_point(plan.spec, point)))
    return path


def opened(data: bytes) -> AppTest:
    app = open_page()
    app.radio(key="sweep source").set_value("Open a file")
    rerun(app)
    assert notices(app) == ["Choose a file of a sweep in the sidebar."]
    app.get("file_uploader")[0].set_value(("mine.parquet", data, "application/octet-stream"))
    return rerun(app)


def test_a_file_is_shown_and_its_study_is_the_one_that_was_run(plan: SweepPlan, file: Path) -> None:
    app = opened(file.read_bytes())
    assert notices(app) == []
    assert len(charts(app)) == 4
    sweep = open_sweep("mine.parquet", file.read_bytes())
    assert sweep.spec == plan.spec
    assert set(sweep.points) == set(plan.points)


def test_results_are_taken_away_as_the_file_of_the_command(plan: SweepPlan, file: Path, tmp_path: Path) -> None:
    app = opened(file.read_bytes())
    assert [button.label for button in app.get("download_button")] == ["Results (.parquet)"]
    taken = tmp_path / "taken.parquet"
    taken.write_bytes(results(open_sweep("mine.parquet", file.read_bytes()), None))
    assert taken.read_bytes() == file.read_bytes()
    again = SweepFile(taken, described(plan.spec))  # as the command goes on with it
    assert again.done == {(point.policy, point.load, point.config) for point in plan.points}


def test_the_slo_of_a_file_is_used_until_another_is_given(file: Path) -> None:
    data = results(open_sweep("mine.parquet", file.read_bytes()), Slo(ttft_ms=40, e2el_ms=900))
    app = opened(data)
    assert "SLO: TTFT ≤ 40 ms, E2E ≤ 900 ms." in html(app)
    assert "These limits are from the file." in [caption.value for caption in app.caption]
    (limit,) = [field for field in app.number_input if field.label == "TTFT, ms at most"]
    limit.set_value(25.0)
    assert "SLO: TTFT ≤ 25 ms, E2E ≤ 900 ms." in html(rerun(app))
    assert "These limits are from the file." not in [caption.value for caption in app.caption]
    app.get("file_uploader")[0].set_value(("mine.parquet", file.read_bytes(), "application/octet-stream"))
    assert "SLO: TTFT ≤ 500 ms, TPOT ≤ 50 ms." in html(rerun(app))


def test_damaged_and_foreign_files_are_refused_in_a_sentence(plan: SweepPlan, file: Path, tmp_path: Path) -> None:
    (said,) = notices(opened(file.read_bytes()[:-100]))
    assert said.startswith("mine.parquet is not a sweep of Minibatch, or it is damaged: name another file")
    odd = SweepFile(tmp_path / "odd.parquet", described(plan.spec) | {"prompt_tokens": ["__import__('os')"] * 40})
    odd.add(row_of("static", plan.points[0].load, plan.points[0].config, run_point(plan.spec, plan.points[0])))
    with pytest.raises(ValueError, match="its numbers make no sense as a sweep"):
        open_sweep("odd.parquet", odd.path.read_bytes())


def test_names_in_a_file_stay_text(plan: SweepPlan, tmp_path: Path) -> None:
    odd = SweepFile(tmp_path / "odd.parquet", described(plan.spec) | {"model": HTML})
    for point in plan.points[:3]:
        odd.add(row_of(HTML, point.load, point.config, run_point(plan.spec, point)))
    app = opened(odd.path.read_bytes())
    assert "<img" not in html(app)
    app.button(key="open point").click()
    finished(rerun(app), "sweep record")
    assert "unknown policy" in notices(app)[0]


def test_a_point_is_played(file: Path) -> None:
    app = opened(file.read_bytes())
    app.selectbox(key="sweep curve").set_value("static")
    rerun(app)
    app.button(key="open point").click()
    finished(rerun(app), "sweep record")
    assert [run["label"] for run in payload(app, "sweep player")["runs"]] == ["static"]


def test_of_a_point_that_is_too_long_the_beginning_is_offered(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_point, "MOST_ITERATIONS", 40)
    app = opened(file.read_bytes())
    app.button(key="open point").click()
    rerun(app)
    (said,) = notices(app)
    assert re.search(r"chunked at 32 requests/s takes \d+ iterations for 40 requests, too many to play", said)
    button = app.button(key="open first")
    number = int(re.findall(r"\d+", button.label)[0])
    button.click()
    finished(rerun(app), "sweep record")
    (run,) = payload(app, "sweep player")["runs"]
    assert 0 < number < 40
    assert len(run["finish"]) == number


@pytest.mark.usefixtures("threads")
def test_the_highest_load_that_meets_the_slo_is_found(file: Path) -> None:
    app = opened(file.read_bytes())
    app.button(key="find load").click()
    finished(rerun(app), "sweep search")
    rows = table(app, "Goodput frontier")
    assert rows[0].endswith("highest requests/s, 90 % meet")
    loads = [float(row.rpartition("|")[2].partition(":")[0].replace(",", "")) for row in rows[1:]]
    assert all(load > 32 for load in loads)  # of both policies the knee is there
    app.number_input(key="sweep ttft_ms").set_value(30.0)
    assert "highest requests/s" not in table(rerun(app), "Goodput frontier")[0]
