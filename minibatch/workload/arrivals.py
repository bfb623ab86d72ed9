"""When requests arrive: open arrival processes, and users of a closed loop.

The first request arrives at 0. A process draws from the generator it is given and from nothing
else, so equal seeds give equal times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from minibatch.workload.request import LONGEST_S, NANOSECONDS
from minibatch.workload.specs import Known, parse_spec, require
from minibatch.workload.words import plural

Times = npt.NDArray[np.int64]
MOST_USERS = 100_000


class Arrivals(Protocol):
    """An open process: requests arrive whether or not earlier ones have been served."""

    @property
    def words(self) -> str:
        """What it is, to stand in a list of such words."""
        ...

    def times_ns(self, num_requests: int, rng: np.random.Generator) -> Times:
        """(num_requests,) arrivals in nanoseconds, the earliest first; ValueError beyond `LONGEST_S`."""
        ...


@dataclass(frozen=True, slots=True)
class AtOnce:
    """All requests arrive at 0: what vLLM's benchmark calls an infinite request rate."""

    @property
    def words(self) -> str:
        return "all at once"

    def times_ns(self, num_requests: int, rng: np.random.Generator) -> Times:
        return np.zeros(num_requests, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Poisson:
    """Independent arrivals: the gaps are exponential with mean 1/`rate` seconds."""

    rate: float

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    @property
    def words(self) -> str:
        return f"Poisson arrivals at {self.rate:g}/s"

    def times_ns(self, num_requests: int, rng: np.random.Generator) -> Times:
        return _to_ns(_sums(rng.exponential(1 / self.rate, num_requests)))


@dataclass(frozen=True, slots=True)
class Gamma:
    """Gaps from a gamma distribution, as in vLLM's serving benchmark (`--burstiness`).

    Shape is `burstiness` and the mean gap 1/`rate` seconds, so the gaps' coefficient of variation is
    1/sqrt(burstiness): below 1 it is burstier than Poisson, above 1 more regular, and 1 is Poisson.
    """

    rate: float
    burstiness: float

    def __post_init__(self) -> None:
        _check_rate(self.rate)
        require(0.001 <= self.burstiness <= 1000, "burstiness", self.burstiness, "0.001 to 1,000")

    @property
    def words(self) -> str:
        return f"gamma arrivals at {self.rate:g}/s with burstiness {self.burstiness:g}"

    def times_ns(self, num_requests: int, rng: np.random.Generator) -> Times:
        return _to_ns(_sums(rng.gamma(self.burstiness, 1 / (self.rate * self.burstiness), num_requests)))


@dataclass(frozen=True, slots=True)
class OnOff:
    """Bursts: Poisson at `rate` for `on_s` seconds, nothing for `off_s`, and so on in turn.

    Over a long time that is rate * on_s / (on_s + off_s) requests a second.
    """

    rate: float
    on_s: float
    off_s: float

    def __post_init__(self) -> None:
        _check_rate(self.rate)
        require(0.001 <= self.on_s <= LONGEST_S, "on_s", self.on_s, f"0.001 to {LONGEST_S:,} seconds")
        require(0 <= self.off_s <= LONGEST_S, "off_s", self.off_s, f"0 to {LONGEST_S:,} seconds")

    @property
    def words(self) -> str:
        return f"bursts at {self.rate:g}/s with {self.on_s:g} s on and {self.off_s:g} s off"

    def times_ns(self, num_requests: int, rng: np.random.Generator) -> Times:
        # A Poisson process has no memory, so the off times can be cut out of it and put back.
        on = _sums(rng.exponential(1 / self.rate, num_requests))
        return _to_ns(on + self.off_s * np.floor(on / self.on_s))


@dataclass(frozen=True, slots=True)
class Rescaled:
    """The arrivals of a trace, all gaps by one factor longer or shorter, so that they come at `rate` in the mean.

    Attributes:
        times: seconds from the first, as they would be at one request a second.
    """

    times: tuple[float, ...]
    rate: float

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    @property
    def words(self) -> str:
        return f"the trace's arrivals at {self.rate:g}/s"

    def times_ns(self, num_requests: int, rng: np.random.Generator) -> Times:
        return _to_ns(np.array(self.times[:num_requests]) / self.rate)


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Users that each send a request, read its answer for `think_s` seconds, and send the next one.

    There are never more than `num_users` requests at a time, however slow the server: the arrivals
    follow from the schedule, so every policy has its own. All users begin at 0 and take the next
    request of one common list.
    """

    num_users: int
    think_s: float = 0.0

    def __post_init__(self) -> None:
        require(1 <= self.num_users <= MOST_USERS, "num_users", self.num_users, f"1 to {MOST_USERS:,}")
        require(0 <= self.think_s <= LONGEST_S, "think_s", self.think_s, f"0 to {LONGEST_S:,} seconds")

    @property
    def think_ns(self) -> int:
        return round(self.think_s * NANOSECONDS)

    @property
    def words(self) -> str:
        users = f"{plural(self.num_users, 'user')}"
        return f"a closed loop of {users} thinking {self.think_s:g} s"


ARRIVALS: Known[Arrivals] = {
    "at-once": (AtOnce, ()),
    "poisson": (Poisson, ("rate",)),
    "gamma": (Gamma, ("rate", "burstiness")),
    "onoff": (OnOff, ("rate", "on_s", "off_s")),
}

ARRIVAL_FORMS = "at-once, poisson:RATE, gamma:RATE:BURSTINESS or onoff:RATE:ON_S:OFF_S"


def parse_arrivals(spec: str) -> Arrivals:
    """The process that `spec` says, as in "poisson:20" (requests a second); ValueError says how to write it."""
    return parse_spec(spec, ARRIVALS, "arrivals")


def _check_rate(rate: float) -> None:
    require(1e-6 <= rate <= 1e6, "rate", rate, "0.000001 to 1,000,000 requests a second")


def _sums(gaps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Arrivals from gaps; the first request arrives at 0."""
    gaps[:1] = 0.0
    return np.cumsum(gaps)


def _to_ns(times_s: npt.NDArray[np.float64]) -> Times:
    if len(times_s) and times_s[-1] > LONGEST_S:
        raise ValueError(
            f"the last of {len(times_s):,} requests would arrive after {times_s[-1]:,.0f} s, and a run has "
            f"{LONGEST_S:,}: use a higher rate or fewer requests"
        )
    return np.rint(times_s * NANOSECONDS).astype(np.int64)
