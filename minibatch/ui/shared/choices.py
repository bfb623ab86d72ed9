"""Names that the sidebar offers and links use."""

from __future__ import annotations

from typing import Literal

from minibatch.analysis.registry.models import load_models
from minibatch.recording.schema import Clock

Source = Literal["Recorded", "New run", "Open a file"]
RUN: Source = "New run"
SOURCES: tuple[Source, ...] = ("Recorded", RUN, "Open a file")

TYPED = "typed"
"""In place of a scenario: typed prompts."""
DRAWN = "drawn"
"""In place of a scenario: requests drawn from distributions."""
TRACE = "trace"
"""In place of a scenario: requests of an uploaded file."""

MOST_REQUESTS = 2000
"""Of a run that the page draws; the commands take more."""

MODELS = ("bundled", "random:gpt2", "random:gpt2-medium", "random:gpt2-large", "random:gpt2-xl")
"""Those whose durations can be measured."""


def models_offered(clock: Clock) -> tuple[str, ...]:
    """Models by name; only their sizes are needed to model durations."""
    return MODELS if clock == "measured" else ("bundled", *load_models())
