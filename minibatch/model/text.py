"""Tokens to text, a piece at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

_UNFINISHED = "\ufffd"
_LONGEST_CHARACTER = 4
"""Bytes of the longest UTF-8 character, so most byte-level tokens that one can span."""


class Tokenizer(Protocol):
    """The part of a `transformers` tokenizer that is used here."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, token_ids: list[int]) -> str: ...

    def __len__(self) -> int: ...


class TextStream:
    """One output's text, a piece a token; the pieces join to the whole.

    A byte-level token may end inside a character: its piece is then empty, and the character comes
    with the token that completes it. Tokens that the tokenizer doesn't know (a model with random
    weights has a larger vocabulary than the bundled tokenizer) show as their number.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._open: list[int] = []

    def push(self, token_id: int) -> str:
        """The text that this token completes."""
        if token_id >= len(self._tokenizer):
            return self.flush() + f"⟨{token_id}⟩"
        self._open.append(token_id)
        text = self._tokenizer.decode(self._open)
        if text.endswith(_UNFINISHED) and len(self._open) < _LONGEST_CHARACTER:
            return ""
        self._open.clear()
        return text

    def flush(self) -> str:
        """The text of tokens that never completed a character."""
        text = self._tokenizer.decode(self._open) if self._open else ""
        self._open.clear()
        return text


def pieces(tokenizer: Tokenizer, token_ids: Sequence[int]) -> list[str]:
    """An output's text, one piece a token."""
    stream = TextStream(tokenizer)
    texts = [stream.push(token_id) for token_id in token_ids]
    if texts:
        texts[-1] += stream.flush()
    return texts
