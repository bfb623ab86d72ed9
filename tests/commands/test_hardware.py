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
    columns = next(row for row in rows if row[:2] == ["H100", "H200"])
    assert capacity[1 + columns.index("H100")] == "476"
    assert "T4" in columns
    assert capacity[1 + columns.index("T4")] == "–"


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
