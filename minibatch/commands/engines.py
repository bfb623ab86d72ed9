"""`engines`: the schedulers that policies follow, and the rules in which they differ."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from minibatch.analysis.formats import NOTHING
from minibatch.commands.terminal import wide_console
from minibatch.scheduling import POLICIES, find_policy
from minibatch.scheduling.policy import rules_of
from minibatch.scheduling.presets import PRESETS
from minibatch.scheduling.rules import Rules, Victim

_ROWS = {
    "a step holds": "step",
    "enters if free": "admits",
    "short of blocks": "shortage",
    "preempts": "victim",
    "who waits at": "returns",
    "watermark": "watermark",
}


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("engines", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("names", nargs="*", metavar="POLICY", help="more about these (default: the table of all)")
    parser.add_argument("--json", action="store_true", help="print the rules as JSON")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    for name in options.names:
        find_policy(name)
    names = options.names or list(POLICIES)
    if options.json:
        print(json.dumps({name: as_json(name) for name in names}, indent=1))
        return 0
    console = wide_console()
    console.print(rules_table(names))
    for name in options.names:
        console.print(Text(_more(name)))
    return 0


def rules_table(names: Sequence[str]) -> Table:
    """A row a policy, a column a rule, in words."""
    table = Table(box=box.SIMPLE_HEAD, title="policies and their rules", title_justify="left", show_lines=True)
    table.add_column("")
    for title in _ROWS:
        table.add_column(title, overflow="fold")
    for name in names:
        table.add_row(Text(name), *map(Text, _words(rules_of(POLICIES[name])).values()))
    return table


def as_json(name: str) -> dict[str, Any]:
    """The rules of a policy, and of an engine's what else is known."""
    preset = PRESETS.get(name)
    known = {} if preset is None else {
        "engine": preset.engine, "source": preset.source, "defaults": preset.defaults, "knobs": dict(preset.knobs),
        "leaves_out": list(preset.leaves_out),
    }  # fmt: skip
    return {"rules": _words(rules_of(POLICIES[name]))} | known


def _words(rules: Rules) -> dict[str, str]:
    words = {title: str(getattr(rules, field)) for title, field in _ROWS.items()}
    return words if rules.victim is not Victim.NOBODY else words | {"who waits at": NOTHING}


def _more(name: str) -> str:
    preset = PRESETS.get(name)
    if preset is None:
        return f"{name}: a policy that shows one idea, of no engine"
    knobs = ", ".join(f"{theirs} is --{ours.replace('_', '-')}" for ours, theirs in preset.knobs.items())
    return (
        f"{name}: {preset.engine}\n  read in    {preset.source}\n  defaults   {preset.defaults}\n  knobs      {knobs}\n"
        f"  left out   {'; '.join(preset.leaves_out)}\n"
    )
