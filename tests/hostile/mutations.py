"""Mutations of sound files: of the values of a JSON document, of the lines of a text, and of bytes."""

from __future__ import annotations

import copy
import random
from typing import Any

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, 2**64, 10**40, 10**4200, -(10**25), 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", "a", "\ud800", "x" * 5000, "{{", "[", [], [[]], [1, "a"], {}, {"a": []}, {"": None},
)  # fmt: skip
ODD_TEXTS = (
    "9" * 350, "1e999", "-1", "0", ".inf", ".nan", "null", "true", "[[a]]", "[a]", "{}", "[]", "{a: [b]}", "[1, {}]",
    "*a", "&a [*a]", "!!bool zz", '!!int ""', "!!timestamp 2026-99-99", "2026-13-45", "0b_", "{{ 1e308 * 10 }}",
    "{{ 10**10**10 }}", "{{ 1 | 2000000000f }}", "{{ 1 | .2147483647f }}", "[" * 200, "{{" * 200, "(" * 200 + "1",
    "'", '"', "\t", "x" * 3000, "\u2028", "\x00", "\ud83d", "- - - -", "? a", "%", "@", "`", "1:1:1:1:1:1",
    "0x" + "f" * 80,
)  # fmt: skip


def mutate_json(document: Any, rng: random.Random) -> Any:
    """A copy in which one value, anywhere, is odd, doubled, missing or another one of the document."""
    changed = copy.deepcopy(document)
    places = [
        (part, key) for part in _containers(changed) for key in (part if isinstance(part, dict) else range(len(part)))
    ]
    part, key = rng.choice(places)
    kind = rng.randrange(5)
    if kind == 0:
        del part[key]
    elif kind == 1:
        other, place = rng.choice(places[:50])
        part[key] = copy.deepcopy(other[place]) if other is not part else rng.choice(ODD_VALUES)
    elif kind == 2 and isinstance(part, list):
        part.insert(key, copy.deepcopy(part[key]))
    elif kind == 3 and isinstance(part[key], int):
        part[key] += rng.choice((-(2**33), -2, -1, 1, 2, 2**20, 2**33))
    else:
        part[key] = rng.choice(ODD_VALUES)
    return changed


def _containers(value: Any) -> list[Any]:
    """Every list and dict in it that is not empty."""
    if not isinstance(value, list | dict) or not value:
        return []
    parts = list(value.values()) if isinstance(value, dict) else value
    return [value, *(each for part in parts for each in _containers(part))]


def mutate_text(text: str, rng: random.Random) -> str:
    """A text with a line gone, doubled, moved or indented, or with one word or value odd."""
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    kind = rng.randrange(7)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(rng.randrange(len(lines)), lines[at])
    elif kind == 2:
        lines[at] = " " * rng.randrange(1, 5) + lines[at]
    elif kind == 3 and ":" in lines[at]:
        lines[at] = lines[at].split(":")[0] + ": " + rng.choice(ODD_TEXTS)
    elif kind == 4:
        lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
    else:
        words = lines[at].split(" ")
        words[rng.randrange(len(words))] = rng.choice(ODD_TEXTS)
        lines[at] = " ".join(words)
    return "\n".join(lines)


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes of which some are others, gone, doubled or cut off."""
    at, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    end = min(end, at + 40)
    kind = rng.randrange(5)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[end:]
    if kind == 2:
        return data[:at] + data[at:end] * 3 + data[end:]
    if kind == 3:
        return data[:at] + rng.choice((b"\x00", b"\xff\xfe", b"\x1f\x8b", b"{", b"[", b'"', b"9" * 400)) + data[at:]
    return data[:at] + rng.randbytes(1) + data[at + 1 :]
