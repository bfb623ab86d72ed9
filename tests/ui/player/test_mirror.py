"""Lanes in words, and their counters, against the metrics that Python computes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minibatch.analysis.metrics import compute_metrics
from minibatch.recording.storage import load
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of
from tests.ui.player.conftest import Modules
from tests.ui.player.recordings import EACH_BUNDLED, preempting

FOUR = SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=16, max_model_len=64, num_kv_blocks=64, block_size=4)
DESCRIBE = """
const { describeLane } = await load("shell/mirror.js");
return describeLane(c.runs[0], c.runs[0].locate("iterations", argument));
"""
COUNT = """
const { counters } = await load("lanes/counters.js");
return c.runs.map((run) => counters(run, run.locate("time", argument ?? run.endTime)));
"""


@EACH_BUNDLED
def test_at_the_end_the_counters_are_the_metrics(player: Modules, path: Path) -> None:
    for recording, now in player.each(load(path), COUNT):
        metrics = compute_metrics(recording)
        assert now["tokensPerSecond"] == pytest.approx(metrics["output_throughput"])
        assert now["utilization"] == pytest.approx(metrics["slot_utilization"])
        assert now["stalled"] / 1e9 == pytest.approx(metrics["stalled_s"])
        assert now["ttftP95"] / 1e6 == pytest.approx(metrics["p95_ttft_ms"])
        assert (now["done"], now["total"]) == (metrics["completed"], metrics["completed"])
        assert (now["busy"], now["held"], now["kv"], now["waiting"]) == (0, 0, 0, 0)


def test_counters_within_a_step_count_what_has_ended(player: Modules) -> None:
    recording = record(requests_of([(4, 9), (5, 9), (12, 3, 2.5), (3, 2, 3.2)]), "continuous", FOUR)
    # Step 0 ends at 1.9 ms, step 1 at 3.1 ms with two tokens each; step 2 prefills r2, and r3 arrives meanwhile.
    (now,) = player.load([recording]).run(COUNT, round(4e6))
    assert now["written"] == 4
    assert now["tokensPerSecond"] == pytest.approx(4 / 4e-3)
    assert now["busy"] == 1
    assert now["waiting"] == 1
    assert now["stalled"] == 0
    assert now["held"] == 2 + 2 + 3
    (later,) = player.run(COUNT, round(5.31e6))
    assert later["stalled"] == 2 * 2_200_000
    (before,) = player.run(COUNT, 0)
    assert before["tokensPerSecond"] is None or before["tokensPerSecond"] != before["tokensPerSecond"]


def test_between_two_steps_blocks_of_finished_requests_are_free(player: Modules) -> None:
    recording = record(requests_of([(4, 2), (5, 2, 50.0)]), "continuous", FOUR)
    (now,) = player.load([recording]).run(COUNT, round(20e6))
    assert (now["held"], now["busy"], now["done"]) == (0, 0, 1)


def test_a_lane_with_a_chunk_in_words(player: Modules) -> None:
    recording = record(requests_of([(4, 9), (5, 9), (30, 3, 2.5), (3, 2, 2.6)]), "chunked", FOUR)
    said = player.load([recording]).run(DESCRIBE, 2)
    assert said[0] == "Step 2, 2.60 ms modelled: 3 of 4 slots busy."
    assert said[1] == "Slots 0 and 1 decode r0 and r1; slot 2 prefills r2, 14 of 30 tokens; slot 3 idle while 1 waits."
    assert said[2].startswith("So far, modelled: 1,290 tokens/s, 0 of 4 requests done, ")
    assert said[3] == "KV: 8 of 64 blocks held, 13 %."
    assert said[4] == (
        "r0 holds 2 blocks, the last with 2 of 4 tokens, r1 holds 2 blocks, the last with 3 of 4 tokens "
        "and r2 holds 4 blocks, the last with 2 of 4 tokens."
    )
    assert said[5] == "The queue, first come first: r3."


def test_padding_stalls_and_reserved_blocks_in_words(player: Modules) -> None:
    two = replace(FOUR, max_num_seqs=2)
    padded = record(requests_of([(4, 2), (5, 6)]), "static", two)
    assert player.load([padded]).run(DESCRIBE, 4)[1] == "Slot 1 decodes r1; slot 0 padded for r0."
    stalled = record(requests_of([(4, 9), (12, 3, 1.2)]), "continuous", replace(two, kv_layout="contiguous"))
    said = player.load([stalled]).run(DESCRIBE, 1)
    assert said[1] == "Slot 1 prefills r1, all 12 tokens; slot 0 gets no token for r0."
    assert said[3:6] == [
        "KV: 32 of 64 blocks held, 50 %.",
        "r0 holds 16 blocks for 4 tokens and r1 holds 16 blocks for 12 tokens.",
        "Reserved and not used: room for 112 tokens.",
    ]


@pytest.mark.parametrize("mode", ["recompute", "swap"])
def test_every_moment_has_words(player: Modules, mode: str) -> None:
    recording = preempting(mode)
    script = """
    const { describeLane } = await load("shell/mirror.js");
    const [run] = c.runs;
    const times = Array.from({ length: 4 * run.n }, (_, k) => (k / (4 * run.n - 1)) * run.endTime);
    return times.map((t) => describeLane(run, run.locate("time", t)).join(" "));
    """
    said = player.load([recording]).run(script)
    assert not [text for text in said if "undefined" in text or "NaN" in text or "–  " in text]
    assert any("(in host memory)" in text or "(preempted)" in text for text in said)
    assert "The recording ends after" in said[-1]


def test_the_section_has_a_paragraph_for_each_lane_and_chart(player: Modules) -> None:
    recordings = [record(requests_of([(4, 9), (5, 9)]), name, FOUR) for name in ("continuous", "chunked")]
    script = """
    const { Store } = await load("core/store.js");
    const { Mirror } = await load("shell/mirror.js");
    const store = new Store(c, { axis: "iterations", position: 1 });
    let told = 0;
    const mirror = new Mirror(store, (run, place) => [`<b>${run.policy}</b> ${place.i}`, String(++told)]);
    document.body.replaceChildren(mirror.element);
    mirror.update(store.places);
    const closed = told;
    mirror.element.querySelector("summary").click();
    await new Promise((done) => setTimeout(done, 50));
    const texts = [...mirror.element.querySelectorAll("h3, p")].map((part) => part.textContent);
    const before = told;
    store.set({ position: 3 });
    mirror.update(store.places);
    const still = told;
    store.set({ isPlaying: true, position: 4 });
    for (let k = 0; k < 5; k++) { store.set({ position: 4 + k / 10 }); mirror.update(store.places); }
    return { closed, texts, moved: still - before, played: told - still, bold: mirror.element.querySelector("b") };
    """
    got = player.load(recordings).run(script)
    assert got["closed"] == 0
    assert [text for text in got["texts"] if text in ("continuous", "chunked")] == ["continuous", "chunked"]
    assert "<b>continuous</b> 1" in got["texts"]
    assert got["bold"] is None
    assert got["moved"] == 2
    assert got["played"] == 0
