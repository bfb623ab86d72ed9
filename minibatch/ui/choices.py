"""Names that the sidebar offers and links use."""

from __future__ import annotations

from typing import Literal

Source = Literal["Recorded", "Run on this machine", "Open a file"]
RUN: Source = "Run on this machine"
SOURCES: tuple[Source, ...] = ("Recorded", RUN, "Open a file")

TYPED = "typed"
"""In place of a scenario: prompts that somebody types."""

MODELS = ("bundled", "random:gpt2", "random:gpt2-medium", "random:gpt2-large", "random:gpt2-xl")
