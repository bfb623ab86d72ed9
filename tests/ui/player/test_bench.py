"""What the benchmark of the player looks at is there: it times nothing that a test could judge."""

from __future__ import annotations

from pathlib import Path

from playwright import sync_api

from minibatch.recording.schema import Recording
from minibatch.ui.player.bench import Bench
from minibatch.ui.player.page import page_html


def test_bench_sees_frames_and_what_the_page_holds(
    chromium: sync_api.Browser, pair: tuple[Recording, ...], tmp_path: Path
) -> None:
    path = tmp_path / "player.html"
    path.write_text(page_html(pair, {"autoplay": False}), encoding="utf-8")
    context = chromium.new_context(offline=True)
    bench = Bench(context.new_page(), path.as_uri())
    until_charts = bench.open(path.as_uri())
    assert 0 < bench.lanes_ms < until_charts
    frames = bench.play("close", 0.2)
    assert frames.rate > 0
    assert frames.loops > 0
    assert 0 <= frames.smooth <= 1
    before = bench.standing()
    bench.replace(2)
    after = bench.standing()
    assert before.nodes > 0
    assert abs(after.nodes - before.nodes) < 0.05 * before.nodes
    assert bench.left == []
    context.close()
