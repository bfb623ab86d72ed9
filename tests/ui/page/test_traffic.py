"""Requests by times and lengths from the page: drawn at random, and from traces that somebody brings."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from minibatch.engine.session import Session, run_job
from minibatch.ui.shared import traffic_form, uploads
from minibatch.ui.shared.engine_job import engine_job
from minibatch.ui.shared.traffic_form import TrafficChoice
from minibatch.ui.shared.uploads import upload_of
from minibatch.workload.traffic import Traffic
from tests.ui.page.driving import Engine, choose_run, finish, notices, open_app, payload, press, rerun
from tests.ui.recordings import static

CSV = b"arrival_s,prompt_tokens,output_tokens\n0,10,4\n1,20,4\n2,3000,50\n3,40,4\n"
TRACES = {
    "azure": b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,37,4\n2023-11-16 18:17:04,37,2\n",
    "mooncake": b'{"timestamp": 0, "input_length": 37, "output_length": 4, "hash_ids": [0]}\n' * 2,
    "burstgpt": b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,37,4,41,API log\n",
    "sharegpt": b'[{"conversations": [{"from": "human", "value": "a fox"}, {"from": "gpt", "value": "ran"}]}]',
    "timed_trace": b'{"timestamp": 0.5, "input_length": 37, "output_length": 4, "hash_ids": [0]}\n' * 2,
    "csv": b"arrival_s,prompt_tokens,output_tokens\n0,37,4\n",
}


def drawn(app: AppTest) -> AppTest:
    app.selectbox(key="scenario").set_value("drawn")
    return rerun(app)


def bring(app: AppTest, name: str, data: bytes) -> AppTest:
    app.selectbox(key="scenario").set_value("trace")
    rerun(app)
    app.get("file_uploader")[0].set_value((name, data, "text/csv"))
    return rerun(app)


def captions(app: AppTest) -> list[str]:
    return [caption.value for caption in app.caption]


def ready(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine(monkeypatch, [static()])
    engine.gate.set()
    return engine


@pytest.mark.usefixtures("bundled")
def test_drawn_requests_go_to_the_engine_and_come_back_by_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ready(monkeypatch)
    app = drawn(choose_run(open_app()))
    app.selectbox(key="arrivals").set_value("onoff")
    app.selectbox(key="prompt_lengths").set_value("uniform")
    rerun(app)
    app.number_input(key="arrivals onoff rate").set_value(12.5)
    app.number_input(key="num_requests").set_value(9)
    app.number_input(key="prompt_lengths uniform high").set_value(99.0)
    finish(app, press(app))
    wanted = {
        "num_requests": 9, "arrivals": "onoff:12.5:0.5:1", "prompt_lengths": "uniform:16:99",
        "output_lengths": "exponential:64:256",
    }  # fmt: skip
    assert engine.jobs[0]["traffic"] == TrafficChoice(wanted)
    with engine_job(engine.jobs[0]) as job:
        assert job.traffic == Traffic(**wanted)  # type: ignore[arg-type]
    assert captions(app)[0].startswith("Drawn: 9 requests, on average ")
    link = payload(app)["options"]["link"]
    assert link == {
        "scenario": "drawn", "model": "bundled", "clock": "measured", "seed": "0", "temperature": "0.7",
        **{name: str(value) for name, value in wanted.items()},
    }  # fmt: skip
    again = ready(monkeypatch)
    app = open_app(**link)
    finish(app, app.session_state["ticket"])
    assert again.jobs[0]["traffic"].traffic == wanted
    assert payload(app)["options"]["link"] == link


@pytest.mark.usefixtures("bundled")
def test_users_who_wait_come_back_by_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ready(monkeypatch)
    app = open_app(scenario="drawn", num_users="3", think_s="0.25", num_requests="5")
    finish(app, app.session_state["ticket"])
    traffic = engine.jobs[0]["traffic"].traffic
    assert (traffic["num_users"], traffic["think_s"], traffic["num_requests"]) == (3, 0.25, 5)
    assert "arrivals" not in traffic
    link = payload(app)["options"]["link"]
    assert (link["num_users"], link["think_s"]) == ("3", "0.25")
    assert app.selectbox(key="arrivals").value == traffic_form.USERS


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ({"arrivals": "poisson:-1"}, "arrivals: rate is -1: use 0.000001 to 1,000,000 requests a second"),
        ({"prompt_lengths": "<b>"}, "prompt_lengths: unknown lengths '<b>': write one of fixed:TOKENS"),
        ({"output_lengths": "uniform:1"}, "output_lengths: lengths 'uniform:1' has 1 numbers: write uniform:LOW:HIGH"),
        ({"num_requests": "99999"}, "num_requests is '99999': expected at most 2,000"),
        ({"num_users": "0"}, "num_users is '0': expected at least 1"),
    ],
)
def test_a_link_to_traffic_that_cannot_be_is_one_sentence(link: dict[str, str], reason: str) -> None:
    (notice,) = notices(open_app(scenario="drawn", **link))
    assert reason in notice.replace("&#x27;", "'").replace("&lt;", "<").replace("&gt;", ">")


@pytest.mark.usefixtures("bundled")
def test_numbers_that_make_no_sense_are_a_sentence_beside_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ready(monkeypatch)
    app = drawn(choose_run(open_app()))
    app.number_input(key="arrivals poisson rate").set_value(0.0)
    assert "rate is 0: use 0.000001 to 1,000,000 requests a second" in notices(rerun(app))
    app.button(key="run").click()
    assert notices(rerun(app)) == ["rate is 0: use 0.000001 to 1,000,000 requests a second"]
    assert engine.jobs == []


@pytest.mark.usefixtures("bundled")
def test_a_trace_goes_to_the_engine_with_its_scaling_and_has_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ready(monkeypatch)
    app = choose_run(open_app())
    app.selectbox(key="scenario").set_value("trace")
    rerun(app)
    app.button(key="run").click()
    assert notices(rerun(app)) == ["No trace is chosen: upload a file in the sidebar."]
    bring(app, "my trace.csv", CSV)
    app.number_input(key="trace_speed").set_value(2.0)
    app.number_input(key="length_scale").set_value(0.25)
    app.number_input(key="start_s").set_value(1.0)
    app.number_input(key="trace_requests").set_value(2)
    rerun(app)
    assert captions(app) == ["Trace: 2 requests in 0.500 s, on average 378 prompt and 6.50 output tokens"]
    finish(app, press(app))
    assert payload(app)["options"]["link"] is None
    with engine_job(engine.jobs[0]) as job:
        session = Session(job)
    assert session.scenario == "trace my trace.csv, 2 requests over 0.5 s, from 1 s on, 2x faster, lengths x 0.25"
    assert [request.num_prompt_tokens for request in session.requests] == [5, 750]


@pytest.mark.usefixtures("bundled")
def test_what_was_scaled_stands_above_the_player() -> None:
    app = bring(choose_run(open_app()), "a<b>.csv", CSV)
    app.number_input(key="trace_speed").set_value(4.0)
    app.number_input(key="trace_requests").set_value(2)
    app.radio(key="clock").set_value("modelled")
    rerun(app)
    app.selectbox(key="accelerator").set_value("T4")
    rerun(app)
    finish(app, press(app))
    given = payload(app)
    assert given["title"] == "Trace a_b_.csv"
    assert given["watch"] == "2 requests over 0.25 s, 4x faster."
    assert {run["clock"] for run in given["runs"]} == {"modelled"}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TRACES)
@pytest.mark.usefixtures("bundled")
def test_every_format_is_told_by_its_looks(name: str, packed: bool) -> None:
    data = gzip.compress(TRACES[name]) if packed else TRACES[name]
    app = bring(choose_run(open_app()), "t", data)
    (said,) = captions(app)
    assert said.lower().startswith(f"{traffic_form.FORMATS[name].title}: ".lower())
    assert ("when it runs" if name == "sharegpt" else "37.0 prompt") in said
    assert len(notices(app)) == 1


@pytest.mark.usefixtures("bundled")
def test_the_unit_of_a_trace_is_said_and_may_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ready(monkeypatch)
    line = b'{"timestamp": %s, "input_length": 37, "output_length": 4}\n'
    app = bring(choose_run(open_app()), "t", line % b"0" + line % b"2.5" + line.replace(b'"timestamp": %s, ', b""))
    means = "on average 37.0 prompt and 4.00 output tokens."
    why = "Times in seconds: they have fractions and come close together."
    left = "1 line without a timestamp, taken to arrive with the line above."
    assert captions(app) == [f"Timed trace: 3 requests in 2.50 s, {means} {why} {left}"]
    app.selectbox(key="trace_format unit").set_value("ms")
    (said,) = captions(rerun(app))
    assert said == f"Mooncake trace: 3 requests in 0.00250 s, {means} Times in milliseconds. {left}"
    finish(app, press(app))
    assert engine.jobs[0]["traffic"].traffic["time_unit"] == "ms"


@pytest.mark.usefixtures("bundled")
def test_whole_conversations_may_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ready(monkeypatch)
    talk = [{"from": "human", "value": "a fox"}, {"from": "gpt", "value": "ran"}] * 3
    app = bring(choose_run(open_app()), "t", json.dumps([{"conversations": talk}]).encode())
    app.selectbox(key="trace_format taken").set_value("whole")
    finish(app, press(rerun(app)))
    with engine_job(engine.jobs[0]) as job:
        session = Session(job)
    lengths = [request.num_prompt_tokens for request in session.requests]
    assert lengths == sorted(set(lengths))
    assert "whole conversations, 3 turns of 1" in session.scenario


@pytest.mark.parametrize("name", TRACES)
def test_every_format_runs(name: str) -> None:
    assert run(TrafficChoice({"num_requests": 2}, upload_of("t", TRACES[name])))[0].header.complete


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"arrival_s,prompt_tokens,output_tokens\n0,10,4\n1,<b>,4\n", "bad.csv, line 3: prompt_tokens is '<b>': use a"),
        (b"arrival_s,prompt_tokens,output_tokens\n", "bad.csv holds no requests: choose another part or another file"),
        (b"", "bad.csv is empty: write a line with the columns arrival_s,prompt_tokens,output_tokens first"),
        (b"__import__('os').system('true')\n", "bad.csv, line 1: begins like no format that is known"),
        (b"\x1f\x8b damaged", "bad.csv: its gzip data"),
        (b"\xff\xfe\x00", "bad.csv: not UTF-8 text"),
    ],
)
def test_a_bad_trace_is_one_sentence_with_its_line(monkeypatch: pytest.MonkeyPatch, data: bytes, reason: str) -> None:
    engine = ready(monkeypatch)
    app = bring(choose_run(open_app()), "bad.csv", data)
    _, said = notices(app)
    assert said.replace("&#x27;", "'").replace("&lt;", "<").replace("&gt;", ">").startswith(reason)
    app.button(key="run").click()
    assert notices(rerun(app)) == [said]
    assert engine.jobs == []


@pytest.mark.usefixtures("bundled")
def test_a_trace_that_is_too_large_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_BYTES", 1 << 20)
    app = bring(choose_run(open_app()), "big.csv", b"x" * ((1 << 20) + 1))
    assert notices(app)[1].startswith("big.csv is larger than 1 MB: cut it to the requests that you need")
    assert app.get("file_uploader")[0].proto.max_upload_size_mb == 200


@pytest.mark.usefixtures("bundled")
def test_requests_that_are_too_long_are_foretold_and_a_scale_that_helps_is_named() -> None:
    app = bring(choose_run(open_app()), "long.csv", CSV)
    said = notices(app)[1]
    assert said == (
        "1 of 4 requests will be rejected: prompt and output have more than 1,024 tokens (max_model_len). "
        "With a length scale of 0.33 all fit."
    )
    app.number_input(key="length_scale").set_value(0.33)
    assert len(notices(rerun(app))) == 1
    refused = [
        r for recording in run(choice_of(app), "measured") for r in recording.requests if r.finish_reason == "rejected"
    ]
    assert refused == []


@pytest.mark.usefixtures("bundled")
def test_a_trace_of_which_nothing_fits_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ready(monkeypatch)
    app = bring(choose_run(open_app()), "long.csv", CSV)
    app.number_input(key="start_s").set_value(2.0)
    app.number_input(key="trace_requests").set_value(1)
    app.button(key="run").click()
    (said,) = notices(rerun(app))
    assert said.startswith("1 of 1 request will be rejected")
    assert said.endswith("With a length scale of 0.33 all fit.")
    assert engine.jobs == []


@pytest.mark.usefixtures("bundled")
def test_where_the_model_reads_more_that_is_said_too() -> None:
    app = drawn(choose_run(open_app()))
    app.radio(key="clock").set_value("modelled")
    rerun(app)
    app.selectbox(key="accelerator").set_value("H100")
    app.selectbox(key="model modelled").set_value("llama-3.1-8b")
    app.number_input(key="prompt_lengths lognormal mean").set_value(2000.0)
    said = notices(rerun(app))[1]
    assert said.endswith("Draw shorter ones, or raise max_model_len: the model reads 131,072.")


def test_what_somebody_names_a_file_never_leaves_its_folder() -> None:
    for name in ("../../etc/passwd", "..", "", "a/b\x00c.csv", "x" * 500, "\ud800.csv", ".hidden"):
        with upload_of(name, CSV).as_file() as path:
            assert path.is_file()
            assert path.parent.name.startswith("minibatch-")
            assert 0 < len(path.name) <= 80
        assert not path.parent.exists()


def test_an_error_names_the_file_and_not_its_folder() -> None:
    with pytest.raises(ValueError, match=r"^t\.csv is bad$"), upload_of("t.csv", CSV).as_file() as path:
        raise ValueError(f"{path} is bad")


def choice_of(app: AppTest) -> TrafficChoice:
    """What the form says, with the file that was brought."""
    return TrafficChoice(
        {"num_requests": 4, "length_scale": app.number_input(key="length_scale").value}, upload_of("long.csv", CSV)
    )


def run(choice: TrafficChoice, clock: str = "modelled") -> Any:
    from minibatch.scheduling.config import SchedulerConfig

    fields = {
        "policies": ("continuous",), "scenario": None, "prompts": (), "traffic": choice, "max_tokens": 4,
        "model": "bundled", "clock": clock, "accelerator": None if clock == "measured" else "T4", "num_devices": 1,
        "seed": 0, "temperature": 0.0, "config": SchedulerConfig(),
    }  # fmt: skip
    with engine_job(fields) as job:
        return run_job(job)
