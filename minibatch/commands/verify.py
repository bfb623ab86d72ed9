"""`verify`: serve one random workload in every way and compare each token with transformers."""

from __future__ import annotations

import argparse
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from minibatch.commands.options import policy_names
from minibatch.scheduling import POLICIES, find_policy


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("verify", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("--model", default="bundled", help="as `compare --model`")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--dtype", default="float64", help="float64 compares exactly; float32 but for proven ties")
    parser.add_argument("--seed", type=int, default=0, help="of the workload")
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), metavar="POLICY", help="only these")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from minibatch.engine.verify import random_workload, verify
    from minibatch.model.gpt2 import GPT2
    from minibatch.model.reference import reference_model
    from minibatch.model.weights import load_weights

    if options.seed < 0:
        raise ValueError(f"seed is {options.seed}: use 0 or a positive whole number")
    names = policy_names(options.policies)
    for name in names:
        find_policy(name)
    weights = load_weights(options.model, options.dtype, options.device)
    model = GPT2(weights.config, weights.tensors)
    workload = random_workload(options.seed, weights.config.vocab_size)
    reference = reference_model(weights.config, weights.tensors)
    console = Console()
    table = Table(box=box.SIMPLE_HEAD, title=f"{len(workload.requests)} requests, seed {options.seed}, model "
                  f"{options.model} in {options.dtype}", title_justify="left")  # fmt: skip
    for column in ("policy", "KV layout", "preemption", "tokens", "preempted", "ties", "against transformers"):
        table.add_column(column, justify="right" if column in ("tokens", "preempted", "ties") else "left")
    wrong: list[str] = []
    with console.status("serving"):
        for outcome in verify(workload, model, reference, names):
            numbers = (str(outcome.num_tokens), str(outcome.num_preemptions), str(outcome.ties))
            verdict = "; ".join(outcome.wrong) or "equal"
            table.add_row(outcome.policy, outcome.layout, outcome.mode, *numbers, verdict)
            wrong.extend(outcome.wrong)
    console.print(table)
    console.print("every token is the same" if not wrong else f"{len(wrong)} requests differ")
    return 1 if wrong else 0
