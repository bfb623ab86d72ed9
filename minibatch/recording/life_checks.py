"""Whether each request's way through a run, from arrival to end, is one that a scheduler could have given it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import NUMBERS, PREEMPTIONS, REJECTIONS, WAITS, Code
from minibatch.recording.schema import CODES, Column, Recording

_ENDED_BY = {
    Code.FINISHED_LENGTH: "length",
    Code.FINISHED_STOP: "stop",
    Code.ABORTED: "abort",
    **dict.fromkeys(REJECTIONS, "rejected"),
}
"""The finish reason that a code gives."""

_NEXT: dict[str, dict[Code, str]] = {
    "new": {Code.QUEUED: "waiting", **dict.fromkeys(REJECTIONS, "gone")},
    "waiting": {Code.ADMITTED: "running", Code.ABORTED: "gone", **dict.fromkeys(WAITS, "waiting")},
    "swapped": {Code.RESUMED: "running", Code.ABORTED: "gone", **dict.fromkeys(WAITS, "swapped")},
    "running": {
        Code.CHUNK: "running", **dict.fromkeys(PREEMPTIONS, "waiting"), Code.PREEMPTED_SWAP: "swapped",
        Code.FINISHED_LENGTH: "gone", Code.FINISHED_STOP: "gone", Code.ABORTED: "gone", Code.TRANSFERRED: "gone",
    },
    "gone": {},
}  # fmt: skip
"""What may happen to a request in one engine, and what it is then."""


@dataclass(frozen=True, slots=True)
class Stays:
    """When requests held a slot and KV: for the iterations `first` to below `stop` of an engine. Sorted by `key`.

    Attributes:
        key: engine, request and `first` in one number, as `key_of` makes it.
        is_fresh: it began without KV of its own, so at what was cached of it.
        is_last: it ended because the request left the engine.
    """

    engine: Column
    request: Column
    first: Column
    stop: Column
    is_fresh: Column
    is_last: Column
    key: Column


def key_of(run: Recording, engine: Column, request: Column, iteration: Column) -> Column:
    """Numbers that sort by engine, request and then iteration."""
    return (engine * len(run.requests) + request) * (run.num_iterations + 2) + iteration


def check_lives(run: Recording) -> Stays:
    """When each request ran; ValueError names the first thing that no scheduler does."""
    stays = _stays(run)
    _check_transfers(run)
    _check_entries(run, stays)
    return stays


class _Reader:
    """Follows the reasons of every request in every engine."""

    def __init__(self, run: Recording) -> None:
        self._run = run
        self._doing: dict[tuple[int, int], str] = defaultdict(lambda: "new")
        self._open: dict[tuple[int, int], tuple[int, bool]] = {}
        self.ended: dict[int, tuple[Code, tuple[int, ...]]] = {}
        self.seen: list[int] = []
        self.rows: list[tuple[int, int, int, int, bool, bool]] = []
        self._received = {
            (engine, request): end_ns
            for engine, request, end_ns in zip(
                *(run.transfers[name].tolist() for name in ("to_engine", "request", "end_ns")), strict=True
            )
        }

    def read(self, iteration: int, engine: int, code: Code, request: int, numbers: tuple[int, ...]) -> None:
        place, name = (engine, request), f"request {request}"
        doing = self._doing[place]
        if code not in _NEXT[doing]:
            raise ValueError(f"{name} is {code.value!r} at iteration {iteration}, where it is {doing}")
        if doing == "new":
            self._arrive(iteration, engine, request)
        now = self._doing[place] = _NEXT[doing][code]
        if now == "running" and doing != "running":
            has_kv = code is Code.RESUMED or place in self._received
            self._open[place] = (iteration, not has_kv)
            if code is Code.ADMITTED:
                self._received.pop(place, None)
        elif doing == "running" and now != "running":
            self.close(place, iteration, code not in PREEMPTIONS)
        if code in _ENDED_BY:
            if request in self.ended:
                raise ValueError(f"{name} ends twice")
            self.ended[request] = (code, numbers)

    def close(self, place: tuple[int, int], iteration: int, is_last: bool) -> None:
        first, is_fresh = self._open.pop(place)
        self.rows.append((*place, first, iteration, is_fresh, is_last))

    def close_all(self) -> None:
        for place in list(self._open):
            self.close(place, self._run.num_iterations + 1, False)

    def _arrive(self, iteration: int, engine: int, request: int) -> None:
        run, received_ns = self._run, self._received.get((engine, request))
        came_ns = run.requests[request].arrival_ns if received_ns is None else received_ns
        if iteration < run.num_iterations and came_ns > run.iterations["start_ns"][iteration]:
            raise ValueError(f"request {request} is queued at iteration {iteration}, before it has arrived")
        if received_ns is None:
            self.seen.append(request)


def _stays(run: Recording) -> Stays:
    reader = _Reader(run)
    columns = (run.reasons[name].tolist() for name in ("iteration", "engine", "code", "request"))
    for iteration, engine, code, request, numbers in zip(*columns, run.reason_numbers, strict=True):
        if request >= 0:
            reader.read(iteration, engine, CODES[code], request, numbers)
    reader.close_all()
    _check_arrivals(run, reader.seen)
    _check_ends(run, reader.ended)
    rows = np.array(reader.rows, dtype=np.int64).reshape(-1, 6)
    engine, request, first, stop, is_fresh, is_last = rows.T
    key = key_of(run, engine, request, first)
    order = np.argsort(key)
    columns_of = (column[order] for column in (engine, request, first, stop, is_fresh == 1, is_last == 1, key))
    return Stays(*columns_of)


def _check_arrivals(run: Recording, seen: list[int]) -> None:
    """Whether requests are numbered as they arrived, and each was queued or rejected once."""
    arrivals = [request.arrival_ns for request in run.requests]
    if arrivals != sorted(arrivals):
        raise ValueError("requests are not numbered in the order of their arrival")
    if len(set(seen)) != len(seen):
        raise ValueError("a request is queued by two engines, and no transfer says so")
    if run.header.engines is None and seen != list(range(len(seen))):
        raise ValueError("requests are not queued in the order of their arrival")
    last_ns = int(run.iterations["start_ns"].max(initial=-1))
    alone = run.header.engines is None
    for request in sorted(set(range(len(run.requests))) - set(seen)):
        if run.header.complete or (alone and arrivals[request] <= last_ns):
            raise ValueError(f"request {request} arrived and has no reason that says so")


def _check_ends(run: Recording, ended: dict[int, tuple[Code, tuple[int, ...]]]) -> None:
    """Whether finish reasons, their codes and what was written agree."""
    generated, request_of = run.entries["generated"], run.entries["request"]
    counts = np.bincount(request_of, generated, len(run.requests)).astype(np.int64).tolist()
    longest = max(
        (int(limit) for limit in map(_max_model_len, range(run.header.num_engines), [run] * run.header.num_engines)),
        default=0,
    )
    for request_id, (request, written) in enumerate(zip(run.requests, counts, strict=True)):
        name = f"request {request_id}"
        code, numbers = ended.get(request_id, (None, ()))
        if request.finish_reason != (None if code is None else _ENDED_BY[code]):
            raise ValueError(f"{name} finished with {request.finish_reason!r} and its reasons say otherwise")
        if run.header.complete and request.finish_reason is None:
            raise ValueError(f"{name} has not finished, and the run is complete")
        if len(request.output_token_ids) != written or len(request.pieces) not in (0, written):
            raise ValueError(
                f"{name} wrote {written} tokens and has {len(request.output_token_ids)} tokens and "
                f"{len(request.pieces)} pieces of text"
            )
        if written > (0 if request.finish_reason == "rejected" else request.max_tokens):
            raise ValueError(f"{name} wrote {written} tokens, more than it may")
        if code is not None and "tokens" in NUMBERS[code] and numbers[NUMBERS[code].index("tokens")] != written:
            raise ValueError(f"{name} wrote {written} tokens and its reason says otherwise")
        whole = written == request.max_tokens or request.num_prompt_tokens + written >= longest > 0
        if (request.finish_reason == "length" and not whole) or (request.finish_reason == "stop" and not written):
            raise ValueError(f"{name} finished with {request.finish_reason!r} after {written} tokens")


def _max_model_len(engine: int, run: Recording) -> int:
    """The most tokens of a request in an engine; 0 where its knobs don't say."""
    value = run.header.of_engine(engine).config.get("max_model_len")
    return value if type(value) is int else 0


