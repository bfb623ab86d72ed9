"""What ships with the lessons and the interview room: all that they show, as the engine computes it now."""

from __future__ import annotations

from pathlib import Path

import pytest

from minibatch.analysis.metrics import Metrics
from minibatch.learning import values
from minibatch.learning.run_spec import Spec
from minibatch.learning.values import Asked, computing, write_values
from minibatch.paths import VALUES
from minibatch.recording.storage import load
from minibatch.ui.lessons.shown_runs import compute_shown

SPEC: Spec = {"requests": [[0, 64, 4], [0, 64, 16]], "knobs": {"max_num_seqs": 1}}


@pytest.mark.slow
def test_the_shipped_values_are_those_of_the_runs(tmp_path: Path) -> None:
    write_values(compute_shown(lambda name: None), tmp_path)
    assert _names(VALUES) == _names(tmp_path), "run `python -m minibatch lesson values`"
    shipped, computed = values.read_metrics(VALUES), values.read_metrics(tmp_path)
    assert shipped.keys() == computed.keys()
    for key, of in computed.items():
        assert shipped[key].keys() == of.keys()
        for policy, (clock, metrics) in of.items():
            found = shipped[key][policy]
            assert found[0] == clock
            assert found[1].keys() == metrics.keys()
            for name, value in metrics.items():
                assert found[1][name] == (None if value is None else pytest.approx(value, rel=1e-9)), name
    for path in tmp_path.glob("*.mbr"):
        for run, now in zip(load(VALUES / path.name), load(path), strict=True):
            assert run.requests == now.requests
            assert {name: column.tolist() for name, column in run.entries.items()} == {
                name: column.tolist() for name, column in now.entries.items()
            }
            assert run.iterations["duration_ns"].tolist() == pytest.approx(now.iterations["duration_ns"].tolist())


def test_a_run_that_does_not_ship_is_computed_when_it_is_shown() -> None:
    def shown() -> tuple[Metrics, list[int]]:
        return values.metrics(SPEC, "static")[0], values.recording(SPEC, "static").entries["request"].tolist()

    asked: Asked
    with computing() as asked:
        computed = shown()
    assert shown() == computed
    ((metrics, recordings),) = zip(asked.metrics.values(), asked.recordings.values(), strict=True)
    assert list(metrics) == list(recordings) == ["static"]


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
