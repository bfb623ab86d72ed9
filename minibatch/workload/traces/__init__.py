"""Traces: when requests came to a real service, and how long they were."""

from minibatch.workload.traces.formats import (
    AS_IT_LOOKS,
    CONVERSATIONS,
    FORMATS,
    TIME_UNITS,
    FormatChoice,
    sniff_format,
)
from minibatch.workload.traces.minibatch_csv import write_trace
from minibatch.workload.traces.notes import Notes
from minibatch.workload.traces.reading import AS_RECORDED, Scaling, describe_trace, read_trace
from minibatch.workload.traces.row import TraceError, TraceRow

__all__ = [
    "AS_IT_LOOKS",
    "AS_RECORDED",
    "CONVERSATIONS",
    "FORMATS",
    "TIME_UNITS",
    "FormatChoice",
    "Notes",
    "Scaling",
    "TraceError",
    "TraceRow",
    "describe_trace",
    "read_trace",
    "sniff_format",
    "write_trace",
]
