"""Lengths of texts in tokens of the bundled model. Importing this does not import torch; counting does."""

from __future__ import annotations

from functools import cache

from minibatch.model.text import Tokenizer


def count_tokens(text: str) -> int:
    """How many tokens a text has for the bundled model: of models whose tokenizer is not here nobody can say better."""
    return len(_bundled().encode(text))


@cache
def _bundled() -> Tokenizer:
    from minibatch.model.weights import BUNDLED, load_tokenizer  # imports torch

    tokenizer = load_tokenizer(BUNDLED)
    assert tokenizer is not None
    return tokenizer