def _check_transfers(run: Recording) -> None:
    """Whether each transfer leads from an engine that gave a request up to one that took it."""
    codes = zip(*(run.reasons[name].tolist() for name in ("code", "request", "engine")), strict=True)
    left = {(request, engine) for code, request, engine in codes if CODES[code] is Code.TRANSFERRED}
    visited: set[tuple[int, int]] = set()
    names = ("request", "from_engine", "to_engine", "start_ns", "end_ns")
    for request, from_engine, to_engine, start_ns, end_ns in zip(
        *(run.transfers[name].tolist() for name in names), strict=True
    ):
        if from_engine == to_engine or (request, from_engine) not in left:
            raise ValueError(f"request {request} is transferred from engine {from_engine}, which did not give it up")
        if start_ns > end_ns:
            raise ValueError(f"the transfer of request {request} ends before it starts")
        left.remove((request, from_engine))
        visited.add((request, from_engine))
        if (request, to_engine) in visited:
            raise ValueError(f"request {request} comes back to engine {to_engine}")
    if left:
        raise ValueError(f"request {min(left)[0]} left an engine, and no transfer says where to")


def _check_entries(run: Recording, stays: Stays) -> None:
    """Whether every slot does what its request's stay and its tokens so far allow."""
    entries = run.entries
    if not len(entries["iteration"]):
        if len(stays.key):
            raise ValueError("requests were admitted and nothing ran")
        return
    engine = run.iterations["engine"][entries["iteration"]]
    is_work = entries["phase"] != Phase.PADDING
    _check_padding(run, stays, engine, ~is_work)
    key = key_of(run, engine, entries["request"], entries["iteration"])
    place = np.searchsorted(stays.key, key, side="right") - 1
    safe = np.maximum(place, 0)
    is_in = is_work & (place >= 0)
    if len(stays.key):
        is_in &= (stays.request[safe] == entries["request"]) & (stays.engine[safe] == engine)
        is_in &= entries["iteration"] < stays.stop[safe]
    else:
        is_in &= False
    _refuse(run, is_work & ~is_in, "runs without being admitted")
    order = np.lexsort((entries["iteration"], entries["request"]))
    order = order[is_work[order]]
    _check_presence(run, stays, place[order])
    _check_progress(run, stays, order, place[order])


