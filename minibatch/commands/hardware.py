"""`hardware`: list the accelerators and models of modelled runs, with what follows from their figures."""

from __future__ import annotations

import argparse
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from minibatch.analysis.formats import NOTHING, three_figures
from minibatch.analysis.registry.accelerators import load_accelerators
from minibatch.analysis.registry.claims import scaled
from minibatch.analysis.registry.models import load_models
from minibatch.commands.terminal import wide_console

SEQUENCE = 1024
"""Tokens of the sequences that are counted."""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("hardware", help=__doc__.split(": ")[1], description=__doc__)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    console = wide_console()
    for table in (_accelerators(), _models(), _capacity()):
        console.print(table)
    return 0


def _accelerators() -> Table:
    table = _table("accelerators, as their data sheets have them")
    for title in ("matrix products", "dtype", "memory", "bandwidth", "ridge, FLOP/byte", "link, one direction"):
        table.add_column(title, justify="right")
    table.add_column("source")
    for accelerator in load_accelerators().values():
        link = scaled(accelerator.link_bytes_per_s, "B/s")
        standing = accelerator.link.standing
        cells = (
            accelerator.name,
            accelerator.flops.words,
            ", ".join(accelerator.dtypes),
            accelerator.memory.words,
            accelerator.bandwidth.words,
            three_figures(accelerator.ridge),
            f"{link} ({standing})" if standing else link,
            "; ".join(part for part in (accelerator.source(), accelerator.note) if part),
        )
        table.add_row(*map(Text, cells))
    return table


def _models() -> Table:
    table = _table("models, in bfloat16")
    for title in ("billion parameters", "weights", "KV bytes a token", "context"):
        table.add_column(title, justify="right")
    table.add_column("source")
    for model in load_models().values():
        shape = model.shape()
        cells = (
            model.name,
            three_figures(shape.num_parameters / 1e9),
            scaled(shape.weight_bytes, "B"),
            f"{shape.kv_bytes_per_token:,}",
            f"{shape.n_positions:,}",
            model.source_in_words,
        )
        table.add_row(*map(Text, cells))
    return table


def _capacity() -> Table:
    accelerators = load_accelerators().values()
    table = _table(f"sequences of {SEQUENCE:,} tokens whose KV fits beside the weights of one model, in 16 bits")
    for accelerator in accelerators:
        table.add_column(accelerator.name, justify="right")
    for model in load_models().values():
        shape = model.shape()
        counts = (accelerator.sequences_that_fit(shape, SEQUENCE) for accelerator in accelerators)
        table.add_row(model.name, *(f"{count:,}" if count else NOTHING for count in counts))
    table.caption = f"{NOTHING} the weights leave no room; activations and what a runtime keeps are not counted"
    table.caption_justify = "left"
    return table


def _table(title: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=Text(title), title_justify="left")
    table.add_column("", no_wrap=True)
    return table
