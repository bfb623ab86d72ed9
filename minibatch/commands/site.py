"""`site`: every lesson, the interview room and the comparison as static files that work offline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("site", help=__doc__.split(": ", 1)[1], description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder to write")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from minibatch.analysis.registry.claims import scaled
    from minibatch.ui.lessons.site import write_site

    if options.out.exists() and not options.out.is_dir():
        raise ValueError(f"{options.out} is a file: name a folder")
    console = Console(soft_wrap=True, highlight=False)
    total = write_site(options.out, lambda name, size: console.print(f"{name}: {scaled(size, 'B')}"))
    console.print(f"{options.out}: {scaled(total, 'B')}; open {options.out / 'index.html'}")
    return 0
