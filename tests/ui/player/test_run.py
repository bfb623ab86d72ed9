"""What the player reads from a recording, against the Python that reads the same recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.timeline import Timeline
from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from tests.helpers import owner_rows
from tests.ui.player.conftest import Modules
from tests.ui.player.recordings import EACH_BUNDLED, each_memory, preempting


def assert_same_numbers(player: Modules, recordings: list[Recording]) -> None:
    player.load(recordings)
    for k, recording in enumerate(recordings):
        timeline, metrics = Timeline(recording), compute_metrics(recording)
        got = player.run(
            "const r = c.runs[argument]; return {n: r.n, start: [...r.start], end: [...r.end], flops: [...r.flops],"
            " held: [...Array(r.n).keys()].map((i) => r.heldBlocks(i)),"
            " written: r.written[r.n - 1], finished: r.finished[r.n - 1],"
            " stalled: r.stalled[r.n - 1], ttft: r.ttftP95[r.n - 1], itl: r.itlP95[r.n - 1],"
            " waiting: [...Array(r.n).keys()].map((i) => r.waitingAt(i, r.start[i]).length),"
            " sentences: r.reasons.map((reason) => r.sentence(reason)),"
            " tokens: [...r.prefillTokens].map((p, i) => p + r.decodeTokens[i])};",
            k,
        )
        assert got["n"] == recording.num_iterations
        assert got["start"] == recording.iterations["start_ns"].tolist()
        assert got["end"] == recording.end_of_iteration_ns.tolist()
        assert got["flops"] == recording.iterations["flops"].tolist()
        assert got["held"] == timeline.held_blocks.tolist()
        assert got["waiting"] == timeline.num_waiting.tolist()
        assert got["sentences"] == [reason.sentence for _, reason in recording.each_reason()]
        assert got["written"] == metrics["total_output_tokens"]
        assert got["finished"] == metrics["completed"]
        assert got["stalled"] / 1e9 == pytest.approx(metrics["stalled_s"])
        assert got["ttft"] / 1e6 == pytest.approx(metrics["p95_ttft_ms"])
        assert got["itl"] / 1e6 == pytest.approx(metrics["p95_itl_ms"])


@EACH_BUNDLED
def test_bundled_recordings_read_the_same_in_the_browser(player: Modules, path: Path) -> None:
    assert_same_numbers(player, load(path))


@each_memory
def test_preemptions_and_rejections_read_the_same(player: Modules, mode: str, layout: str) -> None:
    assert_same_numbers(player, [preempting(mode, layout)])


def test_blocks_and_queue_at_any_step_in_any_order(player: Modules) -> None:
    recording = preempting("swap")
    owners = np.full(14, -1)
    expected = []
    for i in range(recording.num_iterations):
        for iteration, block, owner in owner_rows(recording):
            if iteration == i:
                owners[block] = owner
        expected.append(owners.tolist())
    assert len(expected) > 64
    order = [len(expected) - 1, 3, 70, 0, 64, 63, 65, 10, *range(len(expected))]
    got = player.load([recording]).run(
        "return argument.map((i) => [...Array(14).keys()].map((b) => c.runs[0].ownersAt(i)[b] ?? -1));", order
    )
    assert got == [expected[i] for i in order]
