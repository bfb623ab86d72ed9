"""The recordings that the player's tests read: the bundled ones, and runs where memory is tight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of
from tests.ui.browser import ROOT

BUNDLED = sorted((ROOT / "assets" / "recordings").glob("*.mbr"))
POLICIES = ("static", "dynamic", "continuous", "chunked")
EACH_BUNDLED = pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)


def each_memory(test: Callable[..., None]) -> Callable[..., None]:
    """A test for either way to preempt, with either layout of the memory."""
    by_layout = pytest.mark.parametrize("layout", ["paged", "contiguous"])(test)
    return pytest.mark.parametrize("mode", ["recompute", "swap"])(by_layout)


def preempting(mode: str, layout: str = "paged", policy: str = "chunked") -> Recording:
    config = SchedulerConfig(
        max_num_seqs=4,
        max_num_batched_tokens=16,
        max_model_len=64,
        num_kv_blocks=14 if layout == "paged" else 40,
        block_size=4,
        preemption_mode=mode,
        kv_layout=layout,
    )
    lengths = [(12, 14), (9, 20), (15, 8), (4, 18, 2.0), (20, 6, 3.0), (7, 9, 30.0), (200, 9, 31.0), (6, 50, 32.0)]
    return record(requests_of(lengths), policy, config)


def tight(policy: str, **knobs: Any) -> Recording:
    """Little memory, long prompts among short ones: everything that can be asked happens."""
    config = SchedulerConfig(
        **{
            "max_num_seqs": 4,
            "max_num_batched_tokens": 16,
            "max_model_len": 64,
            "num_kv_blocks": 14,
            "block_size": 4,
            "max_wait": 0.01,
            **knobs,
        }
    )
    lengths = [(12, 14), (9, 20), (15, 8), (4, 18, 2.0), (20, 6, 3.0), (7, 9, 30.0), (30, 9, 31.0), (6, 40, 32.0)]
    return record(requests_of([*lengths, *[(5 + k, 12, 33.0 + 4 * k) for k in range(12)]]), policy, config)
