"""`calibrate` end to end on a tiny model and few steps: whatever this machine's figures are, they are said and kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from minibatch.engine.job import Job
from minibatch.engine.session import Session
from minibatch.model import weights
from minibatch.model.gpt2 import GPT2Config
from minibatch.roofline import this_machine
from minibatch.roofline.calibration_store import calibration_files, load_calibration
from minibatch.roofline.ceilings import Ceilings
from minibatch.scheduling.config import SchedulerConfig

Inside = Callable[..., CompletedProcess[str]]

TINY = GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=2048, n_positions=64)
FEW = ["--model", "random:tiny", "--steps", "24", "--rounds", "1"]


@pytest.fixture
def own_cache(inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own; ceilings are made up, and there is a tiny model."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(weights.RANDOM_CONFIGS, "tiny", TINY)
    monkeypatch.setattr(
        this_machine, "measure_ceilings", lambda device, dtype, progress: Ceilings(1e11, 1e10, "cpu", dtype)
    )
    return tmp_path / "minibatch"


def test_it_says_what_it_fitted_and_modelled_runs_use_it(inside: Inside, own_cache: Path) -> None:
    done = inside("calibrate", *FEW)
    assert done.returncode == 0, done.stderr
    (path,) = calibration_files(own_cache)
    fitted = load_calibration(path)
    assert fitted.num_fitted == 16
    assert f"modelled against measured, on {len(fitted.held_out)} steps that were not fitted to" in done.stdout
    for words in ("100 GFLOP/s", "10 GB/s", "fitted to 16 measured steps of random:tiny", "lm_head", "median error"):
        assert words in done.stdout
    config = SchedulerConfig(max_model_len=64)
    job = Job(("chunked",), config, prompts=("a",), max_tokens=2, model="random:tiny", clock="modelled", dtype="auto")
    assert Session(job).ceilings == fitted.ceilings
    path.write_text("damaged")
    assert Session(job).ceilings.efficiency.source == "none: the bare roofline"


def test_its_numbers_as_json(inside: Inside, own_cache: Path) -> None:
    done = inside("calibrate", *FEW, "--json")
    numbers = json.loads(done.stdout)
    fitted = load_calibration(*calibration_files(own_cache))
    assert done.stderr.splitlines()[-1].startswith("minibatch: warning: 24 steps are few: 16 were fitted to and ")
    assert done.stderr.splitlines()[-1].endswith("use --steps 60 or more")
    assert numbers["model"] == "random:tiny"
    assert numbers["num_held_out"] == len(fitted.held_out) == numbers["errors"]["all"]["count"]
    assert numbers["ceilings"]["efficiency"]["linear_compute"] == fitted.ceilings.efficiency.linear_compute
    assert numbers["ceilings"]["efficiency"]["source"].startswith("fitted to 16 steps of random:tiny on this machine")


@pytest.mark.usefixtures("own_cache")
def test_enough_steps_need_no_warning(inside: Inside) -> None:
    done = inside("calibrate", "--model", "random:tiny", "--steps", "60", "--rounds", "1")
    assert done.returncode == 0
    assert "warning" not in done.stderr


def test_what_cannot_be_kept_is_said(inside: Inside, own_cache: Path) -> None:
    own_cache.write_text("a file where the folder should be")
    done = inside("calibrate", *FEW)
    assert done.returncode == 2
    assert "fitted to 16 measured steps" in done.stdout
    assert done.stderr.strip().splitlines()[-1].startswith("minibatch: error: File exists")
