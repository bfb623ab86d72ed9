"""Fields of a block, read strictly: a sentence says what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def short(value: Any) -> str:
    """A value as a sentence can have it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Fields:
    """Reads the fields of a block one by one; `end` rejects those that were not read."""

    def __init__(self, kind: str, fields: Mapping[str, Any]) -> None:
        self._kind = kind
        self._fields = fields
        self._read: set[str] = set()

    def text(self, name: str, otherwise: str | None = None) -> str:
        value = self._value(name, otherwise)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise ValueError(f"{name} of {self._kind} must be text, not {short(value)}")
        return value

    def number(self, name: str, otherwise: float | None = None) -> float:
        value = self._value(name, otherwise)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{name} of {self._kind} must be a number, not {short(value)}")
        return value

    def flag(self, name: str) -> bool:
        value = self._value(name, False)
        if not isinstance(value, bool):
            raise ValueError(f"{name} of {self._kind} must be true or false, not {short(value)}")
        return value

    def items(
        self, name: str, least: int = 1, otherwise: Sequence[Any] | None = None, among: Sequence[str] = ()
    ) -> list[Any]:
        """A list, or one text as a list of it; with `among` of these texts alone."""
        value = self._value(name, otherwise)
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | tuple) or len(value) < least:
            raise ValueError(f"{name} of {self._kind} must be a list of at least {least}")
        for each in value:
            if among and each not in among:
                raise ValueError(f"{name} of {self._kind} has {short(each)}: expected some of {', '.join(among)}")
        return list(value)

    def numbers(self, name: str, count: int) -> list[float]:
        value = self.items(name, count)
        if len(value) != count or not all(type(each) in (int, float) for each in value):
            raise ValueError(f"{name} of {self._kind} is {short(value)}: expected {count} numbers")
        return [float(each) for each in value]

    def mapping(self, name: str) -> dict[str, Any]:
        value = self._value(name, None)
        if not isinstance(value, dict) or not value:
            raise ValueError(f"{name} of {self._kind} must be lines of `name: value`")
        return value

    def one_of(self, name: str, choices: Sequence[str], otherwise: str | None = None) -> str:
        value = self._value(name, otherwise)
        if value not in choices:
            raise ValueError(f"{name} of {self._kind} is {short(value)}: expected one of {', '.join(choices)}")
        return str(value)

    def has(self, name: str) -> bool:
        return name in self._fields

    def end(self) -> None:
        for name in self._fields:
            if name not in self._read:
                raise ValueError(f"{self._kind} has no {name!r}: it has {', '.join(sorted(self._read))}")

    def _value(self, name: str, otherwise: Any) -> Any:
        self._read.add(name)
        if name not in self._fields or self._fields[name] is None:
            if otherwise is None:
                raise ValueError(f"{self._kind} needs {name}")
            return otherwise
        return self._fields[name]
