"""Words that more than one sentence needs."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """1 request, 32 requests."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