def _check_padding(run: Recording, stays: Stays, engine: Column, rows: Column) -> None:
    """Whether slots are held only for requests that have left the engine, and give them nothing."""
    last = np.flatnonzero(stays.is_last)
    base = key_of(run, stays.engine[last], stays.request[last], np.zeros_like(last))
    entries = run.entries
    own = key_of(run, engine, entries["request"], np.zeros_like(engine))
    place = np.minimum(np.searchsorted(base, own), max(0, len(last) - 1))
    if len(last):
        has_left = (base[place] == own) & (stays.stop[last][place] <= entries["iteration"])
    else:
        has_left = np.zeros(len(own), dtype=bool)
    _refuse(run, rows & ~has_left, "holds a slot after its end, which has not come")
    for name in ("tokens", "cached", "generated", "proposed", "rejected"):
        _refuse(run, rows & (entries[name] > 0), f"has finished and its {name} are not 0")


def _check_presence(run: Recording, stays: Stays, place: Column) -> None:
    """Whether an admitted request has just one entry in each iteration of its stay."""
    counts = np.bincount(place, minlength=len(stays.key))
    for number in range(run.header.num_engines):
        rows = np.flatnonzero(run.iterations["engine"] == number)
        expected = np.searchsorted(rows, stays.stop) - np.searchsorted(rows, stays.first)
        wrong = np.flatnonzero((stays.engine == number) & (counts != expected))
        if len(wrong):
            raise ValueError(
                f"request {stays.request[wrong[0]]} is admitted at iteration {stays.first[wrong[0]]} and has "
                f"{counts[wrong[0]]} entries, not one in each of {expected[wrong[0]]} iterations"
            )


