"""Traces: when requests came to a real service, and how long they were."""

from minibatch.workload.traces.formats import FORMATS, TIME_UNITS, format_in, sniff_format
from minibatch.workload.traces.minibatch_csv import write_trace
from minibatch.workload.traces.notes import Notes
from minibatch.workload.traces.reading import AS_RECORDED, Scaling, describe_trace, read_trace
from minibatch.workload.traces.row import TraceError, TraceRow

__all__ = [
    "AS_RECORDED",
    "FORMATS",
    "TIME_UNITS",
    "Notes",
    "Scaling",
    "TraceError",
    "TraceRow",
    "describe_trace",
    "format_in",
    "read_trace",
    "sniff_format",
    "write_trace",
]
