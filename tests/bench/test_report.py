"""What a benchmark leaves: lines as they come, and JSON of all that was measured, however it ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minibatch.bench.report import Measured, reporting


@pytest.mark.parametrize("stopped", [False, True])
def test_results_are_printed_at_once_and_kept_where_it_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stopped: bool
) -> None:
    out = tmp_path / "bench.json"
    with reporting("bench", {"quick": True, "json": out, "rounds": 3}, out) as report:
        report.add("chunked / static", Measured("", [2.0, 1.0, 4.0], "x"))
        assert "chunked / static: 2.00× (1.00–4.00)" in capsys.readouterr().out
        if stopped:
            raise KeyboardInterrupt
    assert ("what was measured until now" in capsys.readouterr().err) == stopped
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["complete"] == report.complete == (not stopped)
    assert (found["quick"], found["settings"]) == (True, {"rounds": 3})
    assert found["measurements"] == [
        {
            "name": "chunked / static",
            "of": "chunked / static",
            "unit": "x",
            "median": 2,
            "low": 1,
            "high": 4,
            "count": 3,
        }
    ]
    assert {"minibatch", "python", "numpy"} <= found["versions"].keys()


def test_a_file_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such folder"), reporting("bench", {}, tmp_path / "none" / "bench.json"):
        pytest.fail("it measured")
