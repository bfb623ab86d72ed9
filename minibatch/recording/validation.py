"""Whether a recording that came from outside is consistent, so that no view need doubt it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import NUMBERS, REJECTIONS
from minibatch.recording.schema import CODES, ITERATION_COLUMNS, Header, Recording, RequestRecord

LIMIT = 1 << 53
"""Numbers stay below this, so that JavaScript reads them exactly and sums of products fit 64 bits as floats."""

_LARGEST = {"max_num_seqs": 1 << 16, "block_size": 1 << 16, "num_kv_blocks": 1 << 32}
_TEXT_FIELDS = ("policy", "clock", "device", "model", "dtype", "scenario")
_CLOCKS = ("measured", "modelled")
_FORK_FIELDS = {"iteration", "knob", "before", "after", "clock", "earlier"}
_FINISHES = (None, "length", "stop", "rejected")


def check(run: Recording) -> None:
    """ValueError names the first thing in `run` that contradicts SCHEMA.md."""
    _check_header(run.header)
    _check_forks(run.header, run.num_iterations)
    for request_id, request in enumerate(run.requests):
        _check_request(request_id, request)
    _check_ranges(run)
    _check_order(run)
    _check_reasons(run)
    _check_blocks(run)
    _check_tokens(run)


def _check_header(header: Header) -> None:
    for name in _TEXT_FIELDS:
        _require(_is_text(getattr(header, name)), f"header.{name} is not text")
    _require(header.clock in _CLOCKS, f"its clock is {header.clock!r}, neither measured nor modelled")
    _require(isinstance(header.complete, bool), "header.complete is neither true nor false")
    _require(type(header.seed) is int, "header.seed is not a whole number")
    _require(_whole(header.token_budget, 1), "header.token_budget is not a positive whole number")
    _require(isinstance(header.config, Mapping), "header.config is not an object")
    for name, largest in _LARGEST.items():
        value = header.config.get(name)
        _require(
            _whole(value, 1, largest), f"header.config.{name} is {value!r}, not a whole number from 1 to {largest:,}"
        )
    for name in ("shape", "versions"):
        _require(isinstance(getattr(header, name), Mapping | None), f"header.{name} is not an object")
    for name in ("config", "shape", "ceilings", "versions", "fork"):
        _require(_is_json(getattr(header, name)), f"header.{name} holds what no JSON can")
    if header.ceilings is not None:
        _require(isinstance(header.ceilings, Mapping), "header.ceilings is not an object")
        for name in ("flops_per_s", "bytes_per_s"):
            value = header.ceilings.get(name)
            real = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
            _require(real, f"header.ceilings.{name} is {value!r}, not a positive number")
        _require(_is_text(header.ceilings.get("source")), "header.ceilings.source is not text")
    if header.closed_loop is not None:
        loop = header.closed_loop
        named = isinstance(loop, Mapping) and set(loop) == {"num_users", "think_s"}
        _require(named, "header.closed_loop has other fields than it should")
        users, think_s = loop["num_users"], loop["think_s"]
        _require(_whole(users, 1, 100_000), f"header.closed_loop.num_users is {users!r}, not 1 to 100,000")
        real = isinstance(think_s, int | float) and not isinstance(think_s, bool) and 0 <= think_s <= 1_000_000
        _require(real, f"header.closed_loop.think_s is {think_s!r}, not 0 to 1,000,000 seconds")


def _check_forks(header: Header, num_iterations: int) -> None:
    """Whether undoing the forks one by one, the latest first, leads back to an original run."""
    knobs, last, fork = {**header.config, "policy": header.policy}, num_iterations, header.fork
    _require(fork is None or header.clock == "modelled", "a fork goes on with the modelled clock")
    while fork is not None:
        _require(isinstance(fork, Mapping) and set(fork) == _FORK_FIELDS, "header.fork has other fields than it should")
        knob, before, after = fork["knob"], fork["before"], fork["after"]
        _require(_whole(fork["iteration"], 0, last), f"header.fork.iteration is {fork['iteration']!r}, not 0 to {last}")
        _require(_is_text(knob) and knob in knobs, f"header.fork.knob is {knob!r}, which is no knob")
        _require(fork["clock"] in _CLOCKS, f"header.fork.clock is {fork['clock']!r}, neither measured nor modelled")
        same = type(after) is type(knobs[knob]) and after == knobs[knob]
        _require(same, f"{knob} is {knobs[knob]!r} and header.fork says {after!r}")
        _require(type(before) is type(after), f"header.fork changes {knob} from {before!r} to {after!r}")
        if knob in _LARGEST:
            _require(_whole(before, 1, _LARGEST[knob]), f"header.fork.before is {before!r}, no {knob}")
        knobs[knob], last, fork = before, fork["iteration"], fork["earlier"]


def _check_request(request_id: int, request: RequestRecord) -> None:
    name = f"request {request_id}"
    _require(_whole(request.arrival_ns, 0), f"{name} arrives at {request.arrival_ns!r}, not at a whole number of ns")
    _require(_whole(request.max_tokens, 1), f"max_tokens of {name} is not a positive whole number")
    _require(bool(request.prompt_token_ids), f"{name} has no prompt")
    _require(all(_whole(token, 0) for token in request.prompt_token_ids), f"the prompt of {name} is not tokens")
    _require(request.prompt is None or _is_text(request.prompt), f"the prompt of {name} is not text")
    _require(all(_is_text(piece) for piece in request.pieces), f"the text of {name} is not text")
    _require(request.finish_reason in _FINISHES, f"{name} finished with {request.finish_reason!r}")
    _require(isinstance(request.sampling, Mapping), f"the sampling of {name} is not an object")
    _require(_is_json(request.sampling), f"the sampling of {name} holds what no JSON can")


def _check_ranges(run: Recording) -> None:
    """Whether every number points at something that is there."""
    n, last_request = run.num_iterations, len(run.requests) - 1
    limits = [
        ("entries", "iteration", 0, n - 1),
        ("entries", "slot", 0, run.num_slots - 1),
        ("entries", "request", 0, last_request),
        ("entries", "phase", 0, max(Phase)),
        ("entries", "start", 0, 1 << 32),
        ("entries", "tokens", 0, 1 << 32),
        ("entries", "padding", 0, 1 << 32),
        ("entries", "token_id", -1, 1 << 32),
        ("blocks", "iteration", 0, n),
        ("blocks", "block", 0, run.num_kv_blocks - 1),
        ("blocks", "request", -1, last_request),
        ("reasons", "iteration", 0, n),
        ("reasons", "code", 0, len(CODES) - 1),
        ("reasons", "request", -1, last_request),
        *(("iterations", column, 0, LIMIT) for column in ITERATION_COLUMNS),
    ]
    for table, column, low, high in limits:
        values = getattr(run, table)[column]
        if len(values) and (values.min() < low or values.max() > high):
            worst = int(values.min() if values.min() < low else values.max())
            raise ValueError(f"{table}.{column} holds {worst}, outside {low} to {high}")


def _check_order(run: Recording) -> None:
    """Whether time goes forward and no slot does two things at once."""
    start, duration = run.iterations["start_ns"], run.iterations["duration_ns"]
    _require(bool((np.diff(start) >= duration[:-1]).all()), "an iteration starts before the one before it has ended")
    _require(bool((run.iterations["executor_ns"] <= duration).all()), "an executor takes longer than its iteration")
    for table in ("entries", "blocks", "reasons"):
        ordered = bool((np.diff(getattr(run, table)["iteration"]) >= 0).all())
        _require(ordered, f"the rows of {table} are out of order")
    places = run.entries["iteration"] * run.num_slots + run.entries["slot"]
    _require(len(np.unique(places)) == len(places), "a slot does two things in one iteration")


def _check_reasons(run: Recording) -> None:
    _require(len(run.reason_numbers) == len(run.reasons["code"]), "reason_numbers and reasons differ in length")
    for code, numbers in zip(run.reasons["code"].tolist(), run.reason_numbers, strict=True):
        right = len(numbers) == len(NUMBERS[CODES[code]]) and all(type(number) is int for number in numbers)
        _require(right, f"a reason {CODES[code].value!r} has the numbers {numbers}")


def _check_blocks(run: Recording) -> None:
    """Whether no block ever has two owners."""
    owned: set[int] = set()
    for block, request in zip(run.blocks["block"].tolist(), run.blocks["request"].tolist(), strict=True):
        taken = request >= 0
        _require((block in owned) != taken, f"KV block {block} is {'taken twice' if taken else 'freed and not held'}")
        (owned.add if taken else owned.remove)(block)


def _check_tokens(run: Recording) -> None:
    """Whether texts have a piece a token, and rejected requests never ran."""
    written = np.bincount(run.entries["request"][run.entries["token_id"] >= 0], minlength=len(run.requests))
    rows = zip(run.reasons["code"].tolist(), run.reasons["request"].tolist(), strict=True)
    rejected = {request_id for code, request_id in rows if CODES[code] in REJECTIONS}
    for request_id, (request, count) in enumerate(zip(run.requests, written.tolist(), strict=True)):
        if request.pieces and len(request.pieces) != count:
            raise ValueError(f"request {request_id} wrote {count} tokens and has {len(request.pieces)} pieces of text")
        if count > request.max_tokens or (request_id in rejected and count):
            raise ValueError(f"request {request_id} wrote {count} tokens, more than it may")
        if request.finish_reason in ("length", "stop") and not count:
            raise ValueError(f"request {request_id} finished and wrote nothing")


def _is_text(value: Any) -> bool:
    """A string that can be written as UTF-8."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_json(value: Any) -> bool:
    """Whether it can be written as JSON in UTF-8: Python reads infinite numbers and half characters too."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError):
        return False
    return True


def _whole(value: Any, low: int, high: int = LIMIT) -> bool:
    return type(value) is int and low <= value <= high


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
