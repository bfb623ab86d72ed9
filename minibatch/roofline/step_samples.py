"""Steps to time: a random set that covers what schedulers ask of a model, and what timing one gives.

Importing this module imports no torch.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Literal, get_args

import numpy as np

from minibatch.roofline.costs import Totals

Kind = Literal["decode", "prefill", "mixed"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MOST_SEQS = 64
CONTEXTS = (16, 1000)
CHUNKS = (1, 512)
"""The ranges that steps are drawn from, both ends included, logarithmically: small is as likely as large."""

_LIMIT = 2**53
_SHARES = (0.45, 0.3, 0.25)
"""Of decode, prefill and mixed steps."""


@dataclass(frozen=True, slots=True)
class Part:
    """One sequence of a step: `num_tokens` after `start` earlier ones; `samples` if it then generates one."""

    start: int
    num_tokens: int
    samples: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """The sequences of one iteration."""

    kind: Kind
    parts: tuple[Part, ...]

    @property
    def context(self) -> int:
        """Tokens whose KV is read, over all sequences."""
        return sum(part.start + part.num_tokens for part in self.parts)

    @property
    def totals(self) -> Totals:
        return Totals(
            positions=sum(part.num_tokens for part in self.parts),
            rectangle=sum(part.num_tokens * (part.start + part.num_tokens) for part in self.parts),
            context=self.context,
            sampled=sum(part.samples for part in self.parts),
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """How long a step took.

    Attributes:
        measured_ns: the median of several runs of it, nanoseconds.
        spread: half the distance between the quartiles of those runs, as a share of their median.
    """

    kind: Kind
    totals: Totals
    num_seqs: int
    measured_ns: int
    spread: float = 0.0

    def __post_init__(self) -> None:
        counts = (*astuple(self.totals), self.num_seqs, self.measured_ns)
        if self.kind not in KINDS or not all(type(count) is int and 0 <= count < _LIMIT for count in counts):
            raise ValueError(f"a step of kind {self.kind!r} has the figures {counts}: use whole numbers")
        if not (self.totals.positions and self.num_seqs and self.measured_ns):
            raise ValueError("a step of no positions, sequences or nanoseconds is none")
        if not 0 <= self.spread < float("inf"):
            raise ValueError(f"the runs of a step spread by {self.spread}: use 0 or a positive number")

    @property
    def words(self) -> str:
        """What it was, as a person says it."""
        seqs = f"{self.num_seqs} sequence{'s' * (self.num_seqs != 1)}"
        tokens = f"{self.totals.positions:,} token{'s' * (self.totals.positions != 1)}"
        return f"{self.kind}, {seqs}, {tokens}, mean context {self.totals.context / self.num_seqs:,.0f}"


def draw_steps(count: int, n_positions: int, seed: int = 0, most_context: int | None = None) -> list[Step]:
    """`count` steps, in random order; the same for the same arguments.

    A decode step has 1 to 64 sequences. Their contexts lie around one that is drawn for the step,
    from a quarter to four times of it, because a batch mixes old and new requests. A prefill step
    is one chunk, with earlier chunks before it or none; a mixed step is both.

    Args:
        n_positions: most tokens that the model reads; contexts are cut to it.
        most_context: most tokens of context in a step, all sequences together; longer batches lose sequences.

    Raises:
        ValueError: no steps, or a negative seed, or a model that reads fewer tokens than the shortest context.
    """
    if count < 1:
        raise ValueError(f"the number of steps is {count}: use at least 1")
    if seed < 0:
        raise ValueError(f"seed is {seed}: use 0 or a positive whole number")
    if n_positions < CONTEXTS[0]:
        raise ValueError(f"the model reads {n_positions} tokens and steps need {CONTEXTS[0]}: use another model")
    rng = np.random.default_rng(seed)
    kinds = [KINDS[k] for k in rng.choice(len(KINDS), size=count, p=_SHARES)]
    return [_draw(rng, kind, n_positions, most_context or MOST_SEQS * n_positions) for kind in kinds]


def _draw(rng: np.random.Generator, kind: Kind, n_positions: int, most_context: int) -> Step:
    low, high = CONTEXTS[0], min(CONTEXTS[1], n_positions)
    parts: list[Part] = []
    if kind != "prefill":
        middle = _between(rng, low, high)
        for _ in range(_between(rng, 1, MOST_SEQS)):
            context = int(np.clip(middle * 4 ** rng.uniform(-1, 1), low, high))
            parts.append(Part(context - 1, 1))
    if kind != "decode":
        chunk = _between(rng, CHUNKS[0], min(CHUNKS[1], n_positions))
        start = 0 if rng.random() < 0.5 else int(rng.integers(0, min(high, n_positions) - min(chunk, high) + 1))
        parts.insert(0, Part(start, chunk, samples=bool(rng.random() < 0.5)))
    while len(parts) > 1 and sum(part.start + part.num_tokens for part in parts) > most_context:
        parts.pop()
    return Step("prefill" if kind == "mixed" and len(parts) == 1 else kind, tuple(parts))


def _between(rng: np.random.Generator, low: int, high: int) -> int:
    """A whole number, its logarithm drawn evenly."""
    return int(np.clip(np.exp(rng.uniform(np.log(low), np.log(high + 1))), low, high))
