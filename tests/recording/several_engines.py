"""A recording made by hand of what no policy does yet: two engines, shared and cached blocks, several tokens a step."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import NUMBERS, Code
from minibatch.recording.schema import (
    BLOCK_COLUMNS,
    CODES,
    ENTRY_COLUMNS,
    ITERATION_COLUMNS,
    REASON_COLUMNS,
    TRANSFER_COLUMNS,
    BlockEvent,
    EngineHeader,
    Header,
    Recording,
    RequestRecord,
    Table,
)
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import SHAPE

ACQUIRE, RELEASE, CACHE, EVICT = BlockEvent
P, D, S = Phase.PREFILL, Phase.DECODE, Phase.STALLED
CONFIG = asdict(SchedulerConfig(max_num_seqs=2, max_model_len=64, block_size=4, num_kv_blocks=8))


def several_engines() -> Recording:
    """r0 and r1 share the first block of their prompts in the prefill engine and go on in the decode engine.

    There r0 generates three tokens in one step, and r1 one of three: both that were proposed are rejected.
    r1 and r2 are aborted, and r3 is rejected. The engines' iterations overlap:

        engine 0   0 r0's prompt   1 r1's prompt, r0 stalled                            3 r2's prompt
        engine 1                                               2 r0, three tokens            4 r0, r1   5 r0
    """
    iterations = [
        (0, 0, 100, 70, 10, 5, 5, 900, 50, 20, 30),
        (0, 110, 90, 60, 10, 5, 5, 700, 50, 20, 30),
        (1, 250, 80, 60, 10, 0, 0, 300, 50, 40, 10),
        (0, 260, 60, 60, 0, 0, 0, 400, 50, 20, 30),
        (1, 330, 80, 60, 10, 0, 0, 500, 50, 40, 10),
        (1, 410, 50, 50, 0, 0, 0, 200, 50, 40, 10),
    ]
    entries = [
        (0, 0, 0, P, 0, 6, 0, 0, 1, 0, 0),
        (1, 0, 0, S, 6, 0, 0, 0, 0, 0, 0),
        (1, 1, 1, P, 4, 3, 0, 4, 1, 0, 0),
        (2, 0, 0, D, 6, 3, 0, 0, 3, 2, 0),
        (3, 0, 2, P, 0, 3, 0, 0, 1, 0, 0),
        (4, 0, 0, D, 9, 1, 0, 0, 1, 0, 0),
        (4, 1, 1, D, 7, 3, 0, 0, 1, 2, 2),
        (5, 0, 0, D, 10, 1, 0, 0, 1, 0, 0),
    ]
    blocks = [
        (0, 0, 0, 0, ACQUIRE, -1), (0, 0, 1, 0, ACQUIRE, -1),
        (1, 0, 0, -1, CACHE, 77), (1, 0, 0, 1, ACQUIRE, -1), (1, 0, 2, 1, ACQUIRE, -1),
        (2, 1, 5, 0, ACQUIRE, -1), (2, 1, 6, 0, ACQUIRE, -1), (2, 1, 7, 0, ACQUIRE, -1),
        (3, 0, 0, 0, RELEASE, -1), (3, 0, 1, 0, RELEASE, -1), (3, 0, 0, 1, RELEASE, -1), (3, 0, 2, 1, RELEASE, -1),
        (3, 0, 1, 2, ACQUIRE, -1),
        (4, 1, 0, 1, ACQUIRE, -1), (4, 1, 1, 1, ACQUIRE, -1), (4, 1, 2, 1, ACQUIRE, -1),
        (5, 1, 0, 1, RELEASE, -1), (5, 1, 1, 1, RELEASE, -1), (5, 1, 2, 1, RELEASE, -1),
        (6, 0, 1, 2, RELEASE, -1), (6, 0, 0, -1, EVICT, 77),
        (6, 1, 5, 0, RELEASE, -1), (6, 1, 6, 0, RELEASE, -1), (6, 1, 7, 0, RELEASE, -1),
    ]  # fmt: skip
    reasons: list[tuple[int, int, Code, int, dict[str, int]]] = [
        (0, 0, Code.QUEUED, 0, {"prompt": 6, "max_tokens": 6}),
        (0, 0, Code.ADMITTED, 0, {"slot": 0, "needs": 2, "free": 8}),
        (1, 0, Code.QUEUED, 1, {"prompt": 7, "max_tokens": 9}),
        (1, 0, Code.ADMITTED, 1, {"slot": 1, "needs": 1, "free": 6}),
        (1, 0, Code.QUEUED, 2, {"prompt": 3, "max_tokens": 5}),
        (1, 0, Code.WAITS_SLOT, 2, {"slots": 2}),
        (2, 1, Code.QUEUED, 0, {"prompt": 6, "max_tokens": 6}),
        (2, 1, Code.ADMITTED, 0, {"slot": 0, "needs": 3, "free": 8}),
        (3, 0, Code.TRANSFERRED, 0, {"blocks": 2}),
        (3, 0, Code.TRANSFERRED, 1, {"blocks": 2}),
        (3, 0, Code.ADMITTED, 2, {"slot": 0, "needs": 1, "free": 8}),
        (4, 1, Code.QUEUED, 1, {"prompt": 7, "max_tokens": 9}),
        (4, 1, Code.ADMITTED, 1, {"slot": 1, "needs": 3, "free": 5}),
        (5, 1, Code.ABORTED, 1, {"tokens": 2, "blocks": 3}),
        (6, 0, Code.ABORTED, 2, {"tokens": 1, "blocks": 1}),
        (6, 0, Code.REJECTED_LENGTH, 3, {"prompt": 2, "max_tokens": 90, "max_model_len": 64}),
        (6, 1, Code.FINISHED_LENGTH, 0, {"tokens": 6}),
    ]
    transfers = [(0, 0, 1, 200, 240, 4096), (1, 0, 1, 200, 300, 4096)]
    return Recording(
        header=Header(
            policy="chunked", clock="modelled", device="made up", model="none", dtype="float32", scenario="test",
            seed=0, token_budget=64, config=CONFIG, shape=asdict(SHAPE),
            ceilings={"flops_per_s": 1e11, "bytes_per_s": 1e10, "source": "made up"},
            engines=(
                EngineHeader("prefill-0", "prefill"),
                EngineHeader("decode-0", "decode", {"device": "another", "token_budget": 32}),
            ),
        ),
        requests=(
            _request(0, 6, 6, "once upon", "length", tenant="gold", priority=-1, true_output_tokens=9),
            _request(5, 7, 9, "once more", "abort", 2, aborted_ns=400, tenant="free"),
            _request(8, 3, 5, "<b>why", "abort", 1, aborted_ns=390),
            _request(9, 2, 90, "too long", "rejected", 0),
        ),
        iterations=_table(ITERATION_COLUMNS, iterations),
        entries=_table(ENTRY_COLUMNS, entries),
        blocks=_table(BLOCK_COLUMNS, blocks),
        reasons=_table(REASON_COLUMNS, [(i, engine, CODES.index(code), r) for i, engine, code, r, _ in reasons]),
        reason_numbers=tuple(tuple(numbers[name] for name in NUMBERS[code]) for _, _, code, _, numbers in reasons),
        transfers=_table(TRANSFER_COLUMNS, transfers),
    )  # fmt: skip


def _request(
    arrival_ns: int, prompt: int, cap: int, text: str, finish: str, count: int | None = None, **others: Any
) -> RequestRecord:
    count = cap if count is None else count
    tokens, pieces = tuple(range(1, count + 1)), tuple("abcdefghi"[:count])
    return RequestRecord(arrival_ns, tuple(range(prompt)), cap, {}, text, tokens, pieces, finish, **others)


def _table(names: tuple[str, ...], rows: list[tuple[int, ...]]) -> Table:
    columns = np.array(rows, dtype=np.int64).reshape(-1, len(names)).T
    return dict(zip(names, np.ascontiguousarray(columns), strict=True))
