"""Whether a recording that came from outside is consistent, so that no view need doubt it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import NUMBERS, Code
from minibatch.recording.block_checks import check_blocks
from minibatch.recording.life_checks import check_lives
from minibatch.recording.schema import (
    CODES,
    ENGINE_FIELDS,
    ITERATION_COLUMNS,
    BlockEvent,
    Header,
    Recording,
    RequestRecord,
)
from minibatch.workload.arrival_source import NOT_YET_NS

LIMIT = 1 << 53
"""Numbers stay below this, so that JavaScript reads them exactly and sums of products fit 64 bits as floats."""

_LARGEST = {"max_num_seqs": 1 << 16, "block_size": 1 << 16, "num_kv_blocks": 1 << 32}
_TEXT_FIELDS = ("policy", "clock", "device", "model", "dtype", "scenario")
_CLOCKS = ("measured", "modelled")
_FIXED = ("block_size", "kv_layout")
_FORK_FIELDS = {"iteration", "knob", "before", "after", "clock", "earlier"}
_FINISHES = (None, "length", "stop", "rejected", "abort")
_PARTS = ("executor_ns", "scheduler_ns", "sampling_ns", "launch_ns")
_MOST_TOKENS = 1 << 32
_LARGEST_NUMBER = 1 << 64
"""Of what is only shown: seeds and further knobs."""
_COUNTED = ("flops", "bytes_weights")
_MOST_ENGINES = 256


def check(run: Recording) -> None:
    """ValueError names the first thing in `run` that contradicts SCHEMA.md."""
    _check_engines(run.header)
    _check_forks(run.header, run.num_iterations)
    for request_id, request in enumerate(run.requests):
        _check_request(request_id, request)
    _check_ranges(run)
    _check_order(run)
    _check_iterations(run)
    _check_reasons(run)
    stays = check_lives(run)
    check_blocks(run, stays)


def _check_engines(header: Header) -> None:
    """Whether the header is right, for each of several engines."""
    if header.engines is None:
        return _check_header(header)
    names = [engine.name for engine in header.engines]
    _require(1 <= len(names) <= _MOST_ENGINES, f"header.engines has {len(names)} engines, not 1 to {_MOST_ENGINES}")
    _require(header.fork is None, "a run of several engines has no fork")
    for number, engine in enumerate(header.engines):
        _require(_is_text(engine.name) and _is_text(engine.role), f"name or role of engine {number} is not text")
        known = isinstance(engine.own, Mapping) and set(engine.own) <= set(ENGINE_FIELDS)
        _require(known, f"engine {number} has other fields of its own than {', '.join(ENGINE_FIELDS)}")
        _check_header(header.of_engine(number))
    _require(len(set(names)) == len(names), "two engines have one name")
    _require(not header.engines[0].own, "the header's own fields are those of the first engine, which has none besides")
    return None


def _check_header(header: Header) -> None:
    for name in _TEXT_FIELDS:
        _require(_is_text(getattr(header, name)), f"header.{name} is not text")
    _require(header.clock in _CLOCKS, f"its clock is {header.clock!r}, neither measured nor modelled")
    _require(isinstance(header.complete, bool), "header.complete is neither true nor false")
    _require(type(header.seed) is int, "header.seed is not a whole number")
    _require(abs(header.seed) < _LARGEST_NUMBER, f"header.seed is not below {_LARGEST_NUMBER:,}")
    _require(_whole(header.token_budget, 1), "header.token_budget is not a positive whole number")
    _require(isinstance(header.config, Mapping), "header.config is not an object")
    for name, largest in _LARGEST.items():
        value = header.config.get(name)
        _require(
            _whole(value, 1, largest), f"header.config.{name} is {value!r}, not a whole number from 1 to {largest:,}"
        )
    for name in ("shape", "versions"):
        _require(isinstance(getattr(header, name), Mapping | None), f"header.{name} is not an object")
    for name in ("config", "shape", "ceilings", "versions"):
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
        fixed = knob in _FIXED and before != after
        _require(not fixed, f"{knob} decides how all of the KV pool is laid out, and header.fork changes it")
        _require(type(before) is type(after), f"header.fork changes {knob} from {before!r} to {after!r}")
        if knob in _LARGEST:
            _require(_whole(before, 1, _LARGEST[knob]), f"header.fork.before is {before!r}, no {knob}")
        knobs[knob], last, fork = before, fork["iteration"], fork["earlier"]


def _check_request(request_id: int, request: RequestRecord) -> None:
    name = f"request {request_id}"
    arrival_ns, aborted_ns, true_tokens = request.arrival_ns, request.aborted_ns, request.true_output_tokens
    _require(
        _whole(arrival_ns, 0, NOT_YET_NS), f"{name} arrives at {_short(arrival_ns)}, not at 0 to {NOT_YET_NS:,} ns"
    )
    _require(_whole(request.max_tokens, 1, _MOST_TOKENS), f"max_tokens of {name} is not 1 to {_MOST_TOKENS:,}")
    _require(bool(request.prompt_token_ids), f"{name} has no prompt")
    for tokens in (request.prompt_token_ids, request.output_token_ids):
        _require(
            all(_whole(token, 0, _MOST_TOKENS) for token in tokens), f"the prompt or output of {name} is not tokens"
        )
    _require(request.prompt is None or _is_text(request.prompt), f"the prompt of {name} is not text")
    _require(all(_is_text(piece) for piece in request.pieces), f"the text of {name} is not text")
    _require(request.finish_reason in _FINISHES, f"{name} finished with {_short(request.finish_reason)}")
    _require(
        (aborted_ns is not None) == (request.finish_reason == "abort"), f"{name} is aborted at no time, or not aborted"
    )
    _require(aborted_ns is None or _whole(aborted_ns, arrival_ns), f"{name} is aborted at {_short(aborted_ns)}")
    known = true_tokens is None or _whole(true_tokens, 1, _MOST_TOKENS)
    _require(known, f"true_output_tokens of {name} is {_short(true_tokens)}")
    _require(request.tenant is None or _is_text(request.tenant), f"the tenant of {name} is not text")
    _require(_whole(request.priority, -LIMIT), f"the priority of {name} is {_short(request.priority)}")
    _require(isinstance(request.sampling, Mapping), f"the sampling of {name} is not an object")
    _require(_is_json(request.sampling), f"the sampling of {name} holds what no JSON can")


def _check_ranges(run: Recording) -> None:
    """Whether every number points at something that is there."""
    n, last_request, last_engine = run.num_iterations, len(run.requests) - 1, run.header.num_engines - 1
    headers = [run.header.of_engine(engine) for engine in range(last_engine + 1)]
    limits = [
        ("iterations", "engine", 0, last_engine),
        ("entries", "iteration", 0, n - 1),
        ("entries", "slot", 0, max(header.largest("max_num_seqs") for header in headers) - 1),
        ("entries", "request", 0, last_request),
        ("entries", "phase", 0, max(Phase)),
        *(("entries", name, 0, _MOST_TOKENS) for name in ("start", "tokens", "padding")),
        *(("entries", name, 0, _MOST_TOKENS) for name in ("cached", "generated", "proposed", "rejected")),
        ("blocks", "iteration", 0, n),
        ("blocks", "engine", 0, last_engine),
        ("blocks", "block", 0, max(header.largest("num_kv_blocks") for header in headers) - 1),
        ("blocks", "request", -1, last_request),
        ("blocks", "event", 0, max(BlockEvent)),
        ("blocks", "hash", -1, LIMIT),
        ("reasons", "iteration", 0, n),
        ("reasons", "engine", 0, last_engine),
        ("reasons", "code", 0, len(CODES) - 1),
        ("reasons", "request", -1, last_request),
        ("transfers", "request", 0, last_request),
        *(("transfers", column, 0, last_engine) for column in ("from_engine", "to_engine")),
        *(("transfers", column, 0, LIMIT) for column in ("start_ns", "end_ns", "bytes")),
        *(("iterations", column, 0, LIMIT) for column in ITERATION_COLUMNS[1:]),
    ]
    for table, column, low, high in limits:
        values = getattr(run, table)[column]
        if len(values) and (values.min() < low or values.max() > high):
            worst = int(values.min() if values.min() < low else values.max())
            raise ValueError(f"{table}.{column} holds {worst}, outside {low} to {high}")
    for engine, header in enumerate(headers):
        for table, name, knob in (("entries", "slot", "max_num_seqs"), ("blocks", "block", "num_kv_blocks")):
            columns = getattr(run, table)
            engines = columns["engine"] if "engine" in columns else run.iterations["engine"][columns["iteration"]]
            most = int(columns[name][engines == engine].max(initial=-1))
            _require(most < header.largest(knob), f"{name} {most} is beyond the {knob} of engine {engine}")


def _check_order(run: Recording) -> None:
    """Whether time goes forward and no slot does two things at once."""
    start, end, engine = run.iterations["start_ns"], run.end_of_iteration_ns, run.iterations["engine"]
    _require(bool((end < LIMIT).all()), "an iteration ends later than any clock says")
    for number in range(run.header.num_engines):
        own = engine == number
        in_turn = bool((start[own][1:] >= end[own][:-1]).all())
        _require(in_turn, "an iteration starts before the one before it has ended")
    ordered = (np.diff(start) > 0) | ((np.diff(start) == 0) & (np.diff(engine) > 0))
    _require(bool(ordered.all()), "the iterations are not in order of their starts")
    for table in ("entries", "blocks", "reasons"):
        rows = getattr(run, table)
        _require(bool((np.diff(rows["iteration"]) >= 0).all()), f"the rows of {table} are out of order")
        if "engine" in rows:
            runs = rows["iteration"] < run.num_iterations
            same = engine[rows["iteration"][runs]] == rows["engine"][runs]
            _require(bool(same.all()), f"a row of {table} is of another engine than its iteration")
    places = run.entries["iteration"] * (1 + int(run.entries["slot"].max(initial=0))) + run.entries["slot"]
    _require(len(np.unique(places)) == len(places), "a slot does two things in one iteration")


def _check_iterations(run: Recording) -> None:
    """Whether each iteration did something, in time that adds up."""
    iterations, entries, n = run.iterations, run.entries, run.num_iterations
    _require(bool((sum(iterations[name] for name in _PARTS) <= iterations["duration_ns"]).all()),
             "the executor and the rest take longer than its iteration")  # fmt: skip
    _require(bool((iterations["executor_ns"] > 0).all()), "an iteration takes no time")
    computed = np.bincount(entries["iteration"], entries["tokens"] + entries["padding"], n)
    _require(bool((computed > 0).all()), "an iteration computes nothing")
    for name in _COUNTED:
        _require(bool((iterations[name] > 0).all()), f"an iteration computes something and its {name} are 0")
    for name, values in iterations.items():
        _require(float(values.sum(dtype=np.float64)) < 2.0**62, f"iterations.{name} sum to more than any run's do")
    for engine in range(run.header.num_engines if run.header.fork is None else 0):
        most = computed[iterations["engine"] == engine].max(initial=0)
        budget = run.header.of_engine(engine).token_budget
        _require(bool(most <= budget), f"an iteration computes {most:.0f} tokens, more than the budget, {budget}")


def _check_reasons(run: Recording) -> None:
    _require(len(run.reason_numbers) == len(run.reasons["code"]), "reason_numbers and reasons differ in length")
    rows = zip(run.reasons["code"].tolist(), run.reasons["request"].tolist(), run.reason_numbers, strict=True)
    for number, request, numbers in rows:
        code = CODES[number]
        right = len(numbers) == len(NUMBERS[code]) and all(_whole(value, -LIMIT) for value in numbers)
        _require(right, f"a reason {code.value!r} has the numbers {_short(numbers)}")
        _require((request < 0) == (code is Code.STALLED_BY_PREFILL), f"a reason {code.value!r} is about {request}")


def _short(value: Any) -> str:
    """A wrong value, cut where it is long: a file may hold numbers that nothing prints."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of too many digits"
    return text if len(text) <= 60 else f"{text[:60]}..."


def _is_text(value: Any) -> bool:
    """A string that can be written as UTF-8."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_json(value: Any) -> bool:
    """Whether it can be written as JSON in UTF-8, and its whole numbers are not endless."""
    if type(value) is int:
        return abs(value) < _LARGEST_NUMBER
    if isinstance(value, Mapping):
        return all(_is_text(name) and _is_json(each) for name, each in value.items())
    if isinstance(value, list | tuple):
        return all(_is_json(each) for each in value)
    return (
        value is None or isinstance(value, bool) or _is_text(value) or (type(value) is float and math.isfinite(value))
    )


def _whole(value: Any, low: int, high: int = LIMIT) -> bool:
    return type(value) is int and low <= value <= high


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
