"""The formats by name, and which one a file is in."""

from __future__ import annotations

from pathlib import Path

from minibatch.workload.traces.azure import Azure
from minibatch.workload.traces.burstgpt import BurstGPT
from minibatch.workload.traces.file import open_trace
from minibatch.workload.traces.minibatch_csv import MinibatchCSV
from minibatch.workload.traces.mooncake import Mooncake
from minibatch.workload.traces.row import TraceError, TraceFormat
from minibatch.workload.traces.sharegpt import ShareGPT
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
OF_TEXTS = "sharegpt"
"""The format whose lengths depend on a tokenizer."""


def find_format(name: str) -> TraceFormat:
    """The format called `name`; ValueError names those there are."""
    if name not in FORMATS:
        raise ValueError(f"unknown trace format {name!r}: choose from {', '.join(FORMATS)}")
    return FORMATS[name]


def format_in(path: Path, trace_format: str | None, time_unit: str | None) -> str:
    """The name of the format of a file whose times are in `time_unit`, "s" or "ms"; None takes what the format says.

    ValueError where the format has no choice of units, else as `sniff_format`.
    """
    name = trace_format or sniff_format(path)
    if time_unit is None:
        return name
    if time_unit not in TIME_UNITS:
        raise ValueError(f"unknown time unit {time_unit!r}: choose from {', '.join(TIME_UNITS)}")
    if name not in TIME_UNITS.values():
        raise ValueError(f"time_unit does not go with format {name}, which has a unit of its own: leave it out")
    return TIME_UNITS[time_unit]


def sniff_format(path: Path) -> str:
    """The name of the format that a file begins like.

    JSON lines with whole timestamps pass for Mooncake's milliseconds; those with fractions for the
    seconds of a timed trace, unless requests are more than 10 units apart in the mean. Where that is
    wrong, say the format or the unit of time.

    Raises:
        TraceError: it begins like none of them.
        OSError: the file can't be read.
    """
    try:
        with open_trace(path) as file:
            head = file.head()
    except ValueError as error:
        raise TraceError(f"{path}: {error}") from error
    if not head.strip():
        raise TraceError(f"{path} is empty: write a line with the columns arrival_s,prompt_tokens,output_tokens first")
    for name, known in FORMATS.items():
        if known.fits(head):
            return name
    raise TraceError(
        f"{path}, line 1: begins like no format that is known ({', '.join(FORMATS)}): name its format, or write "
        "a line with the columns arrival_s,prompt_tokens,output_tokens first"
    )
