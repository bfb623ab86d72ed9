"""`bench`: how fast the engine is, against transformers and against this machine's roofline."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from minibatch.commands.bench_options import add_bench_parser, run_bench

if TYPE_CHECKING:
    from minibatch.bench.report import Report

MODELS = ("bundled", "random:gpt2")


def add_parser(subparsers: Any) -> None:
    parser = add_bench_parser(subparsers, "bench", __doc__)
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="default: bundled random:gpt2; quick: bundled")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16")
    parser.add_argument("--rounds", type=int, help="rounds that are counted (default: 5; quick: 1)")
    parser.add_argument("--num-requests", type=int, help="default: 24; quick: 8")
    parser.add_argument("--max-num-seqs", type=int, default=8, help="slots (default: 8)")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    quick = options.quick
    for name, usual in (("rounds", 1 if quick else 5), ("num_requests", 8 if quick else 24), ("max_num_seqs", 8)):
        value = getattr(options, name)
        setattr(options, name, usual if value is None else value)
        if value is not None and value < 1:
            raise ValueError(f"--{name.replace('_', '-')} is {value}: use at least 1")
    options.models = options.models or list(MODELS[:1] if quick else MODELS)
    return run_bench("bench", options, lambda report: _bench(options, report))


def _bench(options: argparse.Namespace, report: Report) -> None:
    from minibatch.bench import engine as bench
    from minibatch.roofline.devices import choose_dtype, describe, to_device

    device = to_device(options.device)
    dtype = choose_dtype(options.dtype, device)
    report.note(f"measured on {describe(device)}, {dtype}; median (lowest–highest) of {options.rounds} rounds")
    for name in options.models:
        bench.bench_model(
            name, dtype, options.device, options.num_requests, options.max_num_seqs, options.rounds, report
        )
