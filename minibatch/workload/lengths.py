"""How long prompts and outputs are: distributions over whole numbers of tokens, at least 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from minibatch.workload.request import LONGEST_TOKENS
from minibatch.workload.specs import Known, parse_spec, require

Tokens = npt.NDArray[np.int64]
_RANGE = f"1 to {LONGEST_TOKENS:,} tokens"


class TokenLengths(Protocol):
    """A distribution of lengths."""

    @property
    def words(self) -> str:
        """What it is, to stand behind "prompts" or "outputs"."""
        ...

    def draw(self, num_requests: int, rng: np.random.Generator) -> Tokens:
        """(num_requests,) lengths in tokens, each 1 to `LONGEST_TOKENS`."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Every length is the same."""

    tokens: float

    def __post_init__(self) -> None:
        _check_whole("tokens", self.tokens)

    @property
    def words(self) -> str:
        return f"of {self.tokens:,.0f} tokens"

    def draw(self, num_requests: int, rng: np.random.Generator) -> Tokens:
        return np.full(num_requests, int(self.tokens), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every length from `low` to `high`, both included, is as likely."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_whole("low", self.low)
        _check_whole("high", self.high)
        require(self.low <= self.high, "high", self.high, f"{self.low:g} (low) or more")

    @property
    def words(self) -> str:
        return f"of {self.low:,.0f} to {self.high:,.0f} tokens"

    def draw(self, num_requests: int, rng: np.random.Generator) -> Tokens:
        return rng.integers(int(self.low), int(self.high) + 1, num_requests, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Lognormal:
    """The logarithm is normal with standard deviation `sigma`; `mean` is that of the lengths themselves.

    The logarithm's mean is therefore ln(mean) - sigma**2 / 2.
    """

    mean: float
    sigma: float

    def __post_init__(self) -> None:
        require(1 <= self.mean <= LONGEST_TOKENS, "mean", self.mean, _RANGE)
        require(0 <= self.sigma <= 4, "sigma", self.sigma, "0 to 4")

    @property
    def words(self) -> str:
        return f"lognormal with mean {self.mean:,g} and sigma {self.sigma:g}"

    def draw(self, num_requests: int, rng: np.random.Generator) -> Tokens:
        return _whole(rng.lognormal(np.log(self.mean) - self.sigma**2 / 2, self.sigma, num_requests))


@dataclass(frozen=True, slots=True)
class CappedExponential:
    """Exponential with mean `mean`, and `cap` where that would be longer.

    So Anyscale drew output lengths in "How continuous batching enables 23x throughput in LLM
    inference" (2023): mean 128, caps 32, 128, 512 and 1536. The mean is the one before capping.
    """

    mean: float
    cap: float

    def __post_init__(self) -> None:
        require(1 <= self.mean <= LONGEST_TOKENS, "mean", self.mean, _RANGE)
        _check_whole("cap", self.cap)

    @property
    def words(self) -> str:
        return f"exponential with mean {self.mean:,g} capped at {self.cap:,.0f}"

    def draw(self, num_requests: int, rng: np.random.Generator) -> Tokens:
        return np.minimum(_whole(rng.exponential(self.mean, num_requests)), int(self.cap))


@dataclass(frozen=True, slots=True)
class Empirical:
    """Lengths that were seen, each drawn as often as it was seen, independently of the others."""

    seen: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.seen:
            raise ValueError("there are no lengths to draw from: give at least one")
        for tokens in (min(self.seen), max(self.seen)):
            _check_whole("a length", tokens)

    @property
    def words(self) -> str:
        return f"drawn from {len(self.seen):,} lengths with mean {sum(self.seen) / len(self.seen):,.0f}"

    def draw(self, num_requests: int, rng: np.random.Generator) -> Tokens:
        return rng.choice(np.array(self.seen, dtype=np.int64), num_requests)


LENGTHS: Known[TokenLengths] = {
    "fixed": (Fixed, ("tokens",)),
    "uniform": (Uniform, ("low", "high")),
    "lognormal": (Lognormal, ("mean", "sigma")),
    "exponential": (CappedExponential, ("mean", "cap")),
}

LENGTH_FORMS = "fixed:TOKENS, uniform:LOW:HIGH, lognormal:MEAN:SIGMA or exponential:MEAN:CAP"


def parse_lengths(spec: str) -> TokenLengths:
    """The distribution that `spec` says, as in "uniform:32:512"; ValueError says how to write it."""
    return parse_spec(spec, LENGTHS, "lengths")


def _check_whole(name: str, value: float) -> None:
    require(1 <= value <= LONGEST_TOKENS and value == int(value), name, value, f"a whole number from {_RANGE}")


def _whole(lengths: npt.NDArray[np.float64]) -> Tokens:
    return np.rint(np.clip(lengths, 1, LONGEST_TOKENS)).astype(np.int64)
