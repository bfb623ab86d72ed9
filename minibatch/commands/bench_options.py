"""What the benchmarks' commands have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minibatch.bench.report import SCHEMA, Report, reporting


def add_bench_parser(subparsers: Any, name: str, description: str) -> argparse.ArgumentParser:
    """A parser with --quick and --json."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name, help=description.split(": ", 1)[1], description=description, epilog=SCHEMA,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="less of everything, in under a minute on two cores")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    return parser


def run_bench(name: str, options: argparse.Namespace, run: Callable[[Report], None]) -> int:
    """Measure and report; the status is 130 where Ctrl-C ended it."""
    with reporting(name, vars(options), options.json) as report:
        run(report)
    return 0 if report.complete else 130
