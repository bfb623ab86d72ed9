"""Values of JSON or YAML from outside: not nested deeply, their numbers finite and of few digits."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

DEEPEST = 32
"""Most lists and objects inside one another."""
LARGEST = 1 << 64
"""Whole numbers stay below this in magnitude."""
_CONTAINERS = (1_000_000, 10)
"""Most lists and objects of a text, and characters that each needs in a longer one: an empty one takes 64 bytes."""


def parse_json(text: str | bytes, deepest: int = DEEPEST, odd_numbers: bool = False) -> Any:
    """The value that a text in JSON holds.

    Args:
        odd_numbers: NaN, infinite and very large ones are let through, for a reader that checks each field itself.

    Raises:
        ValueError: it is not JSON, or beyond the limits of this module; a part of a sentence says which.
    """
    containers = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if containers > max(_CONTAINERS[0], len(text) // _CONTAINERS[1]):
        raise ValueError(f"more than {_CONTAINERS[0]:,} lists and objects")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(f"not JSON that is read here: it is nested deeper than {deepest}") from None
    except UnicodeDecodeError:
        raise ValueError("not JSON: not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    except ValueError:  # Python parses no number of more than 4,300 digits
        raise ValueError("not JSON: a number has more than 4,000 digits") from None
    check_values(value, deepest, odd_numbers)
    return value


def check_values(root: Any, deepest: int = DEEPEST, odd_numbers: bool = False) -> None:
    """ValueError where a value made of lists, dicts and scalars is nested too deeply or has an odd number.

    Goes level by level, so that no depth of nesting is a depth of calls, and is quick for long lists of numbers.
    """
    check = _skip if odd_numbers else _check_numbers
    check([root], {type(root)})
    level = [root] if isinstance(root, list | dict) else []
    for _ in range(deepest):
        below: list[Any] = []
        for part in level:
            values = list(part.values()) if isinstance(part, dict) else part
            kinds = set(map(type, values))
            check(values, kinds)
            if isinstance(part, dict):
                check([key for key in part if type(key) in (int, float)], {int, float})
            if list in kinds or dict in kinds:
                below += [value for value in values if isinstance(value, list | dict)]
        if not below:
            return
        level = below
    raise ValueError(f"not JSON that is read here: it is nested deeper than {deepest}")


def _skip(values: list[Any], kinds: Iterable[type]) -> None:
    """Any number will do."""


def _check_numbers(values: list[Any], kinds: Iterable[type]) -> None:
    for kind in (int, float):
        if kind not in kinds:
            continue
        numbers = values if kinds == {kind} else [value for value in values if type(value) is kind]
        if kind is int and numbers and not -LARGEST < min(numbers) <= max(numbers) < LARGEST:
            raise ValueError("a whole number has more than 19 digits")
        if kind is float and not all(map(math.isfinite, numbers)):
            raise ValueError("a number is infinite or none at all: use a finite one")
