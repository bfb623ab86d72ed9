"""Two recordings made by hand, small enough to check every number of a view on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import Code
from minibatch.recording.schema import BLOCK_COLUMNS, CODES, Header, Recording, RequestRecord
from minibatch.scheduling.config import SchedulerConfig

MS = 1_000_000
PREFILL, DECODE, PADDING, STALLED = Phase
IMAGE = "![x](http://127.0.0.2:9/leak.png)"
"""A name that would make a browser ask another machine for an image, were it Markdown."""
HTML = "<img src=x onerror=alert(1)> & **bold**"
"""A prompt that somebody typed to see what happens."""

Entry = tuple[int, int, int, Phase, int, int]
"""iteration, slot, request, phase, tokens, token_id"""


def recording(
    policy: str,
    durations_ms: Sequence[int],
    entries: Sequence[Entry],
    reasons: Sequence[tuple[int, Code, int, tuple[int, ...]]] = (),
    texts: Sequence[str] = ("ab", "cde", "fg"),
) -> Recording:
    """Three requests in two slots. `texts` has a letter a token."""
    durations = np.array(durations_ms, dtype=np.int64) * MS
    starts = np.concatenate([[0], np.cumsum(durations)[:-1]]).astype(np.int64)
    ones = np.ones(len(durations), dtype=np.int64)
    columns = [np.array(column, dtype=np.int64) for column in zip(*entries, strict=True)]
    iteration, slot, request, phase, tokens, token_id = columns
    zeros, generated = np.zeros(len(iteration), dtype=np.int64), (token_id >= 0).astype(np.int64)
    none = np.zeros(len(durations), dtype=np.int64)
    config = SchedulerConfig(max_num_seqs=2, num_kv_blocks=8)
    empty = {name: np.zeros(0, dtype=np.int64) for name in BLOCK_COLUMNS}
    prompts = ("once", HTML, "why")
    return Recording(
        header=Header(
            policy=policy, clock="measured", device="2-core CPU", model="bundled", dtype="float32",
            scenario="chat", seed=0, token_budget=64, config=asdict(config),
            ceilings={"flops_per_s": 1e11, "bytes_per_s": 1e10, "source": "measured here"},
        ),
        requests=tuple(
            RequestRecord(0, (1, 2, 3), len(text), {}, prompt, (7,) * len(text), tuple(text), "length")
            for prompt, text in zip(prompts, texts, strict=True)
        ),
        iterations={
            "engine": none, "start_ns": starts, "duration_ns": durations, "executor_ns": durations,
            "scheduler_ns": none, "sampling_ns": none, "launch_ns": none,
            "flops": ones * 10_000_000, "bytes_weights": ones * 1_000_000, "bytes_kv": ones * 0,
            "bytes_activations": ones * 0,
        },
        entries={
            "iteration": iteration, "slot": slot, "request": request, "phase": phase, "start": zeros,
            "tokens": tokens, "padding": zeros, "cached": zeros, "generated": generated,
            "proposed": zeros, "rejected": zeros,
        },
        blocks=empty,
        reasons={
            "iteration": np.array([row[0] for row in reasons], dtype=np.int64),
            "engine": np.zeros(len(reasons), dtype=np.int64),
            "code": np.array([CODES.index(row[1]) for row in reasons], dtype=np.int64),
            "request": np.array([row[2] for row in reasons], dtype=np.int64),
        },
        reason_numbers=tuple(row[3] for row in reasons),
    )  # fmt: skip


def static() -> Recording:
    """r0 finishes early and holds its slot; r2 waits for r1. Done after 60 ms."""
    return recording(
        "static",
        [10, 10, 10, 20, 10],
        [
            (0, 0, 0, PREFILL, 3, 7), (0, 1, 1, PREFILL, 3, 7),
            (1, 0, 0, DECODE, 1, 7), (1, 1, 1, DECODE, 1, 7),
            (2, 0, 0, PADDING, 0, -1), (2, 1, 1, DECODE, 1, 7),
            (3, 0, 2, PREFILL, 3, 7),
            (4, 0, 2, DECODE, 1, 7),
        ],
        [(2, Code.FINISHED_LENGTH, 0, (2,))],
    )  # fmt: skip


def continuous() -> Recording:
    """r2 takes r0's slot at once, and r1 stalls while it prefills. Done after 50 ms."""
    return recording(
        "continuous",
        [10, 10, 20, 10],
        [
            (0, 0, 0, PREFILL, 3, 7), (0, 1, 1, PREFILL, 3, 7),
            (1, 0, 0, DECODE, 1, 7), (1, 1, 1, DECODE, 1, 7),
            (2, 0, 2, PREFILL, 3, 7), (2, 1, 1, STALLED, 0, -1),
            (3, 0, 2, DECODE, 1, 7), (3, 1, 1, DECODE, 1, 7),
        ],
        [(2, Code.ADMITTED, 2, (0, 1, 4)), (2, Code.STALLED_BY_PREFILL, -1, (1, 3, 1))],
    )  # fmt: skip


def cancelled(run: Recording) -> Recording:
    return replace(run, header=replace(run.header, complete=False))
