"""`show`: print what a recording holds."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from minibatch.commands.compare import as_json
from minibatch.recording.storage import load


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("show", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--why", action="store_true", help="list every decision and its reason")
    parser.add_argument("--text", action="store_true", help="print the text that each request generated")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from minibatch.commands.terminal import metrics_table

    recordings = load(options.file)
    console = Console(highlight=False, soft_wrap=True)
    if options.json:
        print(json.dumps(as_json(recordings), indent=1, allow_nan=False))
        return 0
    console.print(metrics_table(recordings, everything=True))
    for recording in recordings:
        if options.why:
            console.print(Text(f"\n{recording.header.policy}", style="bold"))
            for iteration, reason in recording.each_reason():
                console.print(Text(f"{iteration:6d}  {reason.sentence}"))
        if options.text:
            console.print(Text(f"\n{recording.header.policy}", style="bold"))
            for request_id, request in enumerate(recording.requests):
                console.print(Text(f"r{request_id}  {request.prompt or ''!r}"))
                console.print(Text(f"    {''.join(request.pieces)!r}"))
    return 0
