"""Why a step happened, what belongs to a request, predictions, and what if."""

from __future__ import annotations

from playwright import sync_api
from playwright.sync_api import expect

from minibatch.analysis.formats import three_figures
from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import Code
from minibatch.recording.storage import load
from tests.ui.app.driving import SECONDS, load_small, next_frame, open_player, pixels, ticks, wait_until
from tests.ui.browser import ROOT


def test_the_why_card_says_what_was_recorded(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small")
    player = watched.player
    runs = load_small()
    run = runs["continuous"]
    prefill = int(run.entries["iteration"][run.entries["phase"] == Phase.STALLED][0])
    watched.state(f"p.store.set({{focus: 2, position: p.store.runs[2].start[{prefill}]}})")
    card = player.locator(".mbw-card").first
    expect(card).to_contain_text(f"continuous · step {prefill}")
    (stall,) = [reason for i, reason in run.each_reason() if i == prefill and reason.code is Code.STALLED_BY_PREFILL]
    milliseconds = run.iterations["duration_ns"][prefill] / 1e6
    expect(card).to_contain_text(f"{stall.numbers['tokens']} tokens")
    expect(card).to_contain_text(f"{three_figures(milliseconds)} ms modelled")

    waits = next((i, reason) for i, reason in runs["static"].each_reason() if reason.code is Code.WAITS_BATCH)
    watched.state(f"p.store.set({{focus: 0, position: p.store.runs[0].start[{waits[0]}]}})")
    expect(card).to_contain_text(waits[1].sentence)
    card.get_by_text("The rule in static.py").click()
    expect(card).to_contain_text("builder.wait(Code.WAITS_BATCH")


def test_a_request_lights_up_everywhere_and_its_story_opens(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=chat")
    player = watched.player
    chat = {run.header.policy: run for run in load(ROOT / "assets" / "recordings" / "chat.mbr")}
    watched.state("p.store.set({position: 0.6 * p.store.runs[3].endTime})")
    before = [pixels(watched, f".mb-lane:nth-child({lane}) .mb-slots") for lane in (1, 2, 3, 4)]
    row = watched.state(
        "(() => { const r = p.store.runs[3], i = r.locate('time', p.store.position).i; const row = r.rowsAt(i)[0];"
        " return {slot: r.entries.slot[row], request: r.entries.request[row], i}; })()"
    )
    assert isinstance(row, dict)
    canvas = player.locator(".mb-lane").nth(3).locator(".mb-slots")
    box = canvas.bounding_box()
    assert box
    height = box["height"] / watched.state("p.store.runs[3].slots")  # type: ignore[operator]
    x = watched.state("p.lanes[3].scale.x(p.store.position)")
    canvas.hover(position={"x": x - 1, "y": height * (row["slot"] + 0.5)})  # type: ignore[operator]
    wait_until(watched, f"p.store.hover.request === {row['request']}")
    wait_until(watched, "p.lanes.every((lane) => lane.sideKey)")
    next_frame(watched)
    after = [pixels(watched, f".mb-lane:nth-child({lane}) .mb-slots") for lane in (1, 2, 3, 4)]
    assert all(was != now for was, now in zip(before, after, strict=True))

    canvas.click(position={"x": x - 1, "y": height * (row["slot"] + 0.5)})  # type: ignore[operator]
    assert watched.state("p.store.pinned") == row["request"]
    run, request = chat["chunked"], row["request"]
    rows = run.entries["iteration"][(run.entries["request"] == request) & (run.entries["generated"] > 0)]
    written = "".join(run.requests[request].pieces[: int((rows < row["i"]).sum())])
    expect(player.locator(".mbw-story")).to_contain_text(" ".join(written.split()[:6]))
    player.press("Escape")
    assert watched.state("p.store.pinned") == -1


def test_predictions_are_graded_right_and_wrong(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=kv-squeeze")
    panel = watched.player.get_by_role("region", name="Predict")
    seen = set()
    for _ in range(14):
        panel.get_by_role("button", name="Predict the next step").click()
        iteration = watched.state("p.store.hidden.iteration")
        assert ticks(watched) == iteration
        expect(watched.player.locator(".mb-right")).to_be_hidden()
        answer_field = panel.locator(".mbp-answer")
        if answer_field.get_by_role("radio").count():
            answer_field.get_by_role("radio").first.check()
            chosen = answer_field.locator("label").first.inner_text().strip()
        else:
            answer_field.get_by_role("textbox").fill("100000")
            chosen = ""
        panel.get_by_label("80 %", exact=True).check()
        panel.get_by_role("button", name="Commit").click()
        answer = panel.locator(".mbp-answered").inner_text()
        verdict, _, right_answer = answer.partition(": ")
        assert (verdict == "Right") == (bool(chosen) and right_answer.startswith(f"{chosen}."))
        seen.add(verdict)
        expect(watched.player.locator(".mb-right")).to_be_visible()
        panel.get_by_role("button", name="Go on").click()
        watched.state("p.store.set({isPlaying: false})")
        if seen == {"Right", "Wrong"}:
            break
    assert seen == {"Right", "Wrong"}
    assert watched.errors == []


def test_what_if_reruns_from_here_beside_the_unchanged_future(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small")
    player = watched.player
    for _ in range(10):
        player.press("ArrowRight")
    player.get_by_role("button", name="What if…").click()
    dialog = player.get_by_role("dialog", name="What if")
    dialog.get_by_label("Knob").select_option("max_num_batched_tokens")
    dialog.get_by_role("spinbutton").fill("64")
    dialog.get_by_role("button", name="Rerun from here").click()
    second = watched.page.locator(".mb-player").nth(1)
    expect(second.locator("h2").first).to_have_text(
        "What if, from step 10 of chunked, max_num_batched_tokens were 64 instead of 16?", timeout=SECONDS
    )
    assert second.evaluate("(e) => e.player.store.runs.map((run) => [run.label, run.clock, run.fork.iteration])") == [
        ["max_num_batched_tokens = 16", "modelled", 10],
        ["max_num_batched_tokens = 64", "modelled", 10],
    ]
    same = second.evaluate(
        "(e) => { const [a, b] = e.player.store.runs; return [a, b].map((run) => [...run.start].slice(0, 11)); }"
    )
    assert same[0] == same[1] == load_small()["chunked"].iterations["start_ns"].tolist()[:11]

    player.get_by_role("button", name="What if…").click()
    dialog.get_by_label("Knob").select_option("max_num_batched_tokens")
    dialog.get_by_role("spinbutton").fill("2")
    dialog.get_by_role("button", name="Rerun from here").click()
    expect(watched.page.get_by_role("alert")).to_contain_text("max_num_batched_tokens is 2", timeout=SECONDS)
    assert watched.errors == []
