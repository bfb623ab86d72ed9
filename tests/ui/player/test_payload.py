"""The player's data: all that was recorded, and small."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.bench import player as bench
from minibatch.recording.storage import load
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.player.payload import pack, varints
from tests.helpers import MS, record, requests_of
from tests.ui.player.recordings import BUNDLED, preempting
from tests.ui.player.unpacking import decode, unpack
from tests.ui.recordings import continuous, static

WHOLE = st.integers(-(2**53) + 1, 2**53 - 1)


@given(st.lists(WHOLE | st.sampled_from([s * (2**k + d) for k in range(52) for d in (-1, 0, 1) for s in (-1, 1)])))
def test_any_whole_numbers_come_back(values: list[int]) -> None:
    assert decode(varints(np.array(values, dtype=np.int64))) == values


@given(st.integers(-64, 63))
def test_small_numbers_take_a_byte(value: int) -> None:
    assert len(varints(np.array([value]))) == 1


@pytest.mark.parametrize("mode", ["recompute", "swap"])
def test_a_payload_holds_all_that_was_recorded(mode: str) -> None:
    run = preempting(mode)
    meta, (columns,) = unpack(pack([run]))
    ends = run.end_of_iteration_ns
    starts = run.iterations["start_ns"]
    assert columns["duration_ns"] == run.iterations["duration_ns"].tolist()
    assert (np.cumsum(np.add(columns["gap_ns"], [0, *columns["duration_ns"][:-1]])) == starts).all()
    assert (np.cumsum(np.add(columns["gap_ns"], columns["duration_ns"])) == ends).all()
    for name in ("flops", "bytes_weights", "bytes_kv", "bytes_activations", "executor_ns"):
        assert columns[name] == run.iterations[name].tolist()
    fields = ("iteration", "slot", "request", "phase", "start", "tokens", "padding", "generated", "rejected")
    got = list(zip(*(columns[f"entries.{name}"] for name in fields), strict=True))
    rows = zip(*(run.entries[name].tolist() for name in fields), strict=True)
    assert got == sorted(rows, key=lambda row: (row[1], row[0])), "by slot and then by time"
    for table, names in (("blocks", ("block", "request", "event")), ("reasons", ("code", "request"))):
        for name in ("iteration", *names):
            assert columns[f"{table}.{name}"] == getattr(run, table)[name].tolist()
    assert columns["reasons.numbers"] == [number for row in run.reason_numbers for number in row]
    assert [request[:3] for request in meta["requests"][0]] == [
        [request.arrival_ns, request.num_prompt_tokens, request.max_tokens] for request in run.requests
    ]
    assert meta["runs"][0]["finish"] == [request.finish_reason for request in run.requests]
    assert "rejected" in meta["runs"][0]["finish"]


def test_what_runs_have_in_common_is_sent_once() -> None:
    runs = [static(), continuous()]
    meta, _ = unpack(pack(runs, {"id": "x"}, ["one", "two"]))
    assert [run["label"] for run in meta["runs"]] == ["one", "two"]
    assert (len(meta["requests"]), len(meta["texts"])) == (1, 1)
    changed = replace(runs[1].requests[0], pieces=("x", "y"))
    other = replace(runs[1], requests=(changed, *runs[1].requests[1:]))
    meta, _ = unpack(pack([runs[0], other]))
    assert [run["texts"] for run in meta["runs"]] == [0, 1]
    assert meta["texts"][1][0] == ["x", "y"]
    assert [run["requests"] for run in meta["runs"]] == [0, 0]


def test_only_what_is_run_can_have_a_label_too_many() -> None:
    with pytest.raises(ValueError, match="zip"):
        pack([static(), continuous()], labels=["one"])


def test_a_comparison_may_be_of_one_step() -> None:
    run = record(requests_of([(3, 1)]), "static", SchedulerConfig())
    meta, (columns,) = unpack(pack([run]))
    assert columns["duration_ns"] == [MS + 3 * MS // 10]
    assert meta["runs"][0]["complete"] is True


def test_bundled_recordings_are_small() -> None:
    sizes = {path.stem: len(pack(load(path))) for path in BUNDLED}
    assert sizes["chat"] < 60_000
    assert [name for name, size in sizes.items() if size > 100_000] == []


def test_a_long_run_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest of five lanes, of 3,000 iterations and 32 slots, that take less than 400 kB together."""
    monkeypatch.setattr(bench, "LANES", (("chunked", 192),))
    (run,), labels = bench.comparison()
    assert (run.num_iterations, run.num_slots) == (3000, 32)
    assert len(run.entries["slot"]) > 80_000
    assert len(pack([run], labels=labels)) < 110_000
