"""`hardware`: list the accelerators and models of modelled runs, with what follows from their figures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from minibatch.analysis.formats import NOTHING, three_figures
from minibatch.analysis.registry.accelerators import Accelerator, find_accelerator, load_accelerators
from minibatch.analysis.registry.claims import scaled
from minibatch.analysis.registry.dtypes import canonical
from minibatch.analysis.registry.models import Model, find_model, load_models
from minibatch.commands.terminal import wide_console

SEQUENCE = 1024
"""Tokens of the sequences that are counted."""


SPEED = (
    "Modelled times are those of a bare roofline: every kernel reaches its ceiling and nothing else takes time. Real "
    "engines take longer; `calibrate` measures by how much on this machine."
)


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("hardware", help=__doc__.split(": ")[1], description=f"{__doc__} {SPEED}")
    parser.add_argument("--model", nargs="+", metavar="NAME", help="only these: names of the list, or any model's "
                        "config.json or the folder that holds it")  # fmt: skip
    parser.add_argument("--accelerator", nargs="+", metavar="NAME", help="only these")
    parser.add_argument(
        "--dtype", default="auto", help="of the weights (default: what a config.json says, or bfloat16)"
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    models = list(load_models().values()) if options.model is None else [find_model(name) for name in options.model]
    accelerators = list(load_accelerators().values())
    if options.accelerator is not None:
        accelerators = [find_accelerator(name) for name in options.accelerator]
    sized = [(model, _dtype(model, options.dtype)) for model in models]
    console = wide_console()
    for table in (_accelerators(accelerators), _models(sized), _capacity(sized, accelerators)):
        console.print(table)
    console.print(Text(SPEED))
    return 0


def _dtype(model: Model, given: str) -> str:
    return canonical(given) if given != "auto" else model.dtype or "bfloat16"


def _accelerators(accelerators: Sequence[Accelerator]) -> Table:
    table = _table("accelerators, as their data sheets have them: matrix products are dense")
    for title in ("16 bits", "fp8", "fp4", "memory", "bandwidth", "ridge, FLOP/byte", "link, one direction"):
        table.add_column(title, justify="right")
    table.add_column("source")
    for accelerator in accelerators:
        link = scaled(accelerator.link_bytes_per_s, "B/s")
        standing = accelerator.link.standing
        cells = (
            accelerator.name,
            *(
                NOTHING if claim is None else claim.words
                for claim in (accelerator.flops, accelerator.fp8, accelerator.fp4)
            ),
            accelerator.memory.words,
            accelerator.bandwidth.words,
            three_figures(accelerator.ridge),
            f"{link} ({standing})" if standing else link,
            "; ".join(part for part in (accelerator.source(), accelerator.note) if part),
        )
        table.add_row(*map(Text, cells))
    return table


def _models(sized: Sequence[tuple[Model, str]]) -> Table:
    table = _table("models, with KV in 16 bits or more")
    for title in ("weights in", "billion parameters", "weights", "KV bytes a token", "context"):
        table.add_column(title, justify="right")
    table.add_column("source")
    for model, dtype in sized:
        shape = model.shape(dtype)
        cells = (
            model.name,
            dtype,
            three_figures(shape.num_parameters / 1e9),
            scaled(shape.weight_bytes, "B"),
            f"{shape.kv_bytes_per_token:,}",
            f"{shape.n_positions:,}",
            "; ".join(part for part in (model.source_in_words, model.note) if part),
        )
        table.add_row(*map(Text, cells))
    return table


def _capacity(sized: Sequence[tuple[Model, str]], accelerators: Sequence[Accelerator]) -> Table:
    table = _table(f"sequences of {SEQUENCE:,} tokens whose KV fits beside the weights of one model")
    for accelerator in accelerators:
        table.add_column(accelerator.name.replace("-", "\n", 1), justify="right")
    for model, dtype in sized:
        shape = model.shape(dtype)
        counts = (accelerator.sequences_that_fit(shape, SEQUENCE) for accelerator in accelerators)
        table.add_row(model.name, *(f"{count:,}" if count else NOTHING for count in counts))
    table.caption = f"{NOTHING} the weights leave no room; activations and what a runtime keeps are not counted"
    table.caption_justify = "left"
    return table


def _table(title: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=Text(title), title_justify="left")
    table.add_column("", overflow="fold")
    return table