def _check_progress(run: Recording, stays: Stays, order: Column, place: Column) -> None:
    """Whether each entry begins where the one before ended, and writes what it may.

    Args:
        order: rows of entries but padding, by request and then by time.
        place: the stay of each.
    """
    columns = {name: values[order] for name, values in run.entries.items()}
    request, start, tokens = columns["request"], columns["start"], columns["tokens"]
    cached, generated, proposed = columns["cached"], columns["generated"], columns["proposed"]
    rejected, phase, iteration = columns["rejected"], columns["phase"], columns["iteration"]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = request[1:] != request[:-1]
    begins = is_first.copy()
    begins[1:] |= place[1:] != place[:-1]
    starts_ns, ends_ns = run.iterations["start_ns"][iteration], run.end_of_iteration_ns[iteration]
    overlaps = np.zeros(len(order), dtype=bool)
    overlaps[1:] = ~is_first[1:] & (starts_ns[1:] < ends_ns[:-1])
    _refuse_in(columns, overlaps, "runs in two engines at a time")

    arrived = np.zeros(len(order), dtype=np.int64)
    arrived[1:] = np.where(is_first[1:], 0, (start + tokens - rejected)[:-1])
    fresh = begins & stays.is_fresh[place]
    _refuse_in(columns, start != np.where(fresh, cached, arrived), "goes on at a position that it had not come to")
    _refuse_in(columns, (cached > 0) & ~fresh, "finds tokens in a cache while it runs")

    total = np.cumsum(generated)
    before = total - generated
    written = before - np.maximum.accumulate(np.where(is_first, before, 0))
    prompts = np.array([record.num_prompt_tokens for record in run.requests], dtype=np.int64)
    known, stop = prompts[request] + written, start + tokens
    prefill, decode, stalled = (phase == each for each in (Phase.PREFILL, Phase.DECODE, Phase.STALLED))
    _refuse_in(columns, ~stalled & (tokens < 1), "computes nothing and is not stalled")
    none = tokens + columns["padding"] + generated + proposed + rejected
    _refuse_in(columns, stalled & (none > 0), "is stalled and computes or writes")
    wrong = (stop > known) | (generated != (stop == known)) | (proposed > 0) | (rejected > 0)
    _refuse_in(columns, prefill & wrong, "prefills more than there is, or does not write at the end of it")
    wrong = (start != known - 1) | (written < 1) | (tokens != 1 + proposed) | (rejected > proposed)
    _refuse_in(columns, decode & (wrong | (columns["padding"] > 0)), "decodes other tokens than the next")
    is_end = np.ones(len(order), dtype=bool)
    is_end[:-1] = is_first[1:]
    kept = tokens - rejected
    wrong = (generated < 1) | (generated > kept) | ((generated < kept) & ~is_end)
    _refuse_in(columns, decode & wrong, "writes other tokens than it keeps")


def _refuse(run: Recording, rows: Column, what: str) -> None:
    _refuse_in(run.entries, rows, what)


def _refuse_in(columns: dict[str, Column] | object, rows: Column, what: str) -> None:
    """ValueError for the first of `rows`, a mask."""
    if rows.any():
        row = int(np.flatnonzero(rows)[0])
        request, iteration = (int(columns[name][row]) for name in ("request", "iteration"))  # type: ignore[index]
        raise ValueError(f"request {request} {what}, in iteration {iteration}")
