"""What a reader decided and left out while it read a trace, so that it can be said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from minibatch.workload.words import plural

BLOCK_SIZES = (512, 16, 64)
"""Prompt tokens of one hash: in Mooncake's traces, in Bailian's, in WEKA's."""


@dataclass(slots=True)
class Notes:
    """Filled by a reader.

    Attributes:
        trace_format: the name of the file's format.
        part: which part of each record is read; "" where all of it is.
        unit: the unit of the file's times; "" where the format leaves no choice, or there are no times.
        why: why that unit was taken; "" where it was given.
        counts: how often a noun with what is said of it applies, as in {("failed request", "left out"): 15}.
        time_counts: as `counts`, of what concerns the times alone.
        has_texts: its lengths are counted from texts.
        hashed: rows with hashes.
        disagree: of those, how many don't fit their prompt's length, for each of `BLOCK_SIZES`.
    """

    trace_format: str = ""
    part: str = ""
    unit: str = ""
    why: str = ""
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    time_counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    has_texts: bool = False
    hashed: int = 0
    disagree: Counter[int] = field(default_factory=Counter)

    def check_hashes(self, num_hashes: int, prompt_tokens: int) -> None:
        """Compare the hashes of one row with its prompt's length."""
        if not num_hashes:
            return
        self.hashed += 1
        for size in BLOCK_SIZES:
            # Some traces leave a last block that is not full without a hash.
            self.disagree[size] += num_hashes not in (prompt_tokens // size, -(-prompt_tokens // size))

    def words(self, with_times: bool = True) -> list[str]:
        """A phrase for each thing that is worth saying; of the times only where they are used."""
        phrases = [self.part] if self.part else []
        if self.unit and with_times:
            phrases.append(f"{self.unit}: {self.why}" if self.why else self.unit)
        counts = self.counts + self.time_counts if with_times else self.counts
        phrases += [f"{plural(count, noun)} {rest}" for (noun, rest), count in counts.items()]
        size = min(BLOCK_SIZES, key=lambda size: self.disagree[size])
        if wrong := self.disagree[size]:
            phrases.append(f"{wrong:,} of {plural(self.hashed, 'prompt')} without a hash for every {size} tokens")
        return phrases
