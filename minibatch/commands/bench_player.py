"""`bench-player`: how smooth the player is in a headless Chromium, and how soon the app and the site can be used."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minibatch.commands.bench_options import add_bench_parser, run_bench

PARTS = ("frames", "growth", "pages", "app", "cold")


def add_parser(subparsers: Any) -> None:
    parser = add_bench_parser(subparsers, "bench-player", __doc__)
    parser.add_argument("--seconds", type=float, help="of each sample of frames (default: 10; quick: 1)")
    parser.add_argument("--profile", type=Path, metavar="FOLDER", help="write a CPU profile of each sample there")
    parser.add_argument("--only", choices=PARTS, help="one part alone; quick takes frames and cold")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from minibatch.bench.visits import bench_player

    if options.seconds is not None and not options.seconds > 0:
        raise ValueError(f"--seconds is {options.seconds}: use a positive number")
    parts = (options.only,) if options.only else ("frames", "cold") if options.quick else PARTS
    seconds = options.seconds or (1 if options.quick else 10)
    return run_bench(
        "bench-player", options, lambda report: bench_player(parts, seconds, options.profile, options.quick, report)
    )
