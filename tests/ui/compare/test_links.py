"""Links: from what the sidebar says to parameters and back, and what no link may bring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.scheduling import DEFAULTS
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.compare.links import (
    recording_link,
    run_link,
    start_of,
    widget_values,
)
from minibatch.ui.shared.choices import DRAWN, MODELS, RUN, TYPED
from minibatch.ui.shared.link_values import LinkError, parse_knob
from minibatch.ui.shared.presets import knob_preset
from minibatch.workload.scenarios import SCENARIOS

FILES = [Path("here/chat.mbr"), Path("here/long-document.mbr")]
JOB: dict[str, Any] = {
    "policies": DEFAULTS, "scenario": "chat", "prompts": (), "max_tokens": 64,
    "model": "bundled", "clock": "measured", "accelerator": None, "num_devices": 1, "traffic": None,
    "seed": 0, "temperature": 0.7,
}  # fmt: skip
OTHERS: dict[str, Any] = {
    "max_num_seqs": 3, "max_num_batched_tokens": 17, "max_model_len": 512, "block_size": 4, "num_kv_blocks": 80,
    "kv_layout": "contiguous", "preemption_mode": "swap", "watermark": 0.25, "max_wait": 1.5,
    "compute_padding": False, "mix_prefill": True, "queue_order": "fair", "queue_ageing": 20.0,
    "long_prefill_token_threshold": 32, "schedule_conservativeness": 0.5,
}  # fmt: skip
"""Another value than the default for every knob."""
KNOBS = [field.name for field in fields(SchedulerConfig)]
NAMES = [
    "recording", "scenario", "model", "clock", "accelerator", "tensor_parallel", "num_requests", "arrivals",
    "prompt_lengths", "output_lengths", "num_users", "think_s", "seed", "temperature", "max_tokens", "prompts",
    "policies", "t", "axis", "focus", "pin", "view", "speed", "loop", *KNOBS,
]  # fmt: skip
ODD = st.sampled_from(
    ["", "nan", "inf", "-inf", "1e400", "1e15", "-1", "0.5", "1_0", "٣", "0x10", "chat", TYPED, "bundled", "True",
     "real", "1-2", "2-1", "--", "1e309-2", "9" * 5000, "\x00", "<b>"]
)  # fmt: skip
PARAMETERS = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), ODD | st.text(max_size=30))


def preset_and(knobs: Mapping[str, Any], scenario: str = "chat") -> dict[str, Any]:
    return {**knob_preset(scenario), **knobs}


def test_a_recording_comes_back_with_the_policies_that_were_chosen() -> None:
    link = recording_link(FILES[1], ("continuous", "chunked"), ("static", "continuous", "chunked"))
    assert link == {"recording": "long-document", "policies": "continuous,chunked"}
    assert widget_values(link, FILES) == {"source": "Recorded", "recording": FILES[1]}


def test_what_is_as_it_always_is_stands_in_no_link() -> None:
    assert recording_link(FILES[0], ("static",), ("static",)) == {"recording": "chat"}
    assert run_link(JOB, knob_preset("chat")) == {
        "scenario": "chat", "model": "bundled", "clock": "measured", "seed": "0", "temperature": "0.7",
    }  # fmt: skip


@pytest.mark.parametrize("knob", KNOBS)
def test_every_knob_comes_back(knob: str) -> None:
    assert OTHERS[knob] != asdict(SchedulerConfig())[knob]
    link = run_link(JOB, preset_and({knob: OTHERS[knob]}))
    assert link is not None
    assert [name for name in link if name in KNOBS] == [knob]
    got = widget_values(link, [])[f"knob chat {knob}"]
    assert got == OTHERS[knob]
    assert type(got) is type(OTHERS[knob])


def test_a_knob_is_left_out_where_the_scenario_has_it_so() -> None:
    job = {**JOB, "scenario": "kv-squeeze"}
    assert "num_kv_blocks" not in (run_link(job, preset_and({"num_kv_blocks": 64}, "kv-squeeze")) or {})
    back = run_link(job, preset_and({"num_kv_blocks": 256}, "kv-squeeze")) or {}
    assert widget_values(back, [])["knob kv-squeeze num_kv_blocks"] == 256


@pytest.mark.parametrize("scenario", [*SCENARIOS, None])
def test_a_run_comes_back_as_the_values_of_its_widgets(scenario: str | None) -> None:
    job = {
        **JOB, "scenario": scenario, "policies": ("static", "chunked"), "prompts": () if scenario else ("a & b", "ü=?"),
        "max_tokens": 9, "model": "random:gpt2", "clock": "measured", "seed": 12, "temperature": 0.05,
    }  # fmt: skip
    name = scenario or TYPED
    link = run_link(job, preset_and(OTHERS, name))
    assert link is not None
    assert link["policies"] == "static,chunked"
    wanted = {"source": RUN, "scenario": name, "model": "random:gpt2", "clock": "measured"}
    wanted |= {"seed": 12, "temperature": 0.05}
    if scenario is None:
        wanted |= {"prompts": "a & b\nü=?", "max_tokens": 9}
    wanted |= {f"knob {name} {knob}": OTHERS[knob] for knob in KNOBS if OTHERS[knob] != knob_preset(name)[knob]}
    assert widget_values(link, []) == wanted


@pytest.mark.parametrize("model", ["someone/gpt2", "/etc", "", "random:gpt2-huge"])
def test_only_models_that_are_offered_stand_in_a_link(model: str) -> None:
    assert run_link({**JOB, "model": model}, knob_preset("chat")) is None
    assert {run_link({**JOB, "model": model}, knob_preset("chat"))["model"] for model in MODELS} == set(MODELS)  # type: ignore[index]
    with pytest.raises(LinkError, match="expected one of bundled, random:gpt2"):
        widget_values({"scenario": "chat", "model": model}, [])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"recording": "<b>gone</b>"}, "the link names the recording '<b>gone</b>', which is not here"),
        ({"recording": "../here/chat"}, "the link names the recording '../here/chat', which is not here"),
        ({"scenario": "chess"}, f"scenario is 'chess': expected one of {', '.join([*SCENARIOS, TYPED, DRAWN])}"),
        ({"scenario": "chat", "clock": "guessed"}, "clock is 'guessed': expected one of measured, modelled"),
        ({"scenario": "chat", "block_size": "large"}, "block_size is 'large': expected a whole number"),
        ({"scenario": "chat", "block_size": "1.5"}, "block_size is '1.5': expected a whole number"),
        ({"scenario": "chat", "block_size": ""}, "block_size is '': expected a whole number"),
        ({"scenario": "chat", "num_kv_blocks": "1e300"}, "num_kv_blocks is '1e300': expected a whole number"),
        ({"scenario": "chat", "watermark": "nan"}, "watermark is 'nan': expected a number"),
        ({"scenario": "chat", "max_wait": "-inf"}, "max_wait is '-inf': expected a number"),
        ({"scenario": "chat", "kv_layout": "heap"}, "kv_layout is 'heap': expected one of paged, contiguous"),
        ({"scenario": "chat", "mix_prefill": "yes"}, "mix_prefill is 'yes': expected one of true, false"),
        ({"scenario": "chat", "seed": "-3"}, "seed is '-3': expected at least 0"),
        ({"scenario": "chat", "temperature": "-0.1"}, "temperature is '-0.1': expected at least 0"),
        ({"scenario": TYPED, "max_tokens": "0"}, "max_tokens is '0': expected at least 1"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_a_sentence(parameters: dict[str, str], sentence: str) -> None:
    with pytest.raises(LinkError) as caught:
        widget_values(parameters, FILES)
    assert str(caught.value) == sentence


def test_the_words_for_true_and_false_are_pythons_and_javascripts() -> None:
    assert [parse_knob("mix_prefill", text) for text in ("True", "true", "False", "false")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_page_without_a_link_sets_nothing() -> None:
    assert widget_values({"t": "5", "utm_source": "somewhere"}, FILES) == {}


def test_a_link_brings_only_so_much_text() -> None:
    values = widget_values({"scenario": TYPED, "prompts": "x" * 1_000_000}, [])
    assert 1_000 < len(values["prompts"]) < 100_000


def test_where_a_link_begins() -> None:
    moment = {
        "t": "1234567", "axis": "iterations", "focus": "chunked", "pin": "3", "view": "close", "speed": "0.5",
        "loop": "10-20.5",
    }  # fmt: skip
    assert start_of({"recording": "chat", **moment}) == {
        "position": 1234567, "axis": "iterations", "focus": "chunked", "pin": 3, "view": "close", "speed": 0.5,
        "loop": [10, 20.5],
    }  # fmt: skip
    assert start_of({"speed": "real"}) == {"speed": "real"}


@pytest.mark.parametrize(
    "parameters",
    [{"t": ""}, {"t": "soon"}, {"t": "nan"}, {"t": "1e400"}, {"pin": "1.5"}, {"pin": "r3"}, {"speed": "fast"},
     {"loop": "5"}, {"loop": "5-5"}, {"loop": "9-3"}, {"loop": "-3-5"}, {"loop": "1-2-3"}, {"loop": "a-b"},
     {"loop": "1-inf"}],
)  # fmt: skip
def test_a_moment_that_makes_no_sense_is_left_out(parameters: dict[str, str]) -> None:
    assert start_of(parameters) == {}


@given(PARAMETERS)
def test_any_address_is_followed_or_refused_in_a_sentence(parameters: dict[str, str]) -> None:
    try:
        values = widget_values(parameters, FILES)
    except LinkError:
        return
    assert bool(values) == ("recording" in parameters or "scenario" in parameters)
    for name, value in values.items():
        if name.startswith("knob "):
            assert type(value) is type(knob_preset(values["scenario"])[name.split()[-1]])


@given(PARAMETERS)
def test_any_address_gives_a_beginning_that_the_player_can_take(parameters: dict[str, str]) -> None:
    start = start_of(parameters)
    assert set(start) <= {"axis", "focus", "view", "position", "pin", "speed", "loop"}
    numbers = [start.get("position", 0), start.get("pin", 0), *start.get("loop", [])]
    assert all(abs(number) < 2**53 for number in numbers)
    if "loop" in start:
        assert 0 <= start["loop"][0] < start["loop"][1]
