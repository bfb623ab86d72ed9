"""Service level objectives, and the goodput that counts by them. METRICS.md defines both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minibatch.recording.schema import Column

NAMES = {"ttft": "TTFT", "tpot": "TPOT", "e2el": "E2E"}
"""The latencies that an SLO may limit: as vLLM's `--goodput` calls them, and as the screen does."""

_NAMES_IN_WORDS = "ttft, tpot or e2el"
_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Slo:
    """Limits in milliseconds, all of which a request must keep; None sets no limit.

    Raises:
        ValueError: no limit at all, or one that is not a number above 0.
    """

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    e2el_ms: float | None = None

    def __post_init__(self) -> None:
        if not self._limits:
            raise ValueError(f"an SLO without a limit says nothing: limit {_NAMES_IN_WORDS}")
        for name, limit in self._limits.items():
            if not (limit > 0 and math.isfinite(limit)):
                raise ValueError(f"the {name} limit is {limit:g} ms: use a number above 0")

    @property
    def words(self) -> str:
        """For the screen: TTFT ≤ 200 ms, E2E ≤ 2,000 ms."""
        return ", ".join(f"{NAMES[name]} ≤ {limit:,.10g} ms" for name, limit in self._limits.items())

    def meets(self, ttft_ns: Column, tpot_ns: Column, e2el_ns: Column) -> Column:
        """(requests,) bool: which requests keep every limit. A latency that equals its limit keeps it.

        Args:
            ttft_ns, tpot_ns, e2el_ns: (requests,) nanoseconds, one entry a completed request. TPOT
                is NaN for a request that wrote one token; it keeps any TPOT limit, as in vLLM's
                benchmark, whose `calculate_metrics` takes 0 for it.
        """
        met = np.ones(len(ttft_ns), dtype=bool)
        for name, values in (("ttft", ttft_ns), ("tpot", tpot_ns), ("e2el", e2el_ns)):
            if name in self._limits:
                # A quotient is the float nearest to the latency in ms, just as the limit is the one
                # nearest to what was typed; the limit times 10^6 may miss the latency by a rounding.
                met &= np.isnan(values) | (values / _MS <= self._limits[name])
        return met

    @property
    def _limits(self) -> dict[str, float]:
        limits = {"ttft": self.ttft_ms, "tpot": self.tpot_ms, "e2el": self.e2el_ms}
        return {name: limit for name, limit in limits.items() if limit is not None}


def parse_slo(pairs: Sequence[str]) -> Slo:
    """An SLO from NAME:MILLISECONDS, as vLLM's `--goodput` takes them: ["ttft:200", "tpot:50"].

    Stricter than vLLM, which takes the last of two limits of one name, and 0.

    Raises:
        ValueError: a pair of another form, an unknown name, a name given twice, a limit that is
            not a number above 0, or no pair at all.
    """
    limits: dict[str, float] = {}
    for pair in pairs:
        name, colon, number = pair.partition(":")
        if not colon:
            raise ValueError(f"{pair!r} is not a limit: write a latency and milliseconds, such as ttft:200")
        if name not in NAMES:
            raise ValueError(f"unknown latency {name!r} in {pair!r}: use {_NAMES_IN_WORDS}")
        if name in limits:
            raise ValueError(f"{name} is given twice: give each latency one limit")
        try:
            limits[name] = float(number)
        except ValueError:
            raise ValueError(f"{number!r} in {pair!r} is not a number: write milliseconds, as in {name}:200") from None
    return Slo(**{f"{name}_ms": limit for name, limit in limits.items()})


def goodput(slo: Slo, ttft_ns: Column, tpot_ns: Column, e2el_ns: Column, seconds: float) -> float:
    """Requests/s that keep every limit: their number over `seconds`, the duration of the run.

    Raises:
        ValueError: `seconds` is not above 0.
    """
    if not seconds > 0:
        raise ValueError(f"a run of {seconds:g} s has no goodput: use a duration above 0")
    return int(slo.meets(ttft_ns, tpot_ns, e2el_ns).sum()) / seconds


def attainment(slo: Slo, ttft_ns: Column, tpot_ns: Column, e2el_ns: Column, num_requests: int) -> float | None:
    """The share of `num_requests` that keep every limit; None if there are no requests.

    Raises:
        ValueError: more latencies than requests.
    """
    if len(ttft_ns) > num_requests:
        raise ValueError(f"{len(ttft_ns)} latencies for {num_requests} requests: count every request")
    return int(slo.meets(ttft_ns, tpot_ns, e2el_ns).sum()) / num_requests if num_requests else None


@dataclass(frozen=True, slots=True)
class Goodput:
    """What an SLO makes of one run.

    A rejected or unfinished request is never good, so dropping one adds nothing to goodput by
    itself. But what it leaves free can make others good, so goodput alone rewards dropping the
    requests that would be late; the attainment among all that arrived shows them.

    Attributes:
        good: completed requests that keep every limit.
        completed: requests that finished and were not rejected.
        arrived: requests that came before the end of the run, rejected ones included.
        request_goodput: good / duration, in requests/s; None if nothing ran.
        attainment: good / arrived, from 0 to 1; None if none arrived.
    """

    good: int
    completed: int
    arrived: int
    request_goodput: float | None
    attainment: float | None


Latencies = tuple[Column, Column, Column]
"""TTFT, TPOT and E2E in nanoseconds, one entry a completed request; TPOT is NaN where one token was generated."""


def judge(slo: Slo, latencies: Latencies, num_arrived: int, seconds: float) -> Goodput:
    """Goodput and attainment of a run of `seconds` to which `num_arrived` requests came."""
    return Goodput(
        good=int(slo.meets(*latencies).sum()),
        completed=len(latencies[0]),
        arrived=num_arrived,
        request_goodput=goodput(slo, *latencies, seconds) if seconds else None,
        attainment=attainment(slo, *latencies, num_arrived),
    )
