"""What the player says about a decision, against recordings that are worked out by hand and all bundled ones."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import Code
from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import cut_short, record, requests_of
from tests.ui.player.conftest import Modules
from tests.ui.player.recordings import EACH_BUNDLED, each_memory, preempting

FOUR = SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=16, max_model_len=64, num_kv_blocks=64, block_size=4)
EXPLAIN_ALL = """
const { explain } = await load("why/why.js");
return c.runs.map((run) => Array.from({ length: run.n + 2 }, (_, i) => explain(run, i - 1)));
"""


def explained(player: Modules, recording: Recording, i: int) -> dict[str, Any]:
    player.load([recording])
    return player.run("const { explain } = await load('why/why.js'); return explain(c.runs[0], argument);", i)


def gap(player: Modules, recording: Recording, t_ms: float) -> dict[str, Any]:
    player.load([recording])
    script = "const w = await load('why/why.js'); return w.explainPlace(c.runs[0], c.runs[0].locate('time', argument));"
    return player.run(script, round(t_ms * 1e6))


def test_a_prompt_that_runs_alone_stalls_the_others(player: Modules) -> None:
    recording = record(requests_of([(4, 9), (5, 9), (12, 3, 2.5)]), "continuous", FOUR)
    # Steps 0 (1.9 ms: both prompts) and 1 (1.2 ms: two decodes) end at 3.1 ms, after r2's arrival.
    assert explained(player, recording, 2) == {
        "headline": "r2's prompt runs alone; 2 requests get no token.",
        "sentences": [
            "r0 and r1 get no token: this step prefills r2's 12 tokens (2.20 ms modelled).",
            "r2 is admitted to slot 2: takes 3 of 60 free blocks.",
        ],
        "codes": ["stalled_by_prefill", "admitted"],
    }
    plain = explained(player, recording, 3)
    assert plain["headline"] == "3 requests generate one token each; the queue is empty."
    assert plain["sentences"][0].startswith("This step takes 1.30 ms modelled and reads ")
    assert plain["codes"] == ["decode"]


def test_a_budget_that_is_full(player: Modules) -> None:
    recording = record(requests_of([(4, 9), (5, 9), (30, 3, 2.5)]), "chunked", FOUR)
    said = explained(player, recording, 2)
    assert said["headline"] == "2 requests decode while r2 prefills 14 tokens."
    assert said["sentences"][0] == (
        "2 decodes first, then 14 of r2's 30 prompt tokens: the 16-token budget is full (2.60 ms modelled)."
    )
    assert (
        said["sentences"][2]
        == "The prompt tokens make this step 1.40 ms longer for the 2 that decode (estimated from modelled steps)."
    )
    assert said["codes"] == ["chunk", "decode", "admitted"]
    last = explained(player, recording, 4)["sentences"][0]
    assert last.startswith("2 decodes first, then the last 2 of r2's 30 prompt tokens: 12 of the 16-token budget are")


def test_a_slot_that_is_held_for_a_finished_request(player: Modules) -> None:
    recording = record(requests_of([(4, 2), (5, 6)]), "static", replace(FOUR, max_num_seqs=2))
    said = explained(player, recording, 4)
    assert said["headline"] == "Slot 0 is padded."
    assert said["sentences"][0] == "Slot 0 is padded: r0 finished 3 steps ago, r1 is still generating."
    assert said["codes"] == ["padding", "decode"]
    held = record(requests_of([(4, 2), (5, 6)]), "static", replace(FOUR, max_num_seqs=2, compute_padding=False))
    assert explained(player, held, 4)["headline"] == "Slot 0 is held."


def test_who_waits_and_for_what(player: Modules) -> None:
    two = replace(FOUR, max_num_seqs=2)
    recording = record(requests_of([(4, 5), (5, 5), (3, 5, 0.5), (3, 5, 0.6)]), "continuous", two)
    said = explained(player, recording, 1)
    assert said["headline"] == "r2 waits for a slot, and 1 more behind it."
    assert said["sentences"][0] == "r2 waits: needs a slot, 0 of 2 free; in the queue for 1.40 ms modelled."
    # The wait is noted once and holds until it is admitted.
    assert explained(player, recording, 3)["sentences"][0].startswith(
        "r2 waits: needs a slot, 0 of 2 free; in the queue"
    )
    static = record(requests_of([(4, 5), (5, 3), (3, 5, 0.5)]), "static", two)
    assert explained(player, static, 1)["headline"] == "r2 waits for the batch to end."


def test_what_an_open_window_waits_for(player: Modules) -> None:
    config = replace(FOUR, max_wait=0.01)
    requests = requests_of([(4, 2, 1.0), (5, 2, 4.0), (5, 2, 40.0)])
    recording = record(requests, "dynamic", config)
    assert gap(player, recording, 0.5)["headline"] == "Idle: the queue is empty."
    assert gap(player, recording, 0.5)["sentences"] == ["r0 arrives at 0.001 s modelled."]
    assert gap(player, recording, 5) == {
        "headline": "The window is open.",
        "sentences": [
            "2 of 4 requests are here, the oldest for 4.00 ms modelled.",
            "The window closes when all 4 are here, or at 0.011 s modelled.",
        ],
        "codes": ["waits_window"],
    }
    assert gap(player, recording, 2)["sentences"][0].startswith("1 of 4 requests is here")
    closed = explained(player, recording, 0)
    assert closed["headline"] == "The window closes: its time is up."
    assert closed["sentences"][0] == (
        "The window closes with 2 of 4 requests: the oldest has waited 10.0 ms modelled, 10 ms at most."
    )
    assert explained(player, recording, recording.num_iterations)["headline"].startswith("Done: 3 requests in ")


def test_before_the_first_step_and_after_a_cancelled_run(player: Modules) -> None:
    recording = record(requests_of([(4, 2), (5, 2)]), "static", FOUR)
    assert explained(player, recording, -1) == {
        "headline": "Nothing has run yet.", "sentences": ["r0 and r1 wait."], "codes": [],
    }  # fmt: skip
    unfinished = [replace(request, finish_reason=None) for request in recording.requests]
    cut = replace(
        recording, header=replace(recording.header, complete=False), requests=(recording.requests[0], unfinished[1])
    )
    assert explained(player, cut, 2)["headline"] == "The run was cancelled here."
    script = "const w = await load('why/why.js'), r = c.runs[0];return w.explainPlace(r, r.locate('time', 1e9), true);"
    assert player.run(script)["headline"] == "r0 and r1 finish with this step."


@pytest.mark.parametrize("mode", ["recompute", "swap"])
def test_a_preemption_comes_first(player: Modules, mode: str) -> None:
    recording = preempting(mode)
    code = Code.PREEMPTED_RECOMPUTE if mode == "recompute" else Code.PREEMPTED_SWAP
    player.load([recording])
    noted = [(i, reason) for i, reason in recording.each_reason() if reason.code is code]
    assert noted
    for i, reason in noted:
        said = player.run("const { explain } = await load('why/why.js'); return explain(c.runs[0], argument);", i)
        assert said["codes"][0] == code
        assert said["headline"].startswith("Memory is full: ")
        assert f"r{reason.request_id}" in said["headline"]


def assert_agrees(recording: Recording, said: list[dict[str, Any]]) -> None:
    """Every sentence is short, and its numbers are those of the recording."""
    entries = recording.entries
    stalls = {i: reason.numbers for i, reason in recording.each_reason() if reason.code is Code.STALLED_BY_PREFILL}
    assert len(said) == recording.num_iterations + 2
    for i, step in enumerate(said[1:-1]):
        assert step["headline"]
        assert 1 <= len(step["sentences"]) <= 3
        assert all(
            0 < len(sentence) <= 220 and sentence.endswith(".") for sentence in [step["headline"], *step["sentences"]]
        )
        assert not re.search("undefined|NaN|null", " ".join([step["headline"], *step["sentences"]]))
        here = entries["iteration"] == i
        count = {phase: int((here & (entries["phase"] == phase)).sum()) for phase in Phase}
        if i in stalls:
            assert step["codes"][0] in (
                "stalled_by_prefill",
                "preempted_recompute",
                "preempted_swap",
                "rejected_length",
            )
            assert count[Phase.STALLED] == stalls[i]["stalled"]
            tokens = int(entries["tokens"][here & (entries["phase"] == Phase.PREFILL)].sum())
            assert f"{tokens:,} token" in " ".join(step["sentences"])
        if step["codes"] == ["decode"] and count[Phase.DECODE] > 1:
            assert step["headline"].startswith(f"{count[Phase.DECODE]} requests generate one token each")
        if step["codes"][0] == "padding":
            assert count[Phase.PADDING]
        for left in re.findall(r"(\d+) left of the \d+-token budget", " ".join(step["sentences"])):
            computed = int((entries["tokens"] + entries["padding"])[here].sum())
            assert int(left) == recording.header.token_budget - computed


@EACH_BUNDLED
def test_every_step_of_every_bundled_recording_is_explained(player: Modules, path: Path) -> None:
    for recording, said in player.each(load(path), EXPLAIN_ALL):
        assert_agrees(recording, said)


@each_memory
@pytest.mark.parametrize("policy", ["static", "dynamic", "continuous", "chunked"])
def test_every_step_with_preemptions_and_rejections_is_explained(
    player: Modules, mode: str, layout: str, policy: str
) -> None:
    for recording, said in player.each([preempting(mode, layout, policy)], EXPLAIN_ALL):
        assert_agrees(recording, said)


def test_the_card_says_where_it_is_why_and_what_the_others_do(player: Modules) -> None:
    recordings = [record(requests_of([(4, 9), (5, 9), (12, 3, 2.5)]), name, FOUR) for name in ("continuous", "chunked")]
    script = """
    const { Store } = await load("core/store.js");
    const { WhyCard } = await load("why/why_card.js");
    const store = new Store(c, { focus: 0, axis: "iterations", position: 2 });
    const card = new WhyCard(store);
    document.body.replaceChildren(card.element);
    card.element.querySelector("details").open = true;
    card.update(store.places);
    const marked = () => [...card.element.querySelectorAll(".mbw-decides")].map((line) => line.innerText.trim());
    const first = {
      where: card.element.querySelector(".mbw-where").textContent,
      headline: card.element.querySelector("h3").textContent,
      others: [...card.element.querySelectorAll("li")].map((item) => item.textContent),
      rule: card.element.querySelector("summary").textContent, marked: marked(),
      live: card.said.getAttribute("aria-live"),
    };
    store.set({ isPlaying: true, position: 3 });
    card.update(store.places);
    const soon = card.element.querySelector(".mbw-where").textContent;
    await new Promise((done) => setTimeout(done, 200));
    card.update(store.places);
    const later = card.element.querySelector(".mbw-where").textContent;
    return { first, soon, later, live: card.said.getAttribute("aria-live"), scrolled: window.scrollY };
    """
    got = player.load(recordings).run(script)
    first = got["first"]
    assert first["where"] == "continuous · step 2"
    assert first["headline"] == "r2's prompt runs alone; 2 requests get no token."
    assert first["others"] == ["chunked: 2 requests decode while r2 prefills 12 tokens."]
    assert first["rule"] == "The rule in continuous.py"
    assert any("elif not self._admit(builder):" in line and line.startswith("▶") for line in first["marked"])
    assert first["live"] == "polite"
    assert (got["soon"], got["later"], got["live"]) == ("continuous · step 2", "continuous · step 3", "off")
    assert got["scrolled"] == 0


def test_a_request_that_nobody_had_sent_has_no_time(player: Modules) -> None:
    recording = cut_short([(4, 3), (90, 3), (4, 3), (4, 3)], 2, think_s=0.005)
    script = """
    const { explainPlace } = await load("why/why.js");
    const { Store } = await load("core/store.js");
    const { Story } = await load("why/story.js");
    const [run] = c.runs;
    const told = [];
    const store = new Store(c, { focus: 0, axis: "time", position: 0 });
    const story = new Story(store);
    document.body.replaceChildren(story.element);
    store.set({ pinned: 3 });
    for (let k = 0; k <= 40; k++) {
      const t = Math.round((run.endTime * k) / 40);
      store.set({ position: t });
      story.update(store.places);
      told.push(JSON.stringify(explainPlace(run, run.locate("time", t))), story.element.innerHTML);
    }
    return told.join(" ");
    """
    told = player.load([recording]).run(script)
    assert "never arrived" in told
    for nonsense in ("1,000,000 s", "1000000", "Infinity", "NaN", "∞"):
        assert nonsense not in told
