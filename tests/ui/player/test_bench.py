"""What the benchmark of the player looks at is there: it times nothing that a test could judge."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright import sync_api

from minibatch.bench import pages as bench_pages
from minibatch.bench.player import Bench
from minibatch.recording.schema import Recording
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


def test_bench_sees_when_a_page_answers(
    chromium: sync_api.Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_pages, "VISITS", 1)
    # In a task of its own: of the one that loads the page, a browser may have measured but a part.
    wait = "const end = performance.now() + 200; while (performance.now() < end);"
    busy = f"<script>setTimeout(() => {{ {wait} }});</script>"
    card = "<section class='mbl-card'><button disabled>Up</button><button>Down</button></section>"
    (tmp_path / "lesson.html").write_text(f"<!doctype html>{busy}{card}", encoding="utf-8")
    ((name, opening),) = bench_pages.openings(chromium, tmp_path)
    assert name == "lesson"
    assert opening.longest >= 200
    assert opening.quiet >= opening.longest
    assert opening.usable > 0
