"""Options for requests by times and lengths: a trace, or distributions."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from minibatch.workload.arrivals import ARRIVAL_FORMS
from minibatch.workload.caps import CAP_FORMS
from minibatch.workload.lengths import LENGTH_FORMS
from minibatch.workload.traces import CONVERSATIONS, FORMATS, TIME_UNITS, FormatChoice
from minibatch.workload.traffic import Traffic


def add_traffic(parser: argparse.ArgumentParser) -> None:
    trace = parser.add_argument_group("requests of a trace")
    trace.add_argument("--trace", type=Path, metavar="FILE", help="times and lengths, plain or gzipped")
    add_format(trace)
    trace.add_argument("--speed", type=float, metavar="X", help="how many times faster requests arrive")
    trace.add_argument("--length-scale", type=float, metavar="X", help="factor of all lengths")
    trace.add_argument("--start-s", type=float, metavar="S", help="seconds to leave out at the beginning")
    drawn = parser.add_argument_group("requests drawn at random")
    drawn.add_argument("--num-requests", type=int, metavar="N", help="how many; of a trace, at most")
    drawn.add_argument("--arrivals", metavar="SPEC", help=f"{ARRIVAL_FORMS} (default: at-once, or the trace's)")
    drawn.add_argument("--prompt-lengths", metavar="SPEC", help=LENGTH_FORMS)
    drawn.add_argument("--output-lengths", metavar="SPEC", help="likewise")
    drawn.add_argument("--cap", metavar="SPEC", help=f"max_tokens that clients send, also of a trace: {CAP_FORMS} "
                       "(default: exact)")  # fmt: skip
    drawn.add_argument("--users", type=int, metavar="N", dest="num_users", help="a closed loop: each user "
                       "sends a request after the last one is answered")  # fmt: skip
    drawn.add_argument(
        "--think-s", type=float, metavar="S", help="seconds from an answer to the next request (default: 0)"
    )


def add_format(group: argparse._ArgumentGroup) -> None:
    """How a trace is written: the fields of `FormatChoice`."""
    group.add_argument("--trace-format", metavar="NAME", help=f"one of {', '.join(FORMATS)} (default: as it looks)")
    group.add_argument("--time-unit", choices=tuple(TIME_UNITS), help="of JSON lines, whose times may be either "
                       "(default: ms; s where times have fractions and are at most 10 apart in the mean)")  # fmt: skip
    group.add_argument("--conversations", choices=CONVERSATIONS, help="of sharegpt: the first question and answer of "
                       "each, or a request for every answered turn, after all before it (default: first)")  # fmt: skip


def format_of(options: argparse.Namespace) -> FormatChoice:
    """What these options say of how a trace is written."""
    return FormatChoice(**{field.name: getattr(options, field.name) for field in fields(FormatChoice)})


def traffic_of(options: argparse.Namespace) -> Traffic | None:
    """What these options ask for; None if none of them was given."""
    given = {field.name: getattr(options, field.name) for field in fields(Traffic)}
    return None if all(value is None for value in given.values()) else Traffic(**given)
