"""Strings of the interface and their translations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from minibatch.analysis.registry.claims import find_claim
from minibatch.learning import words
from minibatch.learning.expressions import Figures
from minibatch.learning.lesson import compile_lesson
from minibatch.learning.words import FOLDER, in_unit, interface_words, localised, read_strings
from tests.learning.lessons import FRONT, write_lesson

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
        ("131,072 bytes", "131.072 Bytes"),
        ("12,345,678", "12.345.678"),
        ("16 B, then 3.35 TB/s", "16 B, then 3,35 TB/s"),
        ("–", "–"),
    ],
)
def test_numbers_have_the_marks_of_their_language(english: str, german: str) -> None:
    assert localised(english, interface_words("de")) == german
    assert localised(english, ENGLISH) == english


def test_a_figure_has_its_unit_once() -> None:
    assert in_unit("4.79 ms", "ms") == "4.79 ms"
    assert (in_unit("4.79", "ms"), in_unit("1.02", "x"), in_unit("15", "")) == ("4.79 ms", "1.02×", "15")


@pytest.mark.parametrize(
    ("language", "shown", "standing"),
    [("en", "3.35 TB/s", "checked {:%Y-%m-%d}"), ("de", "3,35 TB/s", "geprüft am {:%d.%m.%Y}")],
)
def test_a_claim_is_shown_in_the_language(language: str, shown: str, standing: str) -> None:
    figure = Figures({}, language).figure("claim.h100_bandwidth")
    assert figure.words == shown
    assert figure.standing.endswith(standing.format(find_claim("h100-bandwidth").checked))


def test_the_figures_of_a_lesson_are_shown_in_its_language(tmp_path: Path) -> None:
    body = """{{ two.static.output_throughput / 1000 | 0.1f }} {{ kv_bytes(llama_3_1_8b) }} {{ 1 / 3 }}

```claim
id: h100-bandwidth
```

```predict
ask: A?
answer: 1.25
unit: x
```

```explore
run: two
policy: static
knobs: {max_num_seqs: [1, 2]}
show: [mean_ttft_ms]
ask: A.
find: slot_padding > 0.2
```
"""
    folder = write_lesson(tmp_path, body).parent
    (folder / "lesson.de.md").write_text(FRONT + body, encoding="utf-8")
    german, english = (compile_lesson(folder, language, str)[0] for language in ("de", "en"))
    assert german
    assert english
    text, claim, predict, explore = german.blocks
    figures = re.findall(r'title="(.*?)">(.*?)<', text["html"])
    assert [standing for standing, _ in figures] == ["modelliert", "berechnet", "berechnet"]
    assert [shown for _, shown in figures[1:]] == ["131.072 Bytes", "0,333"]
    assert figures[0][1].replace(",", ".") == re.findall(r">([\d.]+)<", english.blocks[0]["html"])[0]
    assert (claim["words"], predict["answer_words"]) == ("3,35 TB/s", "1,25×")
    assert explore["show"][0]["label"] == "TTFT, Mittel"
    assert all(re.fullmatch(r"\d+,\d+ ms", setting["words"]["mean_ttft_ms"]) for setting in explore["settings"])
