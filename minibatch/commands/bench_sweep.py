"""`bench-sweep`: how fast modelled runs are: a whole sweep, many requests, and against one iteration at a time."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minibatch.commands.bench_options import add_bench_parser, run_bench

GROWTH, QUICK_GROWTH, MILLION = (1_000, 3_000, 10_000), (1_000, 3_000), (100_000, 1_000_000)


def add_parser(subparsers: Any) -> None:
    parser = add_bench_parser(subparsers, "bench-sweep", __doc__)
    parser.add_argument("--trace", type=Path, metavar="FILE", help="take the lengths of many requests from there")
    parser.add_argument("--million", action="store_true", help="go on to 100,000 and 1,000,000 requests: minutes")
    parser.add_argument("--rounds", type=int, help="with one iteration at a time (default: 5; quick: 1)")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from minibatch.bench.sweep import bench_sweep
    from minibatch.commands.sweep import default_config

    if options.rounds is not None and options.rounds < 1:
        raise ValueError(f"--rounds is {options.rounds}: use 1 or more")
    quick = options.quick
    rounds, requests = options.rounds or (1 if quick else 5), 200 if quick else 1_000
    growth = (QUICK_GROWTH if quick else GROWTH) + (MILLION if options.million else ())
    return run_bench(
        "bench-sweep",
        options,
        lambda report: bench_sweep(
            lambda spec: default_config(spec, {}), requests, rounds, growth, options.trace, report
        ),
    )
