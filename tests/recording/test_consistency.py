"""A recording that says something no run could have done is refused, or shown and exported like any other."""

from __future__ import annotations

import json
import random
import zlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.analysis.exports.metrics_csv import metrics_csv, requests_csv
from minibatch.analysis.exports.trace_file import trace_json
from minibatch.analysis.metrics import compute_metrics
from minibatch.commands.compare import as_json
from minibatch.commands.validate import check_ledgers
from minibatch.recording import storage
from minibatch.recording.schema import VERSION, Recording
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.player.page import page_html
from tests.helpers import engine_of, header_of, record, requests_of
from tests.recording.several_engines import several_engines
from tests.ui.player.recordings import preempting

_VALUES = (0, 1, -1, 2, 3, 7, 10**6, 2**31, 2**52, 2**53 - 1, 10**18, 1.5, "", "x", None, True, [], {})


def aborted() -> Recording:
    engine = engine_of(requests_of([(5, 9), (9, 6, 2.0), (4, 3, 2.5)]), "chunked", SchedulerConfig(max_num_seqs=2))
    for _ in range(4):
        engine.step()
    engine.abort(0)
    engine.run()
    return engine.recording(header_of(engine))


def recordings() -> list[Recording]:
    lengths = [(5, 3), (9, 6, 2.0), (90, 3, 2.5)]
    small = record(requests_of(lengths), "static", SchedulerConfig(max_num_seqs=2, max_model_len=32))
    return [several_engines(), small, preempting("swap"), preempting("recompute"), aborted()]


FILES = [json.dumps(storage._to_json(recording)) for recording in recordings()]


def show_all(runs: list[Recording]) -> None:
    page_html(runs)
    trace_json(runs)
    metrics_csv(runs)
    requests_csv(runs)
    json.dumps(as_json(runs), allow_nan=False)
    for run in runs:
        check_ledgers(run)
        assert all(reason.sentence for _, reason in run.each_reason())


def mutate(random_: random.Random, run: dict[str, Any]) -> None:
    """Change a number, a row, a column or a field somewhere in the JSON of a run."""
    place: Any = run
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        if not keys:
            return
        key: Any = random_.choice(keys)
        inner = place[key]
        if isinstance(inner, dict | list) and inner and random_.random() < 0.9:
            place = inner
            continue
        break
    kind = random_.random()
    if kind < 0.5 and type(inner) is int:
        place[key] = inner + random_.choice((-1, 1, 1, -2, 16, 1000))
    elif kind < 0.6 and isinstance(place, list):
        place[key] = place[random_.randrange(len(place))]
    elif kind < 0.7 and isinstance(place, list):
        del place[key]
    elif kind < 0.8:
        other = random_.choice(keys)
        place[key], place[other] = place[other], place[key]
    else:
        place[key] = random_.choice(_VALUES)


def drop_rows(random_: random.Random, run: dict[str, Any]) -> None:
    """Take out a row of a table, or put one in twice, in all of its columns."""
    name = random_.choice(("iterations", "entries", "blocks", "reasons", "transfers"))
    table = run[name]
    length = len(next(iter(table.values())))
    if not length:
        return
    row, twice = random_.randrange(length), random_.random() < 0.3
    columns = [*table.values(), *([run["reason_numbers"]] if name == "reasons" else [])]
    for column in columns:
        column[row : row + 1] = [column[row]] * 2 if twice else []


def mutated(seed: int) -> bytes:
    random_ = random.Random(seed)
    runs = [json.loads(random_.choice(FILES))]
    if random_.random() < 0.2:
        drop_rows(random_, runs[0])
    for _ in range(random_.choice((0, 1, 1, 1, 2, 3))):
        mutate(random_, runs[0])
    head = storage.MAGIC + b"%d\n" % VERSION
    return head + zlib.compress(json.dumps(runs).encode())


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**9))
def test_what_is_accepted_can_be_shown(seed: int) -> None:
    try:
        runs = storage.loads(mutated(seed))
    except storage.RecordingError:
        return
    show_all(runs)


@pytest.mark.parametrize("number", range(len(FILES)))
def test_everything_comes_back_and_is_shown(number: int) -> None:
    (recording,) = [recordings()[number]]
    data = storage.dumps([recording])
    (loaded,) = storage.loads(data)
    assert storage.dumps([loaded]) == data
    assert loaded.header == recording.header
    assert loaded.requests == recording.requests
    assert list(loaded.each_reason()) == list(recording.each_reason())
    show_all([loaded])


def test_aborted_requests_are_counted_apart() -> None:
    metrics = compute_metrics(several_engines())
    assert (metrics["completed"], metrics["num_aborted"], metrics["num_rejected"]) == (1, 2, 1)
    assert metrics["total_output_tokens"] == 9
    # r0 generates at 100, 330 (three tokens at once), 410 and 460 ns.
    assert metrics["mean_itl_ms"] == pytest.approx((230 + 80 + 50) / 3 / 1e6)
    assert metrics["mean_tpot_ms"] == pytest.approx(360 / 5 / 1e6)


def without(column: str, table: str = "entries", value: int = 0) -> dict[str, Any]:
    run = json.loads(FILES[1])
    run[table][column] = [value] * len(run[table][column])
    return run


def without_reasons() -> dict[str, Any]:
    run = json.loads(FILES[1])
    return {**run, "reasons": {name: [] for name in run["reasons"]}, "reason_numbers": []}


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (without("start"), "position that it had not come to"),
        (without("bytes_weights", "iterations"), "bytes_weights are 0"),
        (without_reasons(), "has no reason"),
    ],
)  # fmt: skip
def test_what_no_run_does_is_refused(run: dict[str, Any], says: str) -> None:
    data = storage.MAGIC + b"%d\n" % VERSION + zlib.compress(json.dumps([run]).encode())
    with pytest.raises(storage.RecordingError, match=says):
        storage.loads(data)


def test_a_rejected_request_never_runs() -> None:
    run = recordings()[1]
    rejected = tuple(replace(r, finish_reason="rejected") if k == 0 else r for k, r in enumerate(run.requests))
    with pytest.raises(storage.RecordingError, match="its reasons say otherwise"):
        storage.loads(storage.dumps([replace(run, requests=rejected)]))
