"""The formats by name, and which one a file is in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from minibatch.workload.traces.azure import Azure
from minibatch.workload.traces.burstgpt import BurstGPT
from minibatch.workload.traces.file import open_trace
from minibatch.workload.traces.minibatch_csv import MinibatchCSV
from minibatch.workload.traces.mooncake import Mooncake
from minibatch.workload.traces.row import TraceError, TraceFormat
from minibatch.workload.traces.sharegpt import ShareGPT
from minibatch.workload.traces.timed_jsonl import time_unit_of
from minibatch.workload.traces.timed_trace import TimedTrace

FORMATS: dict[str, TraceFormat] = {
    "csv": MinibatchCSV(),
    "azure": Azure(),
    "mooncake": Mooncake(),
    "burstgpt": BurstGPT(),
    "sharegpt": ShareGPT(),
    "timed_trace": TimedTrace(),
}
TIME_UNITS = {"s": "timed_trace", "ms": "mooncake"}
"""The format of JSON lines with times in each unit."""
OF_CONVERSATIONS = "sharegpt"
"""The format that holds conversations."""
CONVERSATIONS = ("first", "whole")
"""What of each conversation is read: its first question and answer, or all of them."""


@dataclass(frozen=True, slots=True)
class FormatChoice:
    """What is said of how a file is to be read; None leaves it to the file.

    Attributes:
        trace_format: a name in `FORMATS`; None looks at how the file begins.
        time_unit: "s" or "ms", of JSON lines whose times may be either.
        conversations: one of `CONVERSATIONS`, of a format that holds them; None is "first".
    """

    trace_format: str | None = None
    time_unit: str | None = None
    conversations: str | None = None

    def of(self, path: Path) -> tuple[str, TraceFormat, str]:
        """The name of the file's format, the format, and why its unit of time is taken ("" where it is given).

        Raises:
            ValueError: there is no such format, or it leaves no such choice; else as `sniff_format`.
        """
        if self.trace_format is not None and self.trace_format not in FORMATS:
            raise ValueError(f"unknown trace format {self.trace_format!r}: choose from {', '.join(FORMATS)}")
        name = self.trace_format or sniff_format(path)
        for field, value, known, fits, has in (
            ("time_unit", self.time_unit, TIME_UNITS, has_time_unit(name), "leaves no choice of units"),
            ("conversations", self.conversations, CONVERSATIONS, name == OF_CONVERSATIONS, "holds none"),
        ):
            if value is None:
                continue
            if value not in known:
                raise ValueError(f"unknown {field} {value!r}: choose from {', '.join(known)}")
            if not fits:
                raise ValueError(f"{field} does not go with format {name}, which {has}: leave it out")
        if self.time_unit is not None:
            name = TIME_UNITS[self.time_unit]
        is_looked_at = self.trace_format is None and self.time_unit is None and has_time_unit(name)
        return (
            name,
            ShareGPT(whole=True) if self.conversations == "whole" else FORMATS[name],
            time_unit_of(_head(path))[1] if is_looked_at else "",
        )


AS_IT_LOOKS = FormatChoice()


def has_time_unit(name: str) -> bool:
    """Whether times of that format may be in either unit."""
    return name in TIME_UNITS.values()


def sniff_format(path: Path) -> str:
    """The name of the format that a file begins like.

    JSON lines with whole timestamps pass for Mooncake's milliseconds; those with fractions for the
    seconds of a timed trace, unless requests are more than 10 units apart in the mean. Where that is
    wrong, say the format or the unit of time.

    Raises:
        TraceError: it begins like none of them.
        OSError: the file can't be read.
    """
    head = _head(path)
    if not head.strip():
        raise TraceError(f"{path} is empty: write a line with the columns arrival_s,prompt_tokens,output_tokens first")
    for name, known in FORMATS.items():
        if known.fits(head):
            return name
    raise TraceError(
        f"{path}, line 1: begins like no format that is known ({', '.join(FORMATS)}): name its format, or write "
        "a line with the columns arrival_s,prompt_tokens,output_tokens first"
    )


def _head(path: Path) -> str:
    try:
        with open_trace(path) as file:
            return file.head()
    except ValueError as error:
        raise TraceError(f"{path}: {error}") from error
