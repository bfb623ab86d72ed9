"""The file of a sweep, and what its curves say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from minibatch.analysis.bottleneck import Bottleneck
from minibatch.analysis.slo import Slo
from minibatch.analysis.sweeps.curves import curves_of
from minibatch.analysis.sweeps.file import SweepFile, SweepRow, read_sweep, row_of
from minibatch.analysis.sweeps.knee import Found
from minibatch.engine.sweep import run_point
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.demand import Load
from tests.engine.test_sweep import CONFIG, POINTS, STUDY

SAME = {"model": "tiny", "seed": 7}


def row(policy: str = "chunked", rate: float = 1.0, served: float | None = None, **shares: float) -> SweepRow:
    """A point at `rate`, of which 100 requests took 50 ms to their first token and 10 ms for each of 9 more."""
    metrics = {
        "offered": rate, "served": rate if served is None else served, "request_throughput": rate, "duration": 10.0,
        "p99_ttft_ms": 50.0,
        **{f"share_{name}": 0.0 for name in ("slots", "kv_blocks", "token_budget", "batch", "compute")},
        **{f"share_{name}": share for name, share in shares.items()},
    }  # fmt: skip
    lists = {
        "arrival_ns": np.zeros(250, dtype=np.int64), "ttft_ns": np.full(100, 50_000_000),
        "tpot_ns": np.full(100, 1e7), "e2el_ns": np.full(100, 140_000_000),
    }  # fmt: skip
    return SweepRow(policy, Load("rate", rate), CONFIG, metrics, lists)


def test_what_was_done_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "sweep.parquet"
    file = SweepFile(path, SAME)
    rows = [row_of(point.policy, point.load, point.config, run_point(STUDY, point)) for point in POINTS]
    for each in rows:
        file.add(each)
        assert SweepFile(path, SAME).rows[-1].key == each.key  # on disk after every point
    again = SweepFile(path, SAME)
    assert again.done == {(point.policy, point.load, point.config) for point in POINTS}
    for mine, theirs in zip(again.rows, rows, strict=True):
        assert mine.metrics == theirs.metrics
        for name, column in theirs.lists.items():
            assert np.array_equal(mine.lists[name], column, equal_nan=True), name
    assert pq.read_table(path).num_rows == len(POINTS)  # any reader of Parquet reads it
    assert [entry.name for entry in tmp_path.iterdir()] == ["sweep.parquet"]


def test_a_file_that_is_not_this_sweep_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "sweep.parquet"
    SweepFile(path, SAME).add(row())
    before = path.read_bytes()
    with pytest.raises(ValueError, match="holds a sweep with another seed: give --out another name"):
        SweepFile(path, {**SAME, "seed": 8})
    assert path.read_bytes() == before
    for content, says in ((b"", "is not a sweep"), (before[:-40], "is not a sweep"), (b"PAR1" * 9, "is not a sweep")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=says):
            read_sweep(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(ValueError, match="is a Parquet file, but not a sweep"):
        read_sweep(path)
    head = {b"minibatch sweep": b'{"version": 99, "study": {}}'}
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(head), path)
    with pytest.raises(ValueError, match="of version 99, and this program reads 1"):
        read_sweep(path)
    head = {b"minibatch sweep": b'{"version": 1, "study": {}}'}
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(head), path)
    with pytest.raises(ValueError, match="columns that this program does not know"):
        read_sweep(path)


def test_an_slo_is_kept_until_another_is_given(tmp_path: Path) -> None:
    path = tmp_path / "sweep.parquet"
    file = SweepFile(path, SAME)
    file.judge_by(Slo(ttft_ms=200))
    file.add(row())
    assert SweepFile(path, SAME).slo == Slo(ttft_ms=200)
    file.judge_by(Slo(e2el_ms=9))
    again = SweepFile(path, SAME)
    assert (again.slo, len(again.rows)) == (Slo(e2el_ms=9), 1)
    for limits in ('{"ttft_ms": "fast"}', '{"ttft_ms": -1}', "{}", '"x"', '{"speed": 3}'):
        head = {b"minibatch sweep": f'{{"version": 1, "study": {{}}, "slo": {limits}}}'.encode()}
        pq.write_table(pq.read_table(path).replace_schema_metadata(head), tmp_path / "odd.parquet")
        with pytest.raises(ValueError, match=r"odd\.parquet has an SLO that makes no sense"):
            read_sweep(tmp_path / "odd.parquet")


def test_the_knee_and_its_reason() -> None:
    rows = [row(rate=rate, served=min(rate, 8.5), kv_blocks=0.6) for rate in (16.0, 1.0, 2.0, 4.0, 8.0, 32.0)]
    (curve,) = curves_of(rows)
    assert [each.load.value for each in curve.rows] == [1, 2, 4, 8, 16, 32]
    assert (curve.knee.index, curve.cause) == (3, Bottleneck.KV)
    assert curve.sentence.startswith("The knee is at 8.00 requests/s; past it the limit is KV full. Requests wait")
    few = [replace(each, lists={**each.lists, "arrival_ns": np.zeros(150, dtype=np.int64)}) for each in rows]
    for unsure in (few, rows[:1]):
        (curve,) = curves_of(unsure)
        assert (curve.knee.found, curve.cause) == (Found.UNKNOWN, Bottleneck.LOAD)
        assert curve.sentence == "too few loads or too few requests to tell a knee from chance."
    (free,) = curves_of(rows[1:5])
    assert (free.knee.found, free.cause) == (Found.BEYOND, Bottleneck.LOAD)
    assert free.sentence == "no knee within the range: throughput still rises at the highest load."


def test_curves_by_policy_and_by_the_knobs_that_vary() -> None:
    other = replace(CONFIG, max_num_batched_tokens=16)
    rows = [
        replace(row(policy, rate), config=config)
        for rate in (2.0, 1.0)
        for policy in ("chunked", "static")
        for config in (CONFIG, other)
    ]
    curves = curves_of(rows)
    assert [(curve.policy, curve.knobs) for curve in curves] == [
        ("static", {"max_num_batched_tokens": 16}),
        ("static", {"max_num_batched_tokens": 32}),
        ("chunked", {"max_num_batched_tokens": 16}),
        ("chunked", {"max_num_batched_tokens": 32}),
    ]
    assert curves[0].knobs_in_words == ", max_num_batched_tokens 16"
    assert curves_of([]) == []
    assert isinstance(curves[0].rows[0].config, SchedulerConfig)


def test_goodput_of_each_load() -> None:
    (curve,) = curves_of([row(rate=1.0), row(rate=2.0)], Slo(ttft_ms=50, tpot_ms=10))
    assert curve.goodputs == (10.0, 10.0)  # 100 in 10 s
    assert curve.attainments == (0.4, 0.4)  # of 250 that came
    (strict,) = curves_of([row(rate=1.0), row(rate=2.0)], Slo(ttft_ms=49))
    assert (strict.goodputs, strict.best_goodput) == ((0.0, 0.0), None)
    assert curves_of([row()])[0].goodputs == (None,)
