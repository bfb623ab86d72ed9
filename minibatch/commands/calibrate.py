"""`calibrate`: measure this machine's two ceilings, fit a model's steps to them, and remember both."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from minibatch.analysis.formats import duration, percent, three_figures
from minibatch.commands.terminal import stop_on_interrupt

if TYPE_CHECKING:
    from minibatch.roofline.calibration_store import Calibration


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("calibrate", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("--model", default="bundled", help="bundled; random:gpt2, -medium, -large, -xl; or a GPT-2 "
                        "checkpoint by hub name or folder")  # fmt: skip
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--dtype", default="auto", help="auto, float32, float64, bfloat16 or float16")
    parser.add_argument("--steps", type=int, metavar="N", help="steps to time, a third of them held out (default: 150)")
    parser.add_argument("--rounds", type=int, metavar="N", help="times that each is timed (default: 7)")
    parser.add_argument("--seed", type=int, default=0, help="which steps are drawn (default: 0)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from rich.progress import Progress

    from minibatch.engine.step_timing import NUM_STEPS, ROUNDS, calibrate
    from minibatch.roofline.calibration_store import save_calibration

    num_steps = NUM_STEPS if options.steps is None else options.steps
    with stop_on_interrupt() as should_stop, Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("measuring", total=1.0)
        fitted = calibrate(
            options.model,
            options.dtype,
            options.device,
            num_steps=num_steps,
            rounds=ROUNDS if options.rounds is None else options.rounds,
            seed=options.seed,
            progress=lambda done: bars.update(task, completed=done),
            should_stop=should_stop,
        )
    if fitted is None:
        raise KeyboardInterrupt
    if options.json:
        print(json.dumps(_numbers(fitted), indent=2))
    else:
        _print(fitted)
    save_calibration(fitted)
    if advice := _advice(fitted, num_steps):
        print(advice, file=sys.stderr)
    return 0


def _advice(fitted: Calibration, num_steps: int) -> str:
    """A sentence about a fit that few steps stand behind; "" about any other."""
    from minibatch.roofline.fit import FEW_STEPS

    if num_steps >= FEW_STEPS:
        return ""
    return (
        f"minibatch: warning: {num_steps} steps are few: {fitted.num_fitted} were fitted to and {len(fitted.held_out)} "
        f"checked, so modelled runs may be further off than these errors say: use --steps {FEW_STEPS} or more"
    )


def _numbers(fitted: Calibration) -> dict[str, Any]:
    return {
        "model": fitted.model,
        "ceilings": asdict(fitted.ceilings),
        "num_fitted": fitted.num_fitted,
        "num_held_out": len(fitted.held_out),
        "errors": {name: asdict(error) for name, error in fitted.errors().items()},
        "spread": fitted.spread,
    }


def _print(fitted: Calibration) -> None:
    ceilings, console = fitted.ceilings, Console()
    print(f"{ceilings.device}, {ceilings.dtype}, {ceilings.source}")
    print(f"  matrix products  {ceilings.flops_per_s / 1e9:10.3g} GFLOP/s")
    print(f"  memory reads     {ceilings.bytes_per_s / 1e9:10.3g} GB/s")
    print(f"  ridge            {ceilings.ridge:10.3g} FLOP/byte")
    print(f"\nfitted to {fitted.num_fitted} measured steps of {fitted.model}: shares of the ceilings, and fixed costs")
    console.print(_efficiencies(fitted))
    print(f"modelled against measured, on {len(fitted.held_out)} steps that were not fitted to")
    console.print(_errors(fitted))
    print(f"repeated measurements of the same step differ by {percent(fitted.spread)} %")


def _efficiencies(fitted: Calibration) -> Table:
    given = fitted.ceilings.efficiency
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("")
    for roof in ("compute", "memory"):
        table.add_column(roof, justify="right")
    for operator in ("linear", "attention", "lm_head"):
        table.add_row(operator, three_figures(given.compute(operator)), three_figures(given.memory(operator)))
    table.add_section()
    table.add_row("an iteration", duration(given.step_ns), "")
    table.add_row("each sequence", duration(given.seq_ns), "")
    table.add_row("more than one position", duration(given.batch_ns), "")
    return table


def _errors(fitted: Calibration) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("", "steps", "median error", "90 % of them below"):
        table.add_column(column, justify="right" if column else "left")
    for name, error in fitted.errors().items():
        table.add_row(name, f"{error.count:,}", f"{percent(error.median)} %", f"{percent(error.p90)} %")
    return table
