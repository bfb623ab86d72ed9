"""Figures of single steps and of the registries: modelled steps, steps that a run recorded, sizes of models."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from minibatch.analysis.formats import plural, three_figures
from minibatch.analysis.registry.accelerators import find_accelerator, load_accelerators
from minibatch.analysis.registry.claims import scaled
from minibatch.analysis.registry.models import find_shape, load_models
from minibatch.decisions.phase import Phase
from minibatch.recording.schema import Column, Recording
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import Costs, ModelShape, Totals, operators, sum_of
from minibatch.roofline.step_model import StepModel

_UNITS = {"ms": "ms", "flops": "FLOP/s", "bytes": "bytes", "intensity": "FLOP/byte", "tokens_per_s": "tok/s"}
_LARGEST_NUMBER = 10_000_000


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with what is known of it.

    Attributes:
        words: as it is shown, with its unit.
        standing: whether it was measured, modelled or calculated, or what a claim is of and its source.
    """

    value: float
    words: str
    standing: str


def modelled_step(what: str, node: ast.Call) -> Figure:
    """`step.WHAT(accelerator, model, ...)`: so many decodes of so much context each, a prefill, or both.

    Raises:
        ValueError: it is no such call, as with all of this module.
    """
    if what not in _UNITS or len(node.args) != 2:
        raise ValueError(f"expected step.WHAT(accelerator, model, batch=, context=, prefill=), WHAT one of "
                         f"{', '.join(_UNITS)}")  # fmt: skip
    given = _numbers(node, ("batch", "context", "prefill", "devices"))
    batch, context, prefill = given["batch"], max(1, given["context"]), given["prefill"]
    if batch + prefill < 1:
        raise ValueError(f"{ast.unparse(node)}: expected batch or prefill of at least 1")
    shape, ceilings = _shape(node.args[1]), _ceilings(node.args[0], max(1, given["devices"]))
    totals = Totals(
        positions=batch + prefill,
        rectangle=batch * context + prefill * prefill,
        context=batch * context + prefill,
        sampled=batch + (prefill > 0),
    )
    parts = operators(totals, shape)
    seconds = float(StepModel(shape, ceilings).seconds(parts, totals.positions, batch + (prefill > 0)))
    costs = sum_of(parts)
    return _figure(what, costs.flops, _bytes(costs), seconds, batch or prefill, "modelled")


def recorded_decodes(what: str, node: ast.Call, recording: Recording) -> Figure:
    """`decodes.WHAT(run.policy, batch=)`: the median of a run's steps in which only so many decodes ran.

    FLOPs, bytes and nanoseconds are each the median over those steps.
    """
    batch = _numbers(node, ("batch",))["batch"]
    if what not in _UNITS:
        raise ValueError(f"there is no decodes.{what}: expected one of {', '.join(_UNITS)}")
    rows = _decode_only(recording, batch)
    if not rows.size:
        sizes = plural(batch, "request")
        raise ValueError(f"{ast.unparse(node)}: no step of this run decodes {sizes} and nothing else")
    columns = {name: float(np.median(column[rows])) for name, column in recording.iterations.items()}
    num_bytes = columns["bytes_weights"] + columns["bytes_kv"] + columns["bytes_activations"]
    return _figure(what, columns["flops"], num_bytes, columns["duration_ns"] / 1e9, batch, recording.header.clock)


def registry_figure(name: str, node: ast.Call) -> Figure:
    """`kv_bytes(model)`, `weights(model)` or `ridge(accelerator)`."""
    if len(node.args) != 1 or node.keywords:
        raise ValueError(f"{ast.unparse(node)} takes one name")
    (of,) = node.args
    if name == "kv_bytes":
        value = _shape(of).kv_bytes_per_token
        return Figure(value, f"{value:,} bytes", "calculated")
    if name == "weights":
        value = _shape(of).weight_bytes
        return Figure(value, scaled(value, "B"), "calculated")
    if name == "ridge":
        ridge = _ceilings(of).ridge
        return Figure(ridge, f"{three_figures(ridge)} FLOP/byte", "data_sheet")
    raise ValueError(
        f"{ast.unparse(node)} is no figure: expected step.ms(...), decodes.ms(...), kv_bytes(), weights() or ridge()"
    )


def _figure(what: str, flops: float, num_bytes: float, seconds: float, tokens: int, standing: str) -> Figure:
    value = {
        "ms": seconds * 1e3,
        "flops": flops / seconds,
        "bytes": float(num_bytes),
        "intensity": flops / num_bytes,
        "tokens_per_s": tokens / seconds,
    }[what]
    unit = _UNITS[what]
    if unit in ("FLOP/s", "bytes"):
        return Figure(value, scaled(value, {"bytes": "B"}.get(unit, unit)), standing)
    return Figure(value, f"{three_figures(value)} {unit}", standing)


def _decode_only(recording: Recording, batch: int) -> Column:
    """Rows of `iterations` in which `batch` requests decode and no slot does anything else."""
    entries, count = recording.entries, recording.num_iterations
    decodes = np.bincount(entries["iteration"][entries["phase"] == Phase.DECODE], minlength=count)
    held = np.bincount(entries["iteration"], minlength=count)
    return np.flatnonzero((decodes == batch) & (held == batch))


def _bytes(costs: Costs) -> float:
    return costs.bytes_weights + costs.bytes_kv + costs.bytes_activations


def _numbers(node: ast.Call, names: tuple[str, ...]) -> dict[str, int]:
    """The call's keywords, 0 where one is not given."""
    given = dict.fromkeys(names, 0)
    for keyword in node.keywords:
        number = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg not in given or type(number) is not int or not 0 <= number <= _LARGEST_NUMBER:
            raise ValueError(f"{ast.unparse(node)}: expected whole numbers for some of {', '.join(given)}")
        given[keyword.arg] = number
    return given


def _shape(node: ast.expr) -> ModelShape:
    return find_shape(_named(node, load_models(), "model"))


def _ceilings(node: ast.expr, devices: int = 1) -> Ceilings:
    return find_accelerator(_named(node, load_accelerators(), "accelerator")).ceilings("auto", devices)


def _named(node: ast.expr, known: Mapping[str, Any], what: str) -> str:
    wanted = _plain(node.id) if isinstance(node, ast.Name) else ""
    for name in known:
        if _plain(name) == wanted:
            return name
    raise ValueError(f"{ast.unparse(node)} is no {what}: expected one of {', '.join(known)}")


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
