"""FLOPs and bytes of a recording are those of its entries, or it was altered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minibatch.analysis.counted_work import check_counted_work
from minibatch.recording.storage import load
from tests.ui.player.recordings import BUNDLED, preempting, tight


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_bundled_recordings_count_what_they_ran(path):
    for run in load(path):
        check_counted_work(run)


@pytest.mark.parametrize("column", ["flops", "bytes_weights", "bytes_kv", "bytes_activations"])
def test_an_altered_count_is_named(column):
    for run in (preempting("swap"), tight("static")):
        check_counted_work(run)
        values = run.iterations[column].copy()
        values[3] += 1
        with pytest.raises(ValueError, match=f"iteration 3 has {column} of {values[3]:,}"):
            check_counted_work(replace(run, iterations={**run.iterations, column: values}))
