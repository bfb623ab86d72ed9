"""The numbers of a run, under the names of vLLM's serving benchmark. METRICS.md defines each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from minibatch.analysis.ledger import slot_ledger
from minibatch.analysis.timeline import Timeline
from minibatch.decisions.phase import Phase
from minibatch.recording.schema import Column, Recording
from minibatch.workload.request import NANOSECONDS

Metrics = Mapping[str, float | int | None]
"""Values by name; None where a run has none (no request generated two tokens, say)."""

_MS = 1_000_000


def compute_metrics(recording: Recording) -> dict[str, float | int | None]:
    """Every metric of METRICS.md, in the order of that page."""
    timeline = Timeline(recording)
    seconds = recording.end_ns / NANOSECONDS
    output_tokens = int(timeline.num_output_tokens.sum())
    input_tokens = sum(
        request.num_prompt_tokens for request, done in zip(recording.requests, timeline.completed, strict=True) if done
    )
    completed = int(timeline.completed.sum())
    metrics: dict[str, float | int | None] = {
        "duration": seconds,
        "completed": completed,
        "num_rejected": sum(request.finish_reason == "rejected" for request in recording.requests),
        "total_input_tokens": input_tokens,
        "total_output_tokens": output_tokens,
        "request_throughput": _ratio(completed, seconds),
        "output_throughput": _ratio(output_tokens, seconds),
        "total_token_throughput": _ratio(input_tokens + output_tokens, seconds),
    }
    for name, values in latencies_ns(timeline).items():
        metrics |= statistics(name, values)
    return metrics | _machine_metrics(timeline)


def latencies_ns(timeline: Timeline) -> dict[str, Column]:
    """TTFT, TPOT, ITL, E2E and queue time of the completed requests, as vLLM's benchmark names them.

    `tpot` has a value for each request with two tokens or more, `itl` one for every gap between
    two tokens of a request, the others one for each request. Nanoseconds.
    """
    done = timeline.completed
    arrival = timeline.arrival_ns[done]
    first, last = timeline.first_token_ns[done], timeline.last_token_ns[done]
    tokens = timeline.num_output_tokens[done]
    several = tokens > 1
    return {
        "ttft": first - arrival,
        "tpot": (last - first)[several] / (tokens - 1)[several],
        "itl": inter_token_ns(timeline, done),
        "e2el": last - arrival,
        "queue_time": timeline.first_scheduled_ns[done] - arrival,
    }


def inter_token_ns(timeline: Timeline, done: Column) -> Column:
    """Every gap between two tokens of one request, pooled, in nanoseconds."""
    order = np.argsort(timeline.token_request, kind="stable")
    request, times = timeline.token_request[order], timeline.token_ns[order]
    same = (request[1:] == request[:-1]) & done[request[1:]] if len(request) else np.zeros(0, dtype=bool)
    return np.diff(times)[same] if len(times) else times


def statistics(name: str, values_ns: Column) -> dict[str, float | None]:
    values = values_ns / _MS
    if not len(values):
        return {f"{stat}_{name}_ms": None for stat in ("mean", "median", "std", "p95", "p99")}
    return {
        f"mean_{name}_ms": float(values.mean()),
        f"median_{name}_ms": float(np.median(values)),
        f"std_{name}_ms": float(values.std()),
        f"p95_{name}_ms": float(np.percentile(values, 95)),
        f"p99_{name}_ms": float(np.percentile(values, 99)),
    }


def _machine_metrics(timeline: Timeline) -> dict[str, float | int | None]:
    """What the slots, the KV pool and the device were used for."""
    recording = timeline.recording
    iterations, config = recording.iterations, recording.header.config
    duration = iterations["duration_ns"]
    slots = {name: int(column.sum()) for name, column in slot_ledger(timeline).items()}
    slot_time = sum(slots.values())
    held = timeline.held_blocks
    capacity = held * int(config["block_size"])
    tokens = int(timeline.tokens_of(Phase.PREFILL).sum() + timeline.tokens_of(Phase.DECODE).sum())
    padding = int(timeline.padding_tokens.sum())
    moved = int(sum(iterations[name].sum() for name in ("bytes_weights", "bytes_kv", "bytes_activations")))
    flops = int(iterations["flops"].sum())
    host = int((duration - iterations["executor_ns"]).sum())
    return {
        "num_iterations": recording.num_iterations,
        "num_preemptions": timeline.num_preemptions,
        "slot_utilization": _ratio(slots["prefill"] + slots["decode"], slot_time),
        "slot_padding": _ratio(slots["padding"], slot_time),
        "slot_stalled": _ratio(slots["stalled"], slot_time),
        "slot_idle_waiting": _ratio(slots["idle_waiting"], slot_time),
        "slot_idle_empty": _ratio(slots["idle_empty"], slot_time),
        "stalled_s": slots["stalled"] / NANOSECONDS,
        "padding_tokens": padding,
        "padding_share": _ratio(padding, tokens + padding),
        "mean_kv_cache_usage": _ratio(float(held @ duration), recording.end_ns * recording.num_kv_blocks),
        "max_kv_cache_usage": _ratio(int(held.max(initial=0)), recording.num_kv_blocks),
        "kv_fragmentation": _ratio(float((capacity - timeline.kv_tokens) @ duration), float(capacity @ duration)),
        "flops": flops,
        "bytes_moved": moved,
        "intensity": _ratio(flops, moved),
        "scheduler_share": _ratio(host, int(duration.sum())),
    }


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None
