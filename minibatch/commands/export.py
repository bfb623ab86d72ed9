"""`export`: write recordings as a page, a trace for Perfetto, or a table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minibatch.commands.options import policy_names
from minibatch.recording.schema import Recording
from minibatch.recording.storage import atomic_file, load, write_atomically

SUFFIXES = {"html": ".html", "perfetto": ".trace.json", "csv": ".csv"}


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("export", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="a recording")
    parser.add_argument("--to", choices=tuple(SUFFIXES), required=True, help="html: a page that plays the recording; "
                        "perfetto: a trace for ui.perfetto.dev; csv: every metric")  # fmt: skip
    parser.add_argument("--requests", action="store_true", help="with --to csv: a row a request instead of a metric")
    parser.add_argument("--policies", nargs="+", metavar="POLICY", help="those to write (default: all of FILE)")
    parser.add_argument("--out", type=Path, metavar="PATH", help="default: FILE's name in the current folder, ending "
                        f"in {', '.join(SUFFIXES.values())} or, with --requests, .requests.csv")  # fmt: skip
    trace = parser.add_argument_group("with --to perfetto", "A trace of more than 500 MB needs one of these.")
    trace.add_argument("--gzip", action="store_true", help="write .json.gz, which Perfetto opens as it is; so does an "
                       "--out that ends in .gz")  # fmt: skip
    trace.add_argument("--from-s", type=float, metavar="S", help="leave out what is before this second of the run; "
                       "spans are cut to it")  # fmt: skip
    trace.add_argument("--to-s", type=float, metavar="S", help="leave out what is after this second of the run")
    trace.add_argument("--counters-only", action="store_true", help="KV blocks and requests over time alone, without "
                       "iterations, slots, decisions and requests' lives")  # fmt: skip
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    if options.requests and options.to != "csv":
        raise ValueError(f"--requests goes with --to csv, not with --to {options.to}")
    _check_trace_options(options)
    recordings = _choose(load(options.file), options.policies, options.file)
    suffix = ".requests.csv" if options.requests else SUFFIXES[options.to] + ".gz" * options.gzip
    out: Path = options.out or Path(options.file.stem + suffix)
    if out.exists() and out.samefile(options.file):
        raise ValueError(f"{out} is the recording itself: give --out another name")
    if options.to == "perfetto":
        said = _write_trace(out, recordings, options)
    else:
        write_atomically(out, _content(recordings, options.to, options.requests))
        said = _size(out.stat().st_size)
    print(f"{out}  {said}")
    return 0


def _check_trace_options(options: argparse.Namespace) -> None:
    """ValueError where an option of traces goes with something else."""
    names = ("gzip", "from_s", "to_s", "counters_only")
    given = [name for name in names if (value := getattr(options, name)) is not None and value is not False]
    if given and options.to != "perfetto":
        raise ValueError(f"--{given[0].replace('_', '-')} goes with --to perfetto, not with --to {options.to}")


def _write_trace(out: Path, recordings: Sequence[Recording], options: argparse.Namespace) -> str:
    """Write a trace; its size and number of events, in words. ValueError if it is too large for Perfetto's page."""
    from minibatch.analysis.exports.trace_file import MOST_BYTES, expected_bytes, write_trace
    from minibatch.analysis.exports.trace_window import TraceWindow

    window = TraceWindow.of_seconds(options.from_s, options.to_s, counters_only=options.counters_only)
    end_ns = max(recording.end_ns for recording in recordings)
    if window.from_ns > end_ns:
        raise ValueError(f"nothing runs after {window.from_ns / 1e9:g} s: {options.file} ends at {end_ns / 1e9:g} s")
    packed = options.gzip or out.suffix == ".gz"
    narrowed = packed or window.counters_only or options.from_s is not None or options.to_s is not None
    if not narrowed and (size := expected_bytes(recordings)) > MOST_BYTES:
        raise ValueError(
            f"a trace of about {size / 1e6:,.0f} MB is more than the {MOST_BYTES / 1e6:.0f} MB that Perfetto opens: "
            "write a window of it (--from-s, --to-s), --gzip it, or write --counters-only"
        )
    with atomic_file(out) as file:
        written = write_trace(file, recordings, window, packed=packed)
    unpacked = f" ({_size(written.size)} unpacked)" if packed else ""
    return f"{_size(out.stat().st_size)}{unpacked}, {written.events:,} events"


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:,.1f} MB" if num_bytes >= 1e6 else f"{num_bytes / 1000:.0f} kB"


def _choose(recordings: Sequence[Recording], policies: Sequence[str] | None, path: Path) -> Sequence[Recording]:
    """Those of `recordings`, read from `path`, that ran under `policies`, in that order; all for None.

    ValueError for a policy that none of them ran under.
    """
    if policies is None:
        return recordings
    there = list(dict.fromkeys(recording.header.policy for recording in recordings))
    names = policy_names(policies) or [""]
    for name in names:
        if name not in there:
            raise ValueError(f"{path} has no policy {name!r}: choose from {', '.join(there)}")
    return [recording for name in names for recording in recordings if recording.header.policy == name]


def _content(recordings: Sequence[Recording], to: str, requests: bool = False) -> bytes:
    """The bytes of the file."""
    if to == "html":
        from minibatch.ui.player.page import page_html

        return page_html(recordings).encode()
    from minibatch.analysis.exports.metrics_csv import metrics_csv, requests_csv

    return (requests_csv if requests else metrics_csv)(recordings).encode()
