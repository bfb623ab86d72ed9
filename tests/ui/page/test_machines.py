"""Runs on machines that are not here: what is offered, what stands beside it, and what is refused at once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from minibatch.analysis.registry.accelerators import load_accelerators
from minibatch.analysis.registry.models import load_models
from minibatch.engine.session import Session
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.shared.choices import DRAWN, TRACE
from minibatch.ui.shared.engine_job import engine_job
from minibatch.ui.shared.machine import HERE, MachineChoice, fewest_devices, numbers_of_devices
from minibatch.ui.shared.machine_form import figures_html
from minibatch.ui.shared.presets import knob_preset
from minibatch.ui.shared.uploads import kept_config
from minibatch.workload.scenarios import SCENARIOS
from tests.ui.page.driving import Engine, choose_run, finish, html, notices, open_app, payload, press, rerun
from tests.ui.recordings import IMAGE, static


def modelled(app: AppTest, accelerator: str = "H100", model: str = "llama-3.1-8b") -> AppTest:
    app.radio(key="clock").set_value("modelled")
    rerun(app)
    app.selectbox(key="accelerator").set_value(accelerator)
    app.selectbox(key="model modelled").set_value(model)
    return rerun(app)


def rows(app: AppTest) -> list[tuple[str, str]]:
    """(source, text) of each figure beside the form."""
    found = re.findall(r"<tr title='(.*?)'>(.*?)</tr>", html(app))
    return [(source, re.sub(r"<.*?>", " ", text)) for source, text in found]


@pytest.mark.usefixtures("bundled")
def test_a_modelled_run_goes_to_the_engine_with_its_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [static()])
    engine.gate.set()
    app = modelled(choose_run(open_app()))
    app.selectbox(key="tensor_parallel H100 llama-3.1-8b").set_value(4)
    finish(rerun(app), press(app))
    (job,) = engine.jobs
    assert (job["clock"], job["accelerator"], job["num_devices"]) == ("modelled", "H100", 4)
    assert payload(app)["options"]["link"] == {
        "scenario": "chat", "model": "llama-3.1-8b", "clock": "modelled", "accelerator": "H100",
        "tensor_parallel": "4", "seed": "0", "temperature": "0.7",
    }  # fmt: skip
    with engine_job(job) as prepared:
        session = Session(prepared)
    assert session.ceilings == load_accelerators()["H100"].ceilings(num_devices=4)
    assert session.shape == load_models()["llama-3.1-8b"].shape("bfloat16")


@pytest.mark.usefixtures("bundled")
def test_a_link_restores_accelerator_devices_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [static()])
    engine.gate.set()
    link = {
        "scenario": "burst", "model": "llama-3.1-70b", "clock": "modelled", "accelerator": "H200",
        "tensor_parallel": "8", "seed": "2", "temperature": "0.0", "num_kv_blocks": "99",
    }  # fmt: skip
    app = open_app(**link)
    finish(app, app.session_state["ticket"])
    assert payload(app)["options"]["link"] == link
    assert app.selectbox(key="accelerator").value == "H200"
    assert app.selectbox(key="model modelled").value == "llama-3.1-70b"
    assert app.selectbox(key="tensor_parallel H200 llama-3.1-70b").value == 8
    (job,) = engine.jobs
    assert (job["num_devices"], job["config"].num_kv_blocks) == (8, 99)


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ({"accelerator": "H100"}, "accelerator is 'H100': it needs clock=modelled"),
        ({"clock": "modelled", "accelerator": "<b>"}, "accelerator is '<b>': expected one of H100, "),
        ({"clock": "modelled", "accelerator": "H100", "tensor_parallel": "3"}, "'3': expected one of 1, 2, 4, 8"),
        ({"model": "llama-3.1-8b"}, "model is 'llama-3.1-8b': expected one of bundled, random:gpt2"),
    ],
)
def test_a_link_to_a_machine_that_cannot_be_is_one_sentence(link: dict[str, str], reason: str) -> None:
    (notice,) = notices(open_app(scenario="chat", **link))
    plain = notice.replace("&#x27;", "'").replace("&lt;", "<").replace("&gt;", ">")
    assert reason in plain


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("name", load_accelerators())
def test_the_figures_are_those_of_the_registry_with_their_sources(name: str) -> None:
    app = modelled(choose_run(open_app()), name)
    sheet, model = load_accelerators()[name], load_models()["llama-3.1-8b"]
    told = rows(app)
    for claim, (source, text) in zip((sheet.flops, sheet.bandwidth, sheet.memory), told, strict=False):
        assert claim.words in text
        assert claim.source.replace("'", "&#x27;") in source
        assert str(claim.checked) in source
        assert ("secondary" in text, "assumption" in text) == (
            claim.standing == "secondary", claim.standing == "assumption",
        )  # fmt: skip
    explained = "Secondary: read in another account of the source." in html(app)
    assert explained == any("secondary" in text for _, text in told)
    assert "dense" in told[0][1]
    assert model.source in told[-1][0]
    assert sheet.flops.source in app.selectbox(key="accelerator").proto.help


def test_what_a_figure_is_said_to_be_stays_text() -> None:
    assert "<img" not in figures_html([(IMAGE, "<img src=x>", "<img>", "'><img src=x>")], "<img>")


@pytest.mark.usefixtures("bundled")
def test_a_measured_run_offers_no_other_machine_and_shows_no_figures() -> None:
    app = choose_run(open_app())
    assert not [box for box in app.selectbox if box.key == "accelerator"]
    assert "llama-3.1-8b" not in app.selectbox(key="model measured").options
    assert rows(app) == []


@pytest.mark.usefixtures("bundled")
def test_what_does_not_fit_is_said_beside_the_form_before_it_runs() -> None:
    app = modelled(choose_run(open_app()), "L4", "llama-3.1-70b")
    app.selectbox(key="tensor_parallel L4 llama-3.1-70b").set_value(1)
    _, refusal = notices(rerun(app))
    assert refusal.startswith("the weights of model &quot;llama-3.1-70b&quot; take 141.1 GB and L4 24GB (data sheet")
    assert refusal.endswith(" has 24 GB: use more devices, larger ones, or a smaller model")
    app.button(key="run").click()
    assert len(notices(rerun(app))) == 1
    assert "ticket" not in app.session_state
    app.selectbox(key="tensor_parallel L4 llama-3.1-70b").set_value(8)
    assert len(notices(rerun(app))) == 1, "the note that says what to do next"
    app.number_input(key="knob chat L4 8 llama-3.1-70b max_model_len").set_value(200_000)
    assert any("reads at most 131072 tokens" in notice for notice in notices(rerun(app)))


@pytest.mark.parametrize("accelerator", load_accelerators())
@pytest.mark.parametrize("model", ["bundled", *load_models()])
def test_no_choice_runs_into_a_refusal_that_another_number_of_devices_would_not(accelerator: str, model: str) -> None:
    count = fewest_devices(accelerator, model)
    assert count in numbers_of_devices(model)
    machine = MachineChoice(model, "modelled", accelerator, count)
    for workload in (*SCENARIOS, DRAWN, TRACE):
        config = SchedulerConfig(**knob_preset(workload, machine))
        if machine.kv_blocks(16):
            machine.check(config)
        else:
            assert count == numbers_of_devices(model)[-1]
            with pytest.raises(ValueError, match="use more devices"):
                machine.check(config)


def test_a_scenarios_own_knobs_are_kept_and_this_machine_has_the_usual_ones() -> None:
    h100 = MachineChoice("llama-3.1-8b", "modelled", "H100")
    assert knob_preset("kv-squeeze", h100)["num_kv_blocks"] == 64
    assert knob_preset("long-document", h100)["max_num_seqs"] == 16
    assert knob_preset("chat", h100)["max_num_batched_tokens"] == 512, "the power of two beyond the ridge"
    assert knob_preset("chat", HERE) == {name: getattr(SchedulerConfig(), name) for name in knob_preset("chat")}


def test_devices_share_heads_evenly() -> None:
    assert numbers_of_devices("gpt2-xl") == (1,)  # 25 heads
    assert numbers_of_devices("gpt2") == (1, 2, 4)  # 12
    assert numbers_of_devices("somebody/else") == (1,)


CONFIG = {
    "model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 9728, "vocab_size": 151936,
    "max_position_embeddings": 40960, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.mark.usefixtures("bundled")
def test_a_model_is_modelled_by_its_config_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    engine = Engine(monkeypatch, [static()])
    engine.gate.set()
    app = modelled(choose_run(open_app()), "H100-PCIe", "another one")
    app.text_input(key="model name").set_value(str(tmp_path))
    rerun(app)
    assert "8.04 GB" in html(app)
    finish(rerun(app), press(app))
    with engine_job(engine.jobs[0]) as prepared:
        session = Session(prepared)
    assert session.shape.kv_bytes_per_token == 147_456
    assert session.ceilings == load_accelerators()["H100-PCIe"].ceilings("bfloat16")
    assert payload(app)["options"]["link"] is None


def test_a_config_that_is_brought_is_kept_under_what_it_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    data = json.dumps(CONFIG).encode()
    path = kept_config(data)
    assert (path.read_bytes(), kept_config(data)) == (data, path)
    assert kept_config(data + b" ") != path
    machine = MachineChoice(str(path), "modelled", "H100")
    assert machine.shape is not None
    assert machine.shape.kv_bytes_per_token == 147_456


@pytest.mark.usefixtures("bundled")
def test_a_config_that_can_not_be_modelled_is_refused_at_the_button(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "gpt_oss"}')
    engine = Engine(monkeypatch, [static()])
    app = modelled(choose_run(open_app()), model="another one")
    app.text_input(key="model name").set_value(str(tmp_path))
    rerun(app)
    app.button(key="run").click()
    rerun(app)
    assert any("experts (MoE)" in notice for notice in notices(app))
    assert not engine.jobs
