"""`export`: write recordings as a page, a trace for Perfetto, or a table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minibatch.commands.options import policy_names
from minibatch.recording.schema import Recording
from minibatch.recording.storage import load, write_atomically

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
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    if options.requests and options.to != "csv":
        raise ValueError(f"--requests goes with --to csv, not with --to {options.to}")
    recordings = _choose(load(options.file), options.policies, options.file)
    suffix = ".requests.csv" if options.requests else SUFFIXES[options.to]
    out: Path = options.out or Path(options.file.stem + suffix)
    if out.exists() and out.samefile(options.file):
        raise ValueError(f"{out} is the recording itself: give --out another name")
    write_atomically(out, _content(recordings, options.to, options.requests))
    print(f"{out}  {out.stat().st_size / 1000:.0f} kB")
    return 0


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
    if to == "perfetto":
        from minibatch.analysis.exports.perfetto import trace_json

        return trace_json(recordings)
    from minibatch.analysis.exports.metrics_csv import metrics_csv, requests_csv

    return (requests_csv if requests else metrics_csv)(recordings).encode()
