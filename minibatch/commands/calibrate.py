"""`calibrate`: measure this machine's two ceilings and remember them."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("calibrate", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import Progress

    from minibatch.engine.ceilings import load_or_measure
    from minibatch.engine.devices import choose_dtype, to_device

    device = to_device(options.device)
    dtype = choose_dtype(options.dtype, device)

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("measuring", total=1.0)
        ceilings = load_or_measure(device, dtype, lambda done: bars.update(task, completed=done), anew=True)
    print(f"measured on {ceilings.device}, {ceilings.dtype}")
    print(f"  matrix products  {ceilings.flops_per_s / 1e9:10.3g} GFLOP/s")
    print(f"  memory reads     {ceilings.bytes_per_s / 1e9:10.3g} GB/s")
    print(f"  ridge            {ceilings.ridge:10.3g} FLOP/byte")
    return 0
