"""Recordings of version 2 as version 3 has them. SCHEMA.md says what each field becomes.

The JSON alone is changed, and nothing is checked: what comes out is read like any other file.
"""

from __future__ import annotations

from typing import Any

_ACQUIRE, _RELEASE = 0, 1

Json = dict[str, Any]


def upgrade(run: Json) -> Json:
    """A run of version 2 as one of version 3; KeyError, TypeError or IndexError where it is no such run."""
    requests, entries = run["requests"], dict(run["entries"])
    written = _written(entries, len(requests))
    token_ids = entries.pop("token_id")
    rows = len(token_ids)
    entries |= {name: [0] * rows for name in ("cached", "proposed", "rejected")}
    entries["generated"] = [int(token_id >= 0) for token_id in token_ids]
    return {
        **run,
        "header": {"closed_loop": None, **run["header"], "engines": None},
        "requests": [_request(request, tokens) for request, tokens in zip(requests, written, strict=True)],
        "iterations": _iterations(run["iterations"]),
        "entries": entries,
        "blocks": _blocks(run["blocks"]),
        "reasons": {**run["reasons"], "engine": [0] * len(run["reasons"]["code"])},
        "transfers": {
            name: [] for name in ("request", "from_engine", "to_engine", "start_ns", "end_ns", "bytes")
        },
    }  # fmt: skip


def _written(entries: Json, num_requests: int) -> list[list[int]]:
    """By request, the tokens that it wrote, in order."""
    written: list[list[int]] = [[] for _ in range(num_requests)]
    for request, token_id in zip(entries["request"], entries["token_id"], strict=True):
        if token_id >= 0:
            written[request].append(token_id)
    return written


def _request(request: Json, written: list[int]) -> Json:
    upgraded = {
        **request,
        "output_token_ids": written,
        "aborted_ns": None,
        "true_output_tokens": None,
        "tenant": None,
        "priority": 0,
    }
    if request["finish_reason"] == "refused":  # as it was called then
        upgraded["finish_reason"] = "rejected"
    return upgraded


def _iterations(table: Json) -> Json:
    """What was not the executor's time was called the scheduler's."""
    rows = len(table["duration_ns"])
    pairs = zip(table["duration_ns"], table["executor_ns"], strict=True)
    return {
        **table,
        "engine": [0] * rows,
        "scheduler_ns": [duration - executor for duration, executor in pairs],
        "sampling_ns": [0] * rows,
        "launch_ns": [0] * rows,
    }


def _blocks(table: Json) -> Json:
    """A row named the new owner; a release names the one that there was."""
    owners: dict[int, int] = {}
    requests, events = [], []
    for block, request in zip(table["block"], table["request"], strict=True):
        freed = request < 0
        requests.append(owners.pop(block, -1) if freed else request)
        events.append(_RELEASE if freed else _ACQUIRE)
        if not freed:
            owners[block] = request
    rows = len(events)
    return {**table, "engine": [0] * rows, "request": requests, "event": events, "hash": [-1] * rows}
