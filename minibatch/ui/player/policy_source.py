"""The source of the policies, and the lines of it that produce each reason: the rule beside the animation."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from minibatch.decisions.reasons import PREEMPTIONS, Code
from minibatch.scheduling import POLICIES

_CALLS: dict[str, tuple[str, ...]] = {
    "can_admit": (
        Code.WAITS_SLOT, Code.WAITS_BLOCKS, Code.WAITS_BUDGET, Code.WAITS_PREEMPTION, Code.WAITS_SWAPPED,
        Code.WAITS_RESERVED,
    ),
    "admit": (Code.ADMITTED,),
    "resume": (Code.RESUMED,),
    "prefill": (Code.CHUNK, *PREEMPTIONS),
    "decode": ("decode", *PREEMPTIONS),
    "run": (Code.CHUNK, "decode", *PREEMPTIONS),
    "preempt": tuple(PREEMPTIONS),
    "pad": ("padding",),
}  # fmt: skip
"""What each call on a plan builder leads to: codes of reasons, and the phases that have no reason."""


def policy_sources(policies: Iterable[str]) -> dict[str, Any]:
    """By name of policy, those of `policies` that are registered:

    `files`: a list of `name` and `text`, the policy's own file first, then those of the classes it
    inherits from; empty where Python can't find the source. `lines`: by code of a reason (or "decode",
    "padding"), the index of a file and the numbers of the lines that decide it, from 1.
    """
    return {name: _sources(type(POLICIES[name])) for name in sorted(policies) if name in POLICIES}


@cache
def _sources(policy: type) -> dict[str, Any]:
    files: list[dict[str, str]] = []
    paths: list[str] = []
    lines: dict[str, list[Any]] = {}
    for kind in policy.__mro__:
        found = _source(kind)
        if found is None:
            continue
        path, text, tree = found
        if path not in paths:
            paths.append(path)
            files.append({"name": Path(path).name, "text": text})
        for code, numbers in _lines(tree).items():
            lines.setdefault(code, [paths.index(path), numbers])
    return {"files": files, "lines": lines}


def _source(kind: type) -> tuple[str, str, ast.ClassDef] | None:
    """Path and text of the file of a class, and its tree; None for a class that says nothing about scheduling."""
    module = inspect.getmodule(kind)
    if getattr(kind, "_is_protocol", False) or not isinstance(module, ModuleType):
        return None
    if module.__name__.partition(".")[0] in sys.stdlib_module_names:  # object, Generic, ABC
        return None
    try:
        path, text = inspect.getsourcefile(module), inspect.getsource(module)
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError):  # typed into a shell, or not written in Python
        return None
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == kind.__name__]
    return (path, text, classes[-1]) if path and classes else None


def _lines(tree: ast.ClassDef) -> dict[str, list[int]]:
    """The lines of a class by what they decide."""
    nodes: dict[str, list[ast.AST]] = defaultdict(list)
    for call in _calls(tree):
        for code in _codes(call):
            nodes[code].append(call)
    nodes[Code.STALLED_BY_PREFILL] = _prompts_first(tree) or nodes.get(Code.CHUNK, [])
    nodes["padding"] += _held_slots(tree)
    return {str(code): _numbers(found) for code, found in nodes.items() if found}


def _codes(call: ast.Call) -> Iterable[str]:
    """What a call leads to."""
    name = _called(call)
    if name != "wait":
        return _CALLS.get(name, ())
    names = {code.name: code for code in Code}
    return [names[node.attr] for node in call.args if isinstance(node, ast.Attribute) and node.attr in names]


def _prompts_first(tree: ast.ClassDef) -> list[ast.AST]:
    """Conditions that let requests in and decide by that whether the others decode."""
    methods = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}

    def leads_to(nodes: Iterable[ast.AST], wanted: str) -> bool:
        names = {_called(call) for node in nodes for call in _calls(node)}
        inner = [call for name in names & methods.keys() for call in _calls(methods[name])]
        return wanted in names | {_called(call) for call in inner}

    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and leads_to([node.test], "admit") and leads_to(node.body, "decode"):
            found += [node.test, *node.body]
    return found


def _held_slots(tree: ast.ClassDef) -> list[ast.AST]:
    """`hold_slots = True`."""
    return [
        node
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "hold_slots" for target in node.targets)
        and isinstance(node.value, ast.Constant)
        and node.value.value is True
    ]


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    """The name of the method that is called, "" for anything else."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _numbers(nodes: Iterable[ast.AST]) -> list[int]:
    """Every line of some nodes, those of the first node first."""
    spans = [(getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)) for node in nodes]
    return list(dict.fromkeys(line for first, last in spans for line in range(first, last + 1)))
