"""Vega's module is bundled once and remembered, and damaged memories are made again."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest
import vl_convert

from minibatch.ui.player.runtime import load_or_bundle


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Makes bundling instant; holds what it was asked for."""
    found: list[str] = []

    def fake(snippet: str) -> str:
        found.append(snippet)
        return f"const µ = {len(found)};\nexport {{vegaEmbed}};\n"

    monkeypatch.setattr(vl_convert, "javascript_bundle", fake)
    return found


def test_it_bundles_once_a_version(calls: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = load_or_bundle(tmp_path / "new")
    assert load_or_bundle(tmp_path / "new") == first
    assert len(calls) == 1
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99")
    assert load_or_bundle(tmp_path / "new") != first


@pytest.mark.parametrize("damage", [b"", b"// \n", b"\xff\xfe", None])
def test_a_damaged_file_is_made_again(calls: list[str], tmp_path: Path, damage: bytes | None) -> None:
    first = load_or_bundle(tmp_path)
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-9] if damage is None else damage)
    second = load_or_bundle(tmp_path)
    assert second != first
    assert load_or_bundle(tmp_path) == second


def test_an_unwritable_folder_is_no_error(calls: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "vegaEmbed" in load_or_bundle(tmp_path / "file" / "below")


@pytest.mark.slow
def test_the_real_module_exports_what_the_player_imports(tmp_path: Path) -> None:
    text = load_or_bundle(tmp_path)
    assert text.rstrip().endswith("as vegaEmbed};")
    assert len(text) < 2_000_000
