"""`claims`: list published figures, each with its source."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from minibatch.analysis.registry.claims import load_claims
from minibatch.commands.terminal import wide_console


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("claims", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    claims = load_claims().values()
    if options.json:
        print(json.dumps([asdict(claim) for claim in claims], indent=1, default=str, allow_nan=False))
        return 0
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("claim", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    for title in ("of", "source"):
        table.add_column(title, overflow="fold")
    table.add_column("checked", no_wrap=True)
    for claim in claims:
        row = (claim.id, claim.words, claim.of, claim.source_in_words, claim.checked.isoformat())
        table.add_row(*map(Text, row))
    wide_console().print(table)
    return 0
