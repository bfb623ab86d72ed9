"""`lesson`: create a lesson, check all lessons and the interview room, or compute the values that ship with them."""

from __future__ import annotations

import argparse
import re
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console

from minibatch.learning.check import check_lessons, check_room
from minibatch.learning.values import computing, write_values
from minibatch.paths import LESSONS, VALUES
from minibatch.recording.storage import write_atomically

TEMPLATE = """---
id: {id}
title: {title}
minutes: 8
prerequisites: []
goals:
  - Say what the learner can do afterwards
runs:
  chat: {{recording: chat}}
---

Static batching generated {{{{ chat.static.output_throughput }}}},
continuous batching {{{{ chat.continuous.output_throughput }}}}.

```player
run: chat
focus: continuous
```

```quiz
type: choice
ask: Which policy is done first?
options:
  - {{text: continuous, right: true}}
  - {{text: static, why: Its slots wait for the longest answer.}}
explain: Slots refill as soon as a request ends.
check: [chat.continuous.duration < chat.static.duration]
```
"""


VALUES_HELP = "run all that the bundled lessons and the interview room show, and write it to assets/values"
_VALUES_NOTE = (
    "About a minute. Pages show what stands there at once and compute the rest; call this after a change to "
    "lessons, policies, the performance model or recordings. A test computes everything again and compares."
)


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("lesson", help=__doc__.split(": ", 1)[1], description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    new = actions.add_parser("new", help="create a folder with a working lesson to edit")
    new.add_argument("name", help="a-z, 0-9 and hyphens")
    new.set_defaults(execute=_new)
    check = actions.add_parser("check", help="links, claims, and every answer against a run")
    check.add_argument("names", nargs="*", metavar="NAME", help="of a folder, or an id (default: every lesson)")
    check.set_defaults(execute=_check)
    values = actions.add_parser("values", help=VALUES_HELP, description=f"{VALUES_HELP}. {_VALUES_NOTE}")
    values.set_defaults(execute=_values)
    for action in (new, check):
        action.add_argument("--folder", type=Path, default=LESSONS, help="that holds the lessons (default: lessons)")


def _new(options: argparse.Namespace) -> int:
    name = options.name
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ValueError(f"{name!r} is no name of a lesson: use a-z, 0-9 and hyphens")
    path = options.folder / name / "lesson.md"
    if path.parent.exists():
        raise ValueError(f"{path.parent} is there already: choose another name")
    path.parent.mkdir(parents=True)
    title = name.replace("-", " ").capitalize()
    write_atomically(path, TEMPLATE.format(id=name, title=title).encode())
    Console(soft_wrap=True, highlight=False).print(f"{path}: write, then python -m minibatch lesson check {name}")
    return 0


def _check(options: argparse.Namespace) -> int:
    console, wrong, count = Console(soft_wrap=True, highlight=False), 0, 0
    files = check_lessons(options.folder, options.names)
    with computing():  # and not with the values that ship: what is checked is what the code does now
        for path, problems in chain(files, () if options.names or options.folder != LESSONS else check_room()):
            count += 1
            wrong += len(problems)
            console.print(f"{path}: {'sound' if not problems else f'{len(problems)} to mend'}", markup=False)
            for problem in problems:
                console.print(f"  {problem}", markup=False)
    if not count:
        raise ValueError(f"there is no lesson in {options.folder}: create one with python -m minibatch lesson new NAME")
    return 1 if wrong else 0


def _values(options: argparse.Namespace) -> int:
    from minibatch.ui.lessons.shown_runs import compute_shown

    progress = Console(stderr=True, highlight=False)
    size = write_values(compute_shown(progress.print))
    Console(soft_wrap=True, highlight=False).print(f"{VALUES}: {size / 1000:.0f} kB")
    return 0
