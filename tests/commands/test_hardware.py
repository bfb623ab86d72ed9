"""Accelerators, models and claims as a person asks for them on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minibatch.analysis.registry.accelerators import load_accelerators
from minibatch.analysis.registry.claims import load_claims
from minibatch.analysis.registry.models import load_models
from minibatch.recording.storage import load

MODELLED = ["compare", "--clock", "modelled", "--policies", "chunked"]


def test_claims_are_printed_with_their_sources(inside) -> None:
    printed = json.loads(inside("claims", "--json").stdout)
    assert {claim["id"]: claim["value"] for claim in printed} == {c.id: c.value for c in load_claims().values()}
    assert all(claim["source"] and claim["checked"] for claim in printed)
    table = inside("claims").stdout
    for claim in load_claims().values():
        (row,) = [line for line in table.splitlines() if line.split()[:1] == [claim.id]]
        assert claim.words in row
    assert "(assumption)" in table
    assert "(secondary)" in table


def test_hardware_has_what_follows_from_the_figures(inside) -> None:
    done = inside("hardware")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    for name in load_accelerators():
        assert any(row[:1] == [name] and "data" in row for row in rows)
    for name in load_models():
        assert sum(row[:1] == [name] for row in rows) == 2
    assert "131,072" in done.stdout
    capacity = [row for row in rows if row[:1] == ["llama-3.1-8b"]][1]
    places = list(load_accelerators())
    assert len(capacity) == 1 + len(places)
    assert capacity[1 + places.index("H100")] == "476"
    assert capacity[1 + places.index("T4")] == "–"


QWEN3_4B = {
    "model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 9728, "vocab_size": 151936,
    "max_position_embeddings": 40960, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
}  # fmt: skip


def test_any_model_is_modelled_by_its_config(inside, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(QWEN3_4B))
    shown = inside("hardware", "--model", tmp_path, "--accelerator", "h100 pcie", "--dtype", "fp8").stdout
    assert "147,456" in shown
    assert "4.02 GB" in shown
    assert "756.5 TFLOP/s" in shown
    assert "llama" not in shown
    for model in (tmp_path, config):
        arguments = [*MODELLED, "--accelerator", "H100-PCIe", "--model", model, "--json"]
        (run,) = json.loads(inside(*arguments).stdout)["runs"]
        assert (run["device"], run["model"]) == ("H100 PCIe 80GB (data sheet, secondary)", str(model))
    out = tmp_path / "fp8.mbr"
    assert inside(*MODELLED, "--accelerator", "H100", "--model", config, "--dtype", "fp8", "--out", out).returncode == 0
    assert load(out)[0].header.dtype == "float8"
    assert inside("validate", out).returncode == 0
    swept = ["sweep", "--out", tmp_path / "s.parquet", "--policies", "chunked", "--rates", 4, "--num-requests", 20]
    assert "modelled on H100" in inside(*swept, "--model", tmp_path, "--workers", 1).stdout


def test_a_model_that_the_costs_do_not_know_is_refused_by_name(inside, tmp_path: Path) -> None:
    for kind, says in (("gpt_oss", "experts (MoE)"), ("hat", "models of type 'hat' are not known here")):
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
        for command in (["hardware"], [*MODELLED, "--accelerator", "H100"]):
            done = inside(*command, "--model", tmp_path)
            assert done.returncode == 2
            assert says in done.stderr
            assert done.stderr.rstrip().endswith("starcoder2")


def test_a_run_on_an_accelerator_is_recorded_with_its_source(inside, tmp_path: Path) -> None:
    path = tmp_path / "h100.mbr"
    arguments = ["--accelerator", "h100", "--tensor-parallel", 2, "--model", "llama-3.1-8b", "--out", path]
    done = inside(*MODELLED, *arguments)
    assert done.returncode == 0, done.stderr
    assert "modelled on 2 × H100 SXM 80GB (data sheet" in done.stdout
    (run,) = load(path)
    assert run.header.model == "llama-3.1-8b"
    assert run.header.config["max_model_len"] == 1024
    assert inside("validate", path).returncode == 0


def test_run_takes_an_accelerator_too(inside) -> None:
    arguments = ["--accelerator", "T4", "--model", "gpt2", "--prompt", "Once", "--max-tokens", 4]
    done = inside("run", "--clock", "modelled", *arguments)
    assert done.returncode == 0, done.stderr
    assert "T4 16GB (data sheet) · model gpt2 · float16" in done.stdout


def test_the_bundled_model_runs_on_an_accelerator_too(inside) -> None:
    done = inside(*MODELLED, "--accelerator", "RTX-4090", "--json")
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["device"], run["model"]) == ("RTX 4090 24GB (data sheet)", "bundled")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--accelerator", "H100"], "can't be measured: use --accelerator with --clock modelled"),
        (["--model", "yi-34b"], "yi-34b is known by its sizes alone"),
        (["--clock", "modelled", "--tensor-parallel", "2"], "give --accelerator as well"),
        (["--clock", "modelled", "--accelerator", "H900"], "choose from H100"),
        (["--clock", "modelled", "--accelerator", "T4", "--dtype", "bfloat16"], "use --dtype float16"),
        (["--clock", "modelled", "--accelerator", "L4", "--device", "cpu"], "give one of them"),
        (["--clock", "modelled", "--accelerator", "L4", "--tensor-parallel", "0"], "use at least 1"),
    ],
)
def test_bad_options_get_one_sentence(inside, arguments: list[str], says: str) -> None:
    done = inside("compare", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_rejected_requests_are_counted_where_the_means_stand(inside, tmp_path: Path) -> None:
    """A prompt of 2,000 tokens never fits a pool of 64 blocks of 16: the other two are served."""
    trace, kept, swept = (tmp_path / name for name in ("big.csv", "big.mbr", "big.parquet"))
    trace.write_text("arrival_s,prompt_tokens,output_tokens\n0,2000,50\n.01,100,20\n.02,100,20\n")
    knobs = ["--model", "llama-3.1-8b", "--accelerator", "H100", "--trace", trace, "--max-model-len", 4096]
    knobs += ["--num-kv-blocks", 64, "--max-num-batched-tokens", 2048]
    compared = inside(*MODELLED, *knobs, "--out", kept).stdout
    run = inside("run", "--clock", "modelled", "--policy", "chunked", *knobs).stdout
    for printed in (compared, run, inside(*MODELLED, *knobs, "--all").stdout, inside("show", kept).stdout):
        assert "3 requests, 2 served, 1 rejected" in " ".join(printed.split())
        rows = {line.rsplit(maxsplit=1)[0].strip(): line.split()[-1] for line in printed.splitlines() if line.strip()}
        assert (rows["requests completed"], rows["requests rejected"]) == ("2", "1")
    assert "it may need 129 blocks, and the whole pool has 64" in inside("show", kept, "--why").stdout
    table = inside("sweep", "--out", swept, "--policies", "chunked", "--rates", 4, "--workers", 1, *knobs).stdout
    heads, row = (line.split() for line in table.splitlines() if line.split()[:1] in (["rate"], ["4"]))
    assert row[heads.index("rejected")] == "1"
    fine = inside(*MODELLED, "--scenario", "chat").stdout
    assert "rejected" not in fine
