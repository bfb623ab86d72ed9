"""Strings of the interface and their translations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from minibatch.learning import words
from minibatch.learning.words import FOLDER, interface_words, localised, read_strings

ENGLISH = interface_words()
SCRIPTS = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js"))


@pytest.fixture
def translation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a translation into a language that nobody speaks, beside the English strings."""
    (tmp_path / "strings.json").write_bytes((FOLDER / "strings.json").read_bytes())
    monkeypatch.setattr(words, "FOLDER", tmp_path)
    interface_words.cache_clear()
    yield tmp_path / "strings.xx.json"
    interface_words.cache_clear()


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{\w+\}", text))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("strings.*.json")), ids=lambda path: path.name)
def test_a_translation_has_the_keys_and_placeholders_of_the_english(path: Path) -> None:
    for key, text in read_strings(path).items():
        assert key in ENGLISH, f"{path.name} has {key!r}, which strings.json lacks"
        expected = placeholders(ENGLISH[key])
        assert placeholders(text) == expected, f"{key!r} of {path.name}: expected {expected or 'no placeholder'}"


def test_the_german_strings_are_whole() -> None:
    assert set(read_strings(FOLDER / "strings.de.json")) == set(ENGLISH)


def test_a_string_that_a_translation_lacks_is_english(translation: Path) -> None:
    translation.write_text(json.dumps({"commit": "Zek!"}), encoding="utf-8")
    assert interface_words("xx")["commit"] == "Zek!"
    assert interface_words("xx") == {**ENGLISH, "commit": "Zek!"}
    assert interface_words("yy") == ENGLISH


def test_every_string_that_the_pages_ask_for_is_there() -> None:
    asked = set(re.findall(r'\b(?:words|[wW]ord)\("(\w+)"', SCRIPTS))
    assert len(asked) > 50
    assert asked - set(ENGLISH) == set()


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("1,234.5 tok/s", "1.234,5 tok/s"),
        ("0.84 ms", "0,84 ms"),
        ("131,072 bytes", "131.072 bytes"),
        ("12,345,678", "12.345.678"),
        ("16 B, then 3.35 TB/s", "16 B, then 3,35 TB/s"),
        ("–", "–"),
    ],
)
def test_numbers_have_the_marks_of_their_language(english: str, german: str) -> None:
    assert localised(english, interface_words("de")) == german
    assert localised(english, ENGLISH) == english
