"""`bench`: how fast the engine is, against transformers and against this machine's roofline."""

from __future__ import annotations

import argparse
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

MODELS = ("bundled", "random:gpt2")
RATIOS = (
    ("minibatch continuous", "transformers continuous"),
    ("minibatch chunked", "transformers continuous"),
    ("minibatch static", "transformers padded"),
    ("minibatch continuous", "minibatch static"),
)


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("bench", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS), metavar="MODEL")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that are counted (default: 5)")
    parser.add_argument("--num-requests", type=int, default=24)
    parser.add_argument("--max-num-seqs", type=int, default=8, help="slots (default: 8)")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from minibatch.roofline.devices import choose_dtype, describe, to_device

    for name in ("rounds", "num_requests", "max_num_seqs"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')} is {getattr(options, name)}: use at least 1")
    device = to_device(options.device)
    dtype = choose_dtype(options.dtype, device)
    console = Console()
    console.print(f"measured on {describe(device)}, {dtype}; median (lowest–highest) of {options.rounds} rounds")
    for name in options.models:
        _bench_model(name, dtype, options, console)
    return 0


def _bench_model(name: str, dtype: str, options: argparse.Namespace, console: Console) -> None:
    from minibatch.bench import engine as bench
    from minibatch.model.gpt2 import GPT2
    from minibatch.model.reference import reference_model
    from minibatch.model.weights import load_weights
    from minibatch.roofline.measurement import measure_ceilings as measure

    weights = load_weights(name, dtype, options.device)
    model = GPT2(weights.config, weights.tensors)
    reference = reference_model(weights.config, weights.tensors)
    requests = bench.ragged_workload(weights.config.vocab_size, options.num_requests)
    contest = bench.Contest(model, reference, requests, options.max_num_seqs)

    title = (
        f"{name}, {model.shape.num_parameters / 1e6:.1f} M parameters, {options.num_requests} requests, "
        f"{options.max_num_seqs} slots"
    )
    with console.status(f"{name}: contest"):
        rounds = list(contest.rounds(options.rounds))
    speeds = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    speeds.add_column("")
    speeds.add_column("useful tok/s", justify="right")
    for contestant in contest.contestants:
        spread = bench.Spread.of([speed[contestant] for speed in rounds])
        speeds.add_row(contestant, f"{spread.median:.0f} ({spread.low:.0f}–{spread.high:.0f})")
    speeds.add_section()
    for ours, theirs in RATIOS:
        ratio = bench.Spread.of([speed[ours] / speed[theirs] for speed in rounds])
        speeds.add_row(f"{ours} / {theirs}", f"{ratio}")
    console.print(speeds)

    with console.status(f"{name}: steps"):
        device = str(model.device)
        steps = bench.time_steps(model, lambda: measure(device, dtype), max(2, options.rounds // 2))
        share = bench.scheduler_share(model, requests, options.max_num_seqs)
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("step", "ms", "bound by", "share of the measured ceiling"):
        table.add_column(column, justify="left" if column in ("step", "bound by") else "right")
    for step in steps:
        time = f"{step.seconds.median * 1e3:.2f}"
        table.add_row(
            step.name, time, step.bound, f"{step.share.median:.0%} ({step.share.low:.0%}–{step.share.high:.0%})"
        )
    console.print(table)
    console.print(f"scheduler, allocator, recorder and checks: {share:.1%} of the model's time\n")
