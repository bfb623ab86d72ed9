"""Figures in a lesson: small sums over runs, steps and the registries. Parsed as Python's syntax, never run as code."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from minibatch.analysis.formats import percent, three_figures
from minibatch.analysis.metrics import Metrics
from minibatch.analysis.registry.claims import load_claims
from minibatch.analysis.shown_metrics import ROWS, MetricRow
from minibatch.learning import values
from minibatch.learning.run_spec import Spec, Work, check_spec, policies_of
from minibatch.learning.steps import Figure, modelled_step, recorded_decodes, registry_figure
from minibatch.learning.words import interface_words, localised
from minibatch.recording.schema import Recording

METRIC_ROWS: dict[str, MetricRow] = {row.key: row for row in ROWS}
_SUMS: dict[type, Callable[[Any, Any], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
_COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_LARGEST, _DEEPEST = 400, 40
"""Characters of an expression, and how deeply it is nested."""
_STYLE = re.compile(r"[-+ ]?0?\d{0,2},?(\.\d{1,2})?[eEfFgG%]?")


class Figures:
    """The values of expressions over `runs`, specs by name, shown as in `language`; `work` counts what runs take."""

    def __init__(self, runs: Mapping[str, Spec], language: str = "en", work: Work | None = None) -> None:
        self.runs = runs
        self.work = Work() if work is None else work
        self.words = interface_words(language)

    def figure(self, text: str) -> Figure:
        """The value of an expression, and how it is shown; `| 0.1f`, `| percent` or `| x` may end it.

        Raises:
            ValueError: it is no such expression, or its value does not exist; the sentence says what was expected.
        """
        text, _, style = (part.strip() for part in text.partition("|"))
        node = _parse(text)
        found = self._reference(node)
        if found is None:
            value = self._number(node, {})
            found = Figure(value, _plainly(value), self._standing(node))
        shown = _styled(found.value, style) if style else found.words
        return Figure(found.value, localised(shown, self.words), self.words.get(found.standing, found.standing))

    def number(self, given: Any) -> float:
        """The value of an expression, or a number as it is."""
        if isinstance(given, int | float) and not isinstance(given, bool):
            return float(given)
        if not isinstance(given, str):
            raise ValueError(f"{given!r} is no expression and no number")
        return self.figure(given).value

    def holds(self, text: str, names: Mapping[str, float | None] | None = None) -> bool:
        """Whether a condition is true; `names` are values that stand in it by themselves."""
        return self._condition(_parse(text), names or {})

    def metrics(self, run: str, policy: str) -> tuple[Metrics, str]:
        """Every metric of one run under one policy, and the word for its clock."""
        spec, name = self._spec(run, policy)
        return values.metrics(spec, name, self.work)

    def recording(self, run: str, policy: str) -> Recording:
        """One run under one policy."""
        spec, name = self._spec(run, policy)
        return values.recording(spec, name, self.work)

    def _spec(self, run: str, policy: str) -> tuple[Spec, str]:
        """The run's spec, and the policy's name, whose hyphens an expression writes as underscores."""
        if run not in self.runs:
            raise ValueError(f"there is no run {run!r}: the front matter has {', '.join(self.runs) or 'none'}")
        spec = self.runs[run]
        check_spec(spec)
        names = {name.replace("-", "_"): name for name in policies_of(spec)}
        if (name := names.get(policy.replace("-", "_"))) is None:
            raise ValueError(f"run {run!r} has no policy {policy!r}: it has {', '.join(names.values())}")
        return spec, name

    # -- parts of an expression -------------------------------------------------------------------

    def _reference(self, node: ast.expr) -> Figure | None:
        """A run's metric, a claim, a step or a registry's figure; None for sums of them."""
        if isinstance(node, ast.Attribute):
            path = _path(node)
            if len(path) == 2 and path[0] == "claim":
                return self._claim(path[1])
            if len(path) == 3:
                metrics, clock = self.metrics(path[0], path[1])
                return _metric(path[2], metrics, clock)
            raise ValueError(f"{'.'.join(path)} is no figure: expected run.policy.metric or claim.id")
        if isinstance(node, ast.Call):
            return self._call(node)
        return None

    def _call(self, node: ast.Call) -> Figure:
        path = _path(node.func)
        if not path:
            raise ValueError(f"{ast.unparse(node)} is no figure")
        if len(path) == 2 and path[0] == "step":
            return modelled_step(path[1], node)
        if len(path) == 2 and path[0] == "decodes":
            names = [_path(argument) for argument in node.args]
            if len(names) != 1 or len(names[0]) != 2:
                raise ValueError(f"{ast.unparse(node)}: expected decodes.WHAT(run.policy, batch=)")
            return recorded_decodes(path[1], node, self.recording(*names[0]))
        return registry_figure(path[0], node)

    def _number(self, node: ast.expr, names: Mapping[str, float | None]) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return _finite(node.value)
        if isinstance(node, ast.BinOp) and type(node.op) in _SUMS:
            left, right = self._number(node.left, names), self._number(node.right, names)
            if isinstance(node.op, ast.Div) and not right:
                raise ValueError("it divides by a figure that is 0")
            return _finite(_SUMS[type(node.op)](left, right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._number(node.operand, names)
        if isinstance(node, ast.Name):
            if node.id not in names:
                raise ValueError(f"{node.id} is no figure here: expected run.policy.metric, claim.id or one of "
                                 f"{', '.join(names) or 'the functions'}")  # fmt: skip
            value = names[node.id]
            if value is None:
                raise ValueError(f"{node.id} has no value in this run")
            return float(value)
        found = self._reference(node)
        if found is None:
            raise ValueError(f"{ast.unparse(node)} is no sum of figures")
        return found.value

    def _condition(self, node: ast.expr, names: Mapping[str, float | None]) -> bool:
        if isinstance(node, ast.BoolOp):
            parts = [self._condition(part, names) for part in node.values]
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        if not isinstance(node, ast.Compare) or not all(type(op) in _COMPARISONS for op in node.ops):
            raise ValueError(f"{ast.unparse(node)} is no condition: expected a comparison with <, <=, > or >=")
        values = [self._number(part, names) for part in (node.left, *node.comparators)]
        return all(_COMPARISONS[type(op)](a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False))

    def _standing(self, node: ast.expr) -> str:
        """The words of all that a sum is made of."""
        words = []
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and (path := _path(part)) and len(path) == 3:
                words.append(self.metrics(path[0], path[1])[1])
        return ", ".join(self.words[word] for word in dict.fromkeys(words)) or "calculated"

    def _claim(self, name: str) -> Figure:
        claims = load_claims()
        found = claims.get(name.replace("_", "-")) or claims.get(name)
        if found is None:
            raise ValueError(f"there is no claim {name!r} in assets/registry/claims.toml")
        source = f"{found.source} ({self.words[found.standing]})" if found.standing else found.source
        checked = self.words["claim_checked"].format(date=found.checked.strftime(self.words["date_format"]))
        return Figure(found.value, found.words, f"{found.of}: {source}, {checked}")


def _parse(text: str) -> ast.expr:
    if len(text) > _LARGEST:
        raise ValueError(f"an expression is longer than {_LARGEST} characters")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text!r} is no expression: expected sums of figures such as chat.static.duration") from None
    level: list[ast.AST] = [node]
    for _ in range(_DEEPEST):
        level = [child for each in level for child in ast.iter_child_nodes(each)]
    if level:
        raise ValueError(f"{text!r} is nested deeper than {_DEEPEST}: expected sums of few figures")
    return node


def _finite(value: float) -> float:
    """`value`, which may be whole, as a float; ValueError where it is too large for one."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("a number or a sum is too large to be a figure")
    return number


def _path(node: ast.expr) -> list[str]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []


def _metric(name: str, metrics: Metrics, clock: str) -> Figure:
    if name not in metrics:
        raise ValueError(f"there is no metric {name!r}: expected one of METRICS.md, such as output_throughput")
    value = metrics[name]
    if value is None:
        raise ValueError(f"{name} has no value in this run")
    return Figure(float(value), metric_words(name, value), clock)


def _plainly(value: float) -> str:
    """A sum without a unit; of a whole number every digit that it has."""
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 * max(1.0, abs(value)) else three_figures(value)


def metric_words(name: str, value: float | None) -> str:
    """A metric with its unit, as the table shows it."""
    row = METRIC_ROWS.get(name)
    if row is None or value is None:
        return three_figures(value)
    if row.unit == "s" and abs(value) < 1:
        return f"{row.show(1000 * value)} ms"
    return f"{row.show(value)} {row.unit}".strip()


def _styled(value: float, style: str) -> str:
    if style == "percent":
        return f"{percent(value)} %"
    if style == "x":
        return f"{three_figures(value)}×"
    if not _STYLE.fullmatch(style):
        raise ValueError(f"{style!r} is no format: expected percent, x or one of Python's, such as 0.1f")
    return f"{value:{style}}"
