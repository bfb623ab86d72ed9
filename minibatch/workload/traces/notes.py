"""What a reader decided and left out while it read a trace, so that it can be said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

BLOCK_SIZES = (512, 16, 64)
"""Prompt tokens of one hash: in Mooncake's traces, in Bailian's, in WEKA's."""


@dataclass(slots=True)
class Notes:
    """Filled by a reader.

    Attributes:
        unit: the unit of the file's times and why it was taken; "" where the format leaves no choice.
        counts: how often each phrase applies, as in {"failed requests left out": 15}.
        hashed: rows with hashes.
        disagree: of those, how many don't fit their prompt's length, for each of `BLOCK_SIZES`.
    """

    unit: str = ""
    counts: Counter[str] = field(default_factory=Counter)
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

    @property
    def words(self) -> list[str]:
        """A phrase for each thing that is worth saying."""
        phrases = [self.unit] if self.unit else []
        phrases += [f"{count:,} {phrase}" for phrase, count in self.counts.items()]
        size = min(BLOCK_SIZES, key=lambda size: self.disagree[size])
        if wrong := self.disagree[size]:
            phrases.append(f"{wrong:,} of {self.hashed:,} prompts do not have a hash for every {size} tokens")
        return phrases
