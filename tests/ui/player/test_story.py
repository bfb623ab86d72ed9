"""The story of a request: its ledger against the one Python keeps, and its text, which no page takes for HTML."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from minibatch.analysis.ledger import REQUEST_COLUMNS, request_ledger
from minibatch.analysis.timeline import Timeline
from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import MS, record, requests_of
from tests.ui.player.conftest import Modules
from tests.ui.player.recordings import BUNDLED, EACH_BUNDLED, each_memory, preempting
from tests.ui.recordings import HTML, static

LEDGERS = """
const { requestLedger, requestParts } = await load("why/ledger.js");
return c.runs.map((run) => run.requests.map(({ id }) => [requestLedger(run, id), requestParts(run, id)]));
"""
STORY = """
const { Store } = await load("core/store.js");
const { Story } = await load("why/story.js");
const store = new Store(c, { focus: 0, axis: "time", position: argument.position });
const story = new Story(store);
document.body.replaceChildren(story.element);
const tell = () => { story.update(store.places); return story.element.innerText; };
const passages = () => [...story.element.querySelectorAll(".mbw-passage")].map((part) => part.textContent);
"""


def assert_same_ledger(recording: Recording, told: list[Any]) -> None:
    timeline = Timeline(recording)
    expected = request_ledger(timeline)
    for request, (totals, parts) in enumerate(told):
        assert totals == {name: int(expected[name][request]) for name in REQUEST_COLUMNS}
        assert all(part["from"] < part["to"] for part in parts)
        assert all(a["to"] == b["from"] and a["kind"] != b["kind"] for a, b in pairwise(parts))
        if timeline.completed[request]:
            arrival = recording.requests[request].arrival_ns
            assert parts[0]["from"] == arrival
            assert sum(totals.values()) == int(timeline.last_token_ns[request]) - arrival


@EACH_BUNDLED
def test_ledgers_of_bundled_recordings_sum_to_e2e(player: Modules, path: Path) -> None:
    for recording, told in player.each(load(path), LEDGERS):
        assert_same_ledger(recording, told)


@each_memory
def test_ledgers_with_preemptions_and_rejections(player: Modules, mode: str, layout: str) -> None:
    recording = preempting(mode, layout)
    (told,) = player.load([recording]).run(LEDGERS)
    assert_same_ledger(recording, told)
    assert told[6] == [dict.fromkeys(REQUEST_COLUMNS, 0), []]  # rejected


def test_a_run_that_was_cut_off_counts_to_its_end(player: Modules) -> None:
    whole = preempting("recompute")
    requests = [replace(r, finish_reason=None) if k in (3, 4) else r for k, r in enumerate(whole.requests)]
    recording = replace(whole, requests=tuple(requests), header=replace(whole.header, complete=False))
    (told,) = player.load([recording]).run(LEDGERS)
    assert_same_ledger(recording, told)
    assert told[3][1][-1]["to"] == recording.end_ns


def test_parts_worked_out_by_hand(player: Modules) -> None:
    config = SchedulerConfig(max_num_seqs=2, max_num_batched_tokens=16, max_model_len=64, num_kv_blocks=64)
    recording = record(requests_of([(4, 4), (6, 2, 1.0)]), "continuous", config)
    # 0-1.4 prefill r0; 1.4-3.0 prefill r1 while r0 stalls; 3.0-4.2 both write, r1 ends; 4.2-5.3, 5.3-6.4 r0 alone
    (told,) = player.load([recording]).run(LEDGERS)
    parts = [[(part["kind"], part["from"] / MS, part["to"] / MS) for part in each[1]] for each in told]
    assert parts == [
        [("prefill", 0, 1.4), ("stalled", 1.4, 3.0), ("decode", 3.0, 6.4)],
        [("queue", 1.0, 1.4), ("prefill", 1.4, 3.0), ("decode", 3.0, 4.2)],
    ]


def test_text_up_to_the_playhead_stays_text(player: Modules) -> None:
    recording = static()  # r1 was asked HTML and writes "c", "d", "e", ending at 10, 20 and 30 ms
    texts = [replace(r, pieces=("<b>c", "</b>", "<img src=x onerror=alert(1)>")) for r in recording.requests]
    recording = replace(recording, requests=tuple(texts))
    got = player.load([recording]).run(
        STORY
        + """
        tell();
        const nothing = story.body.hidden;
        story.select.value = "1";
        story.select.dispatchEvent(new Event("change"));
        const early = tell() && passages();
        store.set({ position: 60e6 });
        const late = tell() && passages();
        const elements = story.element.querySelectorAll("b:not(.mbw-key b), img").length;
        story.unpin.click();
        tell();
        return { nothing, early, late, elements, pinned: store.pinned, hidden: story.body.hidden };
        """,
        {"position": 15 * MS},
    )
    assert got == {
        "nothing": True,
        "early": [HTML, "<b>c"],
        "late": [HTML, "<b>c</b><img src=x onerror=alert(1)>"],
        "elements": 0,
        "pinned": -1,
        "hidden": True,
    }


def test_the_waterfall_sums_and_says_who_is_further(player: Modules) -> None:
    config = SchedulerConfig(max_num_seqs=2, max_num_batched_tokens=16, max_model_len=64, num_kv_blocks=64)
    requests = requests_of([(4, 4), (6, 2, 1.0)])
    recordings = [record(requests, name, config) for name in ("continuous", "chunked")]
    got = player.load(recordings).run(
        STORY
        + """
        store.set({ hover: { request: 0, slot: -1, block: -1, iteration: -1, lane: -1 } });
        const text = tell();
        const numbers = [...story.element.querySelectorAll(".mbw-numbers")].map((line) => line.textContent);
        const veil = story.element.querySelector(".mbw-veil").style.left;
        store.set({ hidden: { lane: 0, iteration: 2 } });
        tell();
        const asked = [...story.element.querySelectorAll(".mbw-numbers")].map((line) => line.textContent);
        return { text, numbers, veil, asked };
        """,
        {"position": round(3.2 * MS)},
    )
    assert got["numbers"][0] == "prefill 1.40 ms + decode 3.40 ms + stalled 1.60 ms = 6.40 ms modelled"
    assert got["veil"] == "50%"
    assert "Tokens at this moment: continuous 1, chunked 2." in got["text"]
    assert "A modelled run computes times, not text." in got["text"]
    assert got["asked"][0] == ""
    assert got["asked"][1] == got["numbers"][1]


@pytest.mark.parametrize("width", [390, 1920])
def test_the_story_and_the_card_fit_the_page(player: Modules, width: int) -> None:
    player.page.set_viewport_size({"width": width, "height": 900})
    recordings = load(next(path for path in BUNDLED if path.stem == "long-document"))
    got = player.load(recordings).run(
        STORY
        + """
        const style = document.createElement("link");
        style.rel = "stylesheet";
        style.href = "/why/why.css";
        await new Promise((done) => { style.onload = done; document.head.append(style); });
        const { WhyCard } = await load("why/why_card.js");
        const card = new WhyCard(store);
        document.body.prepend(card.element);
        card.element.querySelector("details").open = true;
        store.set({ pinned: 9 });
        card.update(store.places);
        tell();
        const box = card.element.querySelector(".mbw-source");
        return { page: document.documentElement.scrollWidth, box: box.scrollHeight > box.clientHeight };
        """,
        {"position": 400 * MS},
    )
    assert got["page"] <= width
    assert got["box"]
