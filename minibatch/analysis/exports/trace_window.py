"""What of a recording goes into a trace: all of it, or a part that a trace viewer can take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TraceWindow:
    """A stretch of a run, in nanoseconds on its clock.

    Attributes:
        to_ns: later than any time of a recording if it is not given.
        counters_only: KV blocks and requests over time, without iterations, slots, decisions and lives.
    """

    from_ns: int = 0
    to_ns: int = 1 << 53
    counters_only: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.from_ns < self.to_ns:
            raise ValueError(
                f"a window from {self.from_ns / 1e9:g} s to {self.to_ns / 1e9:g} s is empty: "
                "give a start of at least 0 and an end after it"
            )

    @classmethod
    def of_seconds(cls, from_s: float | None, to_s: float | None, *, counters_only: bool = False) -> TraceWindow:
        """From the start and to the end where they are None. ValueError if it is empty or no stretch of time."""
        for name, seconds in (("start", from_s), ("end", to_s)):
            if seconds is not None and not abs(seconds) <= WHOLE.to_ns / 1e9:  # infinite, or no number
                raise ValueError(f"the {name} of a window is a number of seconds up to 9e6, not {seconds}")
        from_ns = WHOLE.from_ns if from_s is None else round(from_s * 1e9)
        to_ns = WHOLE.to_ns if to_s is None else round(to_s * 1e9)
        return cls(from_ns, to_ns, counters_only)

    def holds(self, time_ns: int) -> bool:
        return self.from_ns <= time_ns <= self.to_ns

    def cut(self, start_ns: int, end_ns: int) -> tuple[int, int] | None:
        """The part of a span that lies in the window; None if no time of it does."""
        if self.from_ns <= start_ns and end_ns <= self.to_ns:
            return start_ns, end_ns
        start, end = max(start_ns, self.from_ns), min(end_ns, self.to_ns)
        return (start, end) if start < end else None


WHOLE = TraceWindow()
