"""`reproduce`: compare a published result with the policies on the roofline model, figure by figure."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from minibatch.analysis.formats import three_figures
from minibatch.analysis.reproduce import EXPERIMENTS, find_experiment
from minibatch.analysis.reproduce.result import OFF_EXPLAINED, Reproduction, StoppedError, Watch
from minibatch.commands.terminal import stop_on_interrupt, wide_console


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("reproduce", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="which experiment; without it they are listed")
    parser.add_argument("--seed", type=int, default=0, help="of lengths and arrivals (default: 0)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    if options.seed < 0:
        raise ValueError(f"seed is {options.seed}: use 0 or a positive whole number")
    if options.name is None:
        _list(options.json)
        return 0
    experiment = find_experiment(options.name)
    try:
        with _watch(experiment.name) as watch:
            found = experiment.run(options.seed, watch)
    except StoppedError:
        raise KeyboardInterrupt from None
    if options.json:
        print(json.dumps(numbers(found, options.seed), indent=1, default=str, allow_nan=False))
    else:
        _print(found, options.seed)
    return 0


def numbers(found: Reproduction, seed: int) -> dict[str, Any]:
    """Everything there is, for JSON; a row says what follows from its figures as well."""
    rows = [
        {
            "what": row.what,
            "unit": row.unit,
            "published": None if row.published is None else row.published.value,
            "modelled": row.modelled,
            "ratio": row.ratio,
            "is_off": row.is_off,
            "verdict": row.verdict,
            "claims": [] if row.published is None else [asdict(claim) for claim in row.published.claims],
        }
        for row in found.rows
    ]
    return {**asdict(found), "rows": rows, "seed": seed}


@contextmanager
def _watch(name: str) -> Iterator[Watch]:
    """Progress on stderr; the first Ctrl-C stops between two runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with (
        stop_on_interrupt() as should_stop,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars,
    ):
        task = bars.add_task(name, total=1.0)
        yield Watch(lambda share: bars.update(task, completed=share), should_stop)


def _list(as_json: bool) -> None:
    if as_json:
        print(json.dumps([{"name": each.name, "title": each.title} for each in EXPERIMENTS.values()], indent=1))
        return
    table = Table(box=box.SIMPLE_HEAD, show_header=False)
    for experiment in EXPERIMENTS.values():
        table.add_row(Text(experiment.name), Text(experiment.title))
    wide_console().print(table)


def _print(found: Reproduction, seed: int) -> None:
    console = wide_console()
    table = Table(box=box.SIMPLE_HEAD, title=Text(found.title), title_justify="left")
    table.add_column("")
    for title in ("published", "modelled", "modelled / published"):
        table.add_column(title, justify="right")
    for row in found.rows:
        ratio = f"{three_figures(row.ratio)}{' off' if row.is_off else ''}"
        table.add_row(*map(Text, (row.what, row.published_words, row.modelled_words, ratio)))
    console.print(table)
    explained = f" {OFF_EXPLAINED[0].upper()}{OFF_EXPLAINED[1:]}." if any(row.is_off for row in found.rows) else ""
    console.print(Text(f"{found.compared} Modelled on {found.machine}, seed {seed}.{explained}"))
    _paragraphs(console, "where they differ by more than 30 %, and what is not modelled",
                [f"{row.what}: {row.verdict}" for row in found.rows if row.verdict])  # fmt: skip
    _paragraphs(console, "assumptions", found.assumptions)
    _paragraphs(console, "published", _sources(found))


def _sources(found: Reproduction) -> list[str]:
    """A line a claim: what it is of, the figure, and its source."""
    claims = dict.fromkeys(claim for row in found.rows if row.published for claim in row.published.claims)
    return [f"{claim.of}: {claim.words} ({claim.source_in_words})" for claim in claims]


def _paragraphs(console: Console, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print(Text(f"\n{title}"))
    for line in lines:
        console.print(Text(f"- {line}"))
