"""Lengths of texts in tokens of the bundled model. Importing this does not import torch; counting does."""

from __future__ import annotations

from functools import cache

from minibatch.model.text import Tokenizer


def count_tokens(text: str) -> int:
    """Tokens of a text for the bundled model; the best guess for models whose tokenizer is not here."""
    return len(_bundled().encode(text))


@cache
def _bundled() -> Tokenizer:
    from minibatch.model.weights import BUNDLED, load_tokenizer  # imports torch

    tokenizer = load_tokenizer(BUNDLED)
    assert tokenizer is not None
    return tokenizer
