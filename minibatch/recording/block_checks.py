"""Whether KV blocks have only owners that may hold them, and enough for what is computed."""

from __future__ import annotations

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.recording.life_checks import Stays, key_of
from minibatch.recording.schema import BlockEvent, Column, Recording


def check_blocks(run: Recording, stays: Stays) -> None:
    """ValueError names the first thing that no pool of KV blocks allows."""
    _check_events(run)
    if not len(run.requests):
        return
    held = _Held(run)
    _check_owners(run, stays, held)
    _check_room(run, held)


def _check_events(run: Recording) -> None:
    """Whether references are given back that were taken, and content is dropped that was cached."""
    owners: dict[tuple[int, int], set[int]] = {}
    hashes: dict[tuple[int, int], int] = {}
    names = ("engine", "block", "request", "event", "hash")
    for engine, block, request, event, digest in zip(*(run.blocks[name].tolist() for name in names), strict=True):
        place, name = (engine, block), f"KV block {block}"
        own = owners.setdefault(place, set())
        is_reference = event in (BlockEvent.ACQUIRE, BlockEvent.RELEASE)
        if is_reference != (request >= 0) or is_reference != (digest < 0):
            raise ValueError(f"{name} has an event with a request and a hash that do not go with it")
        if event == BlockEvent.ACQUIRE:
            if request in own:
                raise ValueError(f"{name} is taken twice by request {request}")
            own.add(request)
        elif event == BlockEvent.RELEASE:
            if request not in own:
                raise ValueError(f"{name} is freed by request {request} and not held by it")
            own.remove(request)
        elif event == BlockEvent.CACHE:
            if place in hashes or not own:
                raise ValueError(f"{name} is cached twice, or without a request that has filled it")
            hashes[place] = digest
        elif own or hashes.pop(place, None) != digest:
            raise ValueError(f"{name} is evicted and was not cached under that hash, or is in use")


class _Held:
    """How many blocks each request holds in each engine, at any iteration."""

    def __init__(self, run: Recording) -> None:
        blocks = run.blocks
        rows = np.flatnonzero(blocks["request"] >= 0)
        step = np.where(blocks["event"][rows] == BlockEvent.ACQUIRE, 1, -1)
        key = key_of(run, blocks["engine"][rows], blocks["request"][rows], blocks["iteration"][rows])
        order = np.argsort(key, kind="stable")
        self._run, self._key = run, key[order]
        self._sums = np.concatenate([[0], np.cumsum(step[order])])

    def at(self, engine: Column, request: Column, iteration: Column) -> Column:
        """While each iteration runs."""
        last = np.searchsorted(self._key, key_of(self._run, engine, request, iteration), side="right")
        first = np.searchsorted(self._key, key_of(self._run, engine, request, np.zeros_like(iteration)))
        return self._sums[last] - self._sums[first]


def _check_owners(run: Recording, stays: Stays, held: _Held) -> None:
    """Whether blocks are taken while a request runs, or is about to be received, and given back when it leaves."""
    blocks = run.blocks
    rows = np.flatnonzero(blocks["event"] == BlockEvent.ACQUIRE)
    engine, request, iteration = (blocks[name][rows] for name in ("engine", "request", "iteration"))
    place = np.searchsorted(stays.key, key_of(run, engine, request, iteration), side="right") - 1
    is_in = place >= 0
    if len(stays.key):
        safe = np.maximum(place, 0)
        is_in &= (stays.request[safe] == request) & (stays.engine[safe] == engine) & (iteration < stays.stop[safe])
    received = set(zip(run.transfers["to_engine"].tolist(), run.transfers["request"].tolist(), strict=True))
    for row in np.flatnonzero(~is_in).tolist():
        if (int(engine[row]), int(request[row])) not in received:
            raise ValueError(f"request {request[row]} takes a KV block at iteration {iteration[row]} and does not run")
    goes_on = np.zeros(len(stays.key), dtype=bool)
    goes_on[:-1] = np.diff(stays.key) == (stays.stop - stays.first)[:-1]
    ends = np.flatnonzero(~goes_on & (stays.stop <= run.num_iterations))
    left = held.at(stays.engine[ends], stays.request[ends], stays.stop[ends])
    if left.any():
        row = ends[np.flatnonzero(left)[0]]
        raise ValueError(f"request {stays.request[row]} has left at iteration {stays.stop[row]} and holds KV blocks")


def _check_room(run: Recording, held: _Held) -> None:
    """Whether the blocks of a request have room for the tokens whose KV they hold."""
    entries = run.entries
    rows = np.flatnonzero(entries["phase"] != Phase.PADDING)
    engine = run.iterations["engine"][entries["iteration"][rows]]
    sizes = [run.header.of_engine(number).config["block_size"] for number in range(run.header.num_engines)]
    needs = -(-(entries["start"] + entries["tokens"])[rows] // np.array(sizes, dtype=np.int64)[engine])
    short = held.at(engine, entries["request"][rows], entries["iteration"][rows]) < needs
    if short.any():
        row = rows[np.flatnonzero(short)[0]]
        raise ValueError(
            f"request {entries['request'][row]} has fewer KV blocks than its tokens need, "
            f"in iteration {entries['iteration'][row]}"
        )
