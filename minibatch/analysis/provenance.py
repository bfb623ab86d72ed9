"""Where a recording's numbers come from, in the words that tables and captions use."""

from __future__ import annotations

from minibatch.recording.schema import Header


def machine_in_words(header: Header) -> str:
    """Measured or modelled on which device; of one modelled from measured ceilings, when those were measured."""
    words = f"{header.clock} on {header.device}"
    source = str((header.ceilings or {}).get("source", ""))
    if header.clock == "modelled" and source.startswith("measured"):
        return f"{words} (ceilings {source})"
    return words
