"""Measured ceilings are remembered, and damaged memories measured again."""

from __future__ import annotations

import itertools
import json
from datetime import date
from pathlib import Path

import pytest
import torch

from minibatch.roofline import measurement, this_machine
from minibatch.roofline.ceilings import Ceilings, default_cache_dir
from minibatch.roofline.devices import describe, parse_dtype, to_device
from minibatch.roofline.this_machine import load_or_measure


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Makes `measure` instant; holds the dtypes it was called for."""
    found: list[str] = []

    def fake(device: object, dtype: str, progress: object) -> Ceilings:
        found.append(dtype)
        return Ceilings(1e11 + len(found), 1e10, "cpu", dtype)

    monkeypatch.setattr(this_machine, "measure_ceilings", fake)
    return found


def test_it_measures_once(calls: list[str], tmp_path: Path) -> None:
    first = load_or_measure("cpu", cache_dir=tmp_path)
    assert load_or_measure("cpu", cache_dir=tmp_path) == first
    assert load_or_measure("cpu", "float64", cache_dir=tmp_path) != first
    assert calls == ["float32", "float64"]
    assert first.device == describe(torch.device("cpu"))
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 1}', '{"version": 0, "flops_per_s": 1}', "\x00\xff"])
def test_a_damaged_cache_is_measured_again(calls: list[str], tmp_path: Path, damage: str) -> None:
    load_or_measure("cpu", cache_dir=tmp_path)
    [path] = tmp_path.iterdir()
    path.write_text(damage, encoding="latin-1")
    again = load_or_measure("cpu", cache_dir=tmp_path)
    assert again.flops_per_s == 1e11 + 2
    assert json.loads(path.read_text())["flops_per_s"] == again.flops_per_s


def test_absurd_numbers_are_measured_again(calls: list[str], tmp_path: Path) -> None:
    load_or_measure("cpu", cache_dir=tmp_path)
    [path] = tmp_path.iterdir()
    path.write_text(path.read_text().replace("10000000000.0", "-1"))
    assert load_or_measure("cpu", cache_dir=tmp_path).bytes_per_s == 1e10


def test_an_unwritable_cache_is_no_error(calls: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert load_or_measure("cpu", cache_dir=tmp_path / "file" / "below").bytes_per_s == 1e10


@pytest.mark.parametrize(("share", "is_busy"), [(1.0, False), (0.5, True)])
def test_a_measurement_says_when_and_whether_it_was_disturbed(
    monkeypatch: pytest.MonkeyPatch, share: float, is_busy: bool
) -> None:
    monkeypatch.setattr(measurement, "_SECONDS_A_KERNEL", 0.001)
    monkeypatch.setattr(measurement, "_CPU_READ_BYTES", 2**24)
    wall = itertools.count()
    monkeypatch.setattr(measurement.time, "perf_counter", lambda: float(next(wall)))
    monkeypatch.setattr(
        measurement.time, "process_time", lambda: share * torch.get_num_threads() * measurement.time.perf_counter()
    )
    source = measurement.measure_ceilings("cpu", "float32").source
    assert (
        source == f"measured on {date.today()}{' while other programs took part of the processor' if is_busy else ''}"
    )


def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / "minibatch"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache_dir() == Path.home() / ".cache" / "minibatch"


def test_a_real_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "_SECONDS_A_KERNEL", 0.01)
    monkeypatch.setattr(measurement, "_CPU_READ_BYTES", 2**24)
    progress: list[float] = []
    found = measurement.measure_ceilings("cpu", "float32", progress.append)
    assert found.flops_per_s > 1e8
    assert found.bytes_per_s > 1e7
    assert progress == sorted(progress)
    assert progress[-1] == 1


def test_unknown_devices_and_dtypes_are_refused() -> None:
    for name in ("abacus", "meta", "cuda:99"):
        with pytest.raises(ValueError, match="use cpu"):
            to_device(name)
    with pytest.raises(ValueError, match="use auto or one of"):
        parse_dtype("int8")
    assert to_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
