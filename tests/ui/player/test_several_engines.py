"""A run of several engines in a real browser: a lane for each, with shared blocks and several tokens a step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from playwright import sync_api

from minibatch.analysis.ledger import request_ledger
from minibatch.analysis.timeline import Timeline
from minibatch.recording.engine_recordings import engine_recordings
from minibatch.ui.player.page import page_html
from tests.recording.several_engines import several_engines
from tests.ui.player.conftest import Modules


def test_each_engine_is_a_lane_with_the_numbers_of_its_recording(player: Modules) -> None:
    run = several_engines()
    got = player.load([run]).run(
        "const {requestLedger} = await load('why/ledger.js');"
        "return c.runs.map((r) => ({label: r.label, start: [...r.start], written: [...r.written],"
        " held: [...Array(r.n).keys()].map((i) => r.heldBlocks(i)),"
        " waiting: [...Array(r.n).keys()].map((i) => r.waitingAt(i, r.start[i]).length),"
        " sentences: r.reasons.map((reason) => r.sentence(reason)),"
        " ledgers: r.requests.map(({id}) => Object.values(requestLedger(r, id)))}))"
    )
    assert [lane["label"] for lane in got] == ["chunked, prefill-0", "chunked, decode-0"]
    for lane, part in zip(got, engine_recordings(run), strict=True):
        timeline = Timeline(part)
        generated = np.bincount(part.entries["iteration"], part.entries["generated"])
        assert lane["start"] == part.iterations["start_ns"].tolist()
        assert lane["written"] == np.cumsum(generated).tolist()
        assert lane["held"] == timeline.held_blocks.tolist()
        assert lane["waiting"] == timeline.num_waiting.tolist()
        assert lane["sentences"] == [reason.sentence for _, reason in part.each_reason()]
        assert lane["ledgers"] == np.stack(list(request_ledger(timeline).values()), axis=1).tolist()
    assert [lane["held"] for lane in got] == [[2, 3, 1], [3, 6, 3]]


def test_a_shared_block_is_its_first_owners_and_a_cached_one_is_free(player: Modules) -> None:
    script = "const r = c.runs[0]; return [0, 1, 2].map((i) => [r.ownersAt(i)[0], r.tableOf(1, i)]);"
    assert player.load([several_engines()]).run(script) == [[0, []], [0, [0, 2]], [-1, []]]


def test_a_page_of_it_plays_to_the_end_without_an_error(chromium: sync_api.Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_html([several_engines()]), encoding="utf-8")
    page = chromium.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"file://{path}?axis=iterations&autoplay=1")
    page.locator(".mb-lane-side canvas").first.wait_for()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    lanes = page.locator(".mb-lane-side").count()
    page.close()
    assert lanes == 2
    assert errors == []
