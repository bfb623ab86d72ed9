"""The app in a real browser: what the player does, what the page asks the network for, and whether it fits."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright import sync_api
from playwright.sync_api import expect

from minibatch.analysis.formats import three_figures
from minibatch.recording.reasons import Code
from minibatch.recording.schema import Phase, Recording
from minibatch.recording.storage import load, save
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of
from tests.ui.browser import ROOT, Watched, app_server
from tests.ui.recordings import HTML, IMAGE, continuous, static

BUNDLED = ROOT / "assets" / "recordings"
SECONDS = 60_000
LONG_PROMPT = [(6, 40), (5, 40), (7, 40), (90, 8, 12.0), (6, 12, 20.0)]
"""(prompt, output[, arrival in ms]): three write when a long prompt arrives."""


def small(policy: str) -> Recording:
    config = SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=16, max_model_len=128, num_kv_blocks=64)
    return record(requests_of(LONG_PROMPT), policy, config)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("recordings")
    for name in ("chat", "kv-squeeze"):
        shutil.copy(BUNDLED / f"{name}.mbr", folder)
    save(folder / "small.mbr", [small(policy) for policy in ("static", "dynamic", "continuous", "chunked")])
    odd = replace(static(), header=replace(static().header, policy=IMAGE, model=IMAGE, device=IMAGE, scenario=IMAGE))
    save(folder / "odd.mbr", [odd])
    save(folder / "twice.mbr", [odd, odd])
    hostile = [replace(run, header=replace(run.header, scenario=HTML)) for run in (static(), continuous())]
    save(folder / "hostile.mbr", hostile)
    with app_server(folder) as url:
        yield url


@pytest.fixture
def context(chromium: sync_api.Browser) -> Iterator[sync_api.BrowserContext]:
    context = chromium.new_context(viewport={"width": 1440, "height": 1000}, accept_downloads=True)
    yield context
    context.close()


def open_player(context: sync_api.BrowserContext, url: str) -> Watched:
    """The page at `url` when its player has drawn, standing still at the start unless the link says otherwise."""
    watched = Watched(context.new_page(), url.partition("?")[0].rstrip("/"))
    watched.page.goto(url)
    expect(watched.player.locator(".mb-lane").first).to_be_attached(timeout=SECONDS)
    expect(watched.player.locator(".mb-right canvas").first).to_be_attached(timeout=SECONDS)
    if "t=" not in url:
        watched.state("(p.store.set({isPlaying: false}), p.store.set({position: 0}))")
    return watched


def ticks(watched: Watched) -> int:
    """The step that the transport names, once the frame is drawn."""
    next_frame(watched)
    words = watched.player.locator(".mb-step").inner_text()
    found = re.search(r"step (\d+)$", words)
    return int(found[1]) if found else -1


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark"), (1920, "light")])
def test_draws_lanes_and_charts_alone_and_within_the_window(
    chromium: sync_api.Browser, address: str, width: int, scheme: str
) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    watched = open_player(context, f"{address}/?recording=chat")
    page, player = watched.page, watched.player
    lanes = player.locator(".mb-lane:visible")
    assert lanes.count() == (1 if width == 390 else 4)
    expect(lanes.first.locator(".mb-done")).to_contain_text("done")
    boxes = [box for canvas in player.locator(".mb-slots:visible").all() if (box := canvas.bounding_box())]
    assert len({(box["x"], box["width"]) for box in boxes}) == 1
    overflow = page.evaluate(
        "[document.documentElement, document.querySelector('[data-testid=stMain]')]"
        ".map(element => element.scrollWidth - element.clientWidth)"
    )
    assert overflow == [0, 0]
    dark = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor") == "rgb(20, 23, 27)"
    assert dark == (scheme == "dark")
    assert watched.state("p.theme.isDark") == dark
    colours = player.locator(".mb-slots:visible").first.evaluate(
        "(canvas) => { const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
        " return new Set(Array.from({length: data.length / 4}, (_, k) => data.slice(4 * k, 4 * k + 3).join())).size; }"
    )
    assert colours > 20
    assert watched.outside == []
    assert watched.errors == []
    context.close()


def test_a_narrow_page_shows_one_lane_at_a_time(chromium: sync_api.Browser, address: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 900})
    watched = open_player(context, f"{address}/?recording=small")
    watched.player.get_by_role("group", name="Lane").get_by_role("button", name="static").click()
    expect(watched.player.locator(".mb-lane:visible .mb-policy")).to_have_text("static")
    context.close()


def test_plays_pauses_steps_scrubs_and_jumps_by_mouse_and_keys(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small")
    page, player = watched.page, watched.player
    runs = load_small()
    chunked = runs["chunked"]
    start, n = chunked.iterations["start_ns"].tolist(), chunked.num_iterations

    player.get_by_role("button", name="Play (Space)").click()
    expect(player.get_by_role("button", name="Pause (Space)")).to_be_visible()
    wait_until(watched, "p.store.position > 0")
    player.get_by_role("button", name="Pause (Space)").click()
    assert watched.state("p.store.isPlaying") is False

    player.press("Home")
    for expected in (1, 2, 3):
        player.press("ArrowRight")
        assert watched.state("p.store.position") == start[expected]
        assert ticks(watched) == expected
    player.press("ArrowLeft")
    assert ticks(watched) == 2
    player.get_by_role("button", name="One step forward (→)").click()
    assert ticks(watched) == 3

    player.press("Home")
    player.get_by_label("Event to jump to").select_option("finish")
    finishes = sorted({i for i, reason in chunked.each_reason() if reason.code.startswith("finished_")})
    for expected in finishes[:2]:
        player.press("Shift+ArrowRight")
        assert watched.state("p.store.position") == start[expected]
    player.press("PageUp")  # a clicker's key
    assert watched.state("p.store.position") == start[finishes[0]]

    slider = player.get_by_label("Playhead")
    slider.fill("0.5")
    assert watched.state("p.store.position / p.store.end") == pytest.approx(0.5)
    player.press("End")
    assert ticks(watched) == -1
    assert "after the last step" in player.locator(".mb-step").inner_text()

    player.press("1")
    assert watched.state("p.store.runs[p.store.focus].policy") == "static"
    player.press("+")
    assert watched.state("p.store.speed") == 2
    player.press("x")
    assert watched.state("[p.store.axis, p.store.end]") == [
        "iterations",
        max(run.num_iterations for run in runs.values()),
    ]
    player.press("z")
    assert watched.state("p.store.view") == "close"
    player.press("?")
    expect(player.get_by_role("dialog", name="Keys")).to_be_visible()
    player.press("Escape")
    assert n < 200


def test_keys_are_left_alone_while_someone_types(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small")
    player = watched.player
    player.press("ArrowRight")
    player.get_by_role("button", name="Link").click()
    field = player.get_by_role("textbox", name="Link")
    before = watched.state("p.store.position")
    for key in ("ArrowRight", "1", "x", " "):
        field.press(key)
    assert watched.state("[p.store.position, p.store.axis, p.store.focus, p.store.isPlaying]") == [
        before,
        "time",
        3,
        False,
    ]


def test_a_loop_plays_its_range_again(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small")
    watched.state("(p.store.set({loop: [0, p.store.end / 20], speed: 16}), p.store.set({isPlaying: true}))")
    watched.state("(window.looped = 0, p.store.subscribe(() => {"
                  " if (p.store.position < (window.before ?? 0)) window.looped++; window.before = p.store.position; }), 0)")  # fmt: skip
    watched.page.wait_for_function("window.looped >= 2")
    assert watched.state("p.store.position <= p.store.loop[1]") is True


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
    expect(card).to_contain_text("draft.wait(Code.WAITS_BATCH")


def test_a_request_lights_up_everywhere_and_its_story_opens(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=chat")
    player = watched.player
    chat = {run.header.policy: run for run in load(BUNDLED / "chat.mbr")}
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
    rows = run.entries["iteration"][(run.entries["request"] == request) & (run.entries["token_id"] >= 0)]
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


def test_a_link_brings_back_recording_moment_focus_and_request(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small")
    watched.state("(p.store.set({focus: 1, pinned: 3, view: 'close', speed: 4}), p.store.set({position: 23456789}))")
    watched.player.get_by_role("button", name="Link").click()
    link = watched.player.get_by_role("textbox", name="Link").input_value()
    again = open_player(context, link)
    fields = "[p.store.runs[p.store.focus].policy, p.store.pinned, p.store.view, p.store.speed, p.store.position, p.store.isPlaying]"
    assert again.state(fields) == ["dynamic", 3, "close", 4, 23456789, False]
    assert again.state("p.store.comparison.options.id") == watched.state("p.store.comparison.options.id")


def test_a_link_brings_back_a_run_with_its_knobs(context: sync_api.BrowserContext, address: str) -> None:
    link = f"{address}/?scenario=kv-squeeze&clock=modelled&seed=3&num_kv_blocks=80&policies=continuous,chunked&t=1000000&pin=2"
    watched = open_player(context, link)
    wait_until(watched, "!p.store.comparison.options.live", SECONDS)
    runs = watched.state("p.store.runs.map((run) => [run.policy, run.clock, run.seed, run.config.num_kv_blocks])")
    assert runs == [["continuous", "modelled", 3, 80], ["chunked", "modelled", 3, 80]]
    assert watched.state("[p.store.position, p.store.pinned]") == [1000000, 2]
    shared = str(watched.state("p.share.link()"))
    for part in ("scenario=kv-squeeze", "seed=3", "num_kv_blocks=80", "policies=continuous%2Cchunked", "pin=2"):
        assert part in shared


def test_a_link_that_makes_no_sense_is_one_sentence(context: sync_api.BrowserContext, address: str) -> None:
    page = context.new_page()
    page.goto(f"{address}/?recording=<b>nowhere</b>")
    expect(page.get_by_role("alert")).to_contain_text(
        "the recording '<b>nowhere</b>', which is not here", timeout=SECONDS
    )


def test_a_run_in_progress_plays_and_can_be_cancelled(context: sync_api.BrowserContext, address: str) -> None:
    page = context.new_page()
    watched = Watched(page, address)
    page.goto(address)
    page.get_by_text("Run on this machine").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(watched.player).to_be_attached(timeout=180_000)
    wait_until(watched, "p.store.comparison.options.live && p.store.isFollowing", 180_000)
    node = watched.player.evaluate_handle("(element) => element")
    seen = watched.state("p.store.runs.at(-1).n")
    wait_until(watched, f"p.store.runs.length > 1 || p.store.runs[0].n > {seen}", SECONDS)
    wait_until(watched, "p.store.position > 0", SECONDS)
    watched.player.press("ArrowLeft")
    assert watched.state("[p.store.isFollowing, p.store.isPlaying]") == [False, False]
    page.get_by_role("button", name="Cancel").click()
    wait_until(watched, "!p.store.comparison.options.live", SECONDS)
    assert watched.player.evaluate("(element, before) => element === before", node) is True
    expect(watched.player.locator(".mb-badges")).to_contain_text("cancelled before the end")
    expect(page.locator(".mb-metrics").first).to_be_attached(timeout=SECONDS)
    assert watched.errors == []


def test_typed_prompts_run_on_the_real_engine(context: sync_api.BrowserContext, address: str) -> None:
    page = context.new_page()
    watched = Watched(page, address)
    page.goto(address)
    page.get_by_text("Run on this machine").click()
    page.get_by_role("combobox", name="Workload").click()
    page.get_by_role("option", name="Your own prompts").click()
    page.get_by_label("Prompts, one a line").fill(f"{HTML} upon a time\nThe fox said")
    page.get_by_label("max_tokens", exact=True).fill("8")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(".mb-metrics", timeout=180_000)
    expect(watched.player.locator(".mb-lane")).to_have_count(4)
    expect(watched.player.locator(".mb-badge").first).to_contain_text("measured")
    watched.state("p.store.set({pinned: 0, position: p.store.end})")
    expect(watched.player.locator(".mbw-story")).to_contain_text(f"{HTML} upon a time")
    assert watched.player.locator("img").count() == 0


def test_what_a_file_says_of_itself_is_text_and_asks_no_other_machine(
    context: sync_api.BrowserContext, address: str
) -> None:
    watched = open_player(context, f"{address}/?recording=odd")
    expect(watched.player.locator(".mb-policy")).to_have_text(IMAGE)
    hostile = open_player(context, f"{address}/?recording=hostile")
    expect(hostile.player.locator("h2").first).to_have_text(HTML)
    hostile.state("p.store.set({pinned: 1, position: p.store.end})")
    expect(hostile.player.locator(".mbw-story")).to_contain_text(HTML)
    for page in (watched, hostile):
        assert page.page.locator("img[src=x], img[src*='127.0.0.2']").count() == 0
        assert page.outside == []
    twice = context.new_page()
    twice.goto(f"{address}/?recording=twice")
    expect(twice.get_by_role("alert")).to_contain_text(IMAGE, timeout=SECONDS)


def test_an_exported_page_plays_offline_with_everything_in_it(
    chromium: sync_api.Browser, context: sync_api.BrowserContext, address: str, tmp_path: Path
) -> None:
    watched = open_player(context, f"{address}/?recording=hostile")
    with watched.page.expect_download(timeout=SECONDS) as download:
        watched.page.get_by_role("button", name="Page that plays offline (.html)").click()
    path = tmp_path / "page.html"
    download.value.save_as(path)
    assert HTML not in path.read_text(encoding="utf-8")
    offline = chromium.new_context(offline=True, accept_downloads=True)
    page = Watched(offline.new_page(), path.as_uri())
    page.page.goto(f"{path.as_uri()}?t=20000000&focus=static&pin=1&speed=4&view=close&loop=0-30000000")
    expect(page.player.locator(".mb-lane")).to_have_count(2)
    expect(page.player.locator(".mb-right canvas").first).to_be_attached(timeout=SECONDS)
    assert page.state("[p.store.position, p.store.focus, p.store.pinned, p.store.speed, p.store.view, p.store.loop]") == [
        20000000, 0, 1, 4, "close", [0, 30000000],
    ]  # fmt: skip
    expect(page.player.locator(".mbw-story")).to_contain_text(HTML)
    expect(page.player.locator(".mbw-card").first).to_contain_text("static · step 2")
    page.player.get_by_role("button", name="Predict the next step")
    assert page.player.get_by_role("button", name="What if…").count() == 0
    with page.page.expect_download() as picture:
        page.player.get_by_role("button", name="Picture (PNG)").click()
    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    with page.page.expect_download(timeout=SECONDS) as film:
        page.state("(p.store.set({loop: [0, 2000000]}), 0)")
        page.player.get_by_role("button", name="Film (WebM)").click()
    assert film.value.path().read_bytes()[:4] == b"\x1a\x45\xdf\xa3"
    with page.page.expect_download() as table:
        page.player.get_by_role("button", name="Metrics (CSV)").click()
    assert (
        table.value.path().read_text(encoding="utf-8").startswith("metric,unit,static (measured),continuous (measured)")
    )
    assert page.outside == []
    assert page.errors == []
    bare = Watched(offline.new_page(), path.as_uri())
    bare.page.goto(f"{path.as_uri()}?controls=none&autoplay=0")
    expect(bare.player.locator(".mb-slots").first).to_be_visible()
    expect(bare.player.locator(".mb-transport")).to_be_hidden()
    offline.close()


def test_present_mode_hides_all_else(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=chat")
    watched.page.set_viewport_size({"width": 1920, "height": 1080})
    watched.player.press("p")
    wait_until(watched, "p.theme.scale > 1")
    box = watched.player.bounding_box()
    assert box == {"x": 0, "y": 0, "width": 1920, "height": 1080}
    last = watched.player.locator(".mb-lane").last.bounding_box()
    assert last
    assert last["y"] + last["height"] <= 1080
    watched.player.press("Escape")
    wait_until(watched, "p.theme.scale === 1")


def test_reduced_motion_starts_still_and_steps(chromium: sync_api.Browser, address: str) -> None:
    context = chromium.new_context(reduced_motion="reduce", viewport={"width": 1440, "height": 1000})
    watched = Watched(context.new_page(), address)
    watched.page.goto(f"{address}/?recording=small")
    expect(watched.player.locator(".mb-lane").first).to_be_attached(timeout=SECONDS)
    assert watched.state("[p.store.isPlaying, p.store.position]") == [False, 0]
    watched.state("(window.seen = new Set(), p.store.subscribe(() => window.seen.add(p.store.position)), 0)")
    watched.state("p.store.set({isPlaying: true, speed: 4})")
    watched.page.wait_for_function("window.seen.size > 3")
    starts = set(watched.state("[...p.store.runs[p.store.focus].start]"))  # type: ignore[call-overload]
    assert set(watched.page.evaluate("[...window.seen]")) <= starts | {0}
    context.close()


def next_frame(watched: Watched) -> None:
    """Wait until what has changed is drawn."""
    watched.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")


def load_small() -> dict[str, Recording]:
    return {policy: small(policy) for policy in ("static", "dynamic", "continuous", "chunked")}


def wait_until(watched: Watched, expression: str, timeout: float = 30_000) -> None:
    """Wait for a condition on the player, asked at every frame."""
    handle = watched.player.evaluate_handle("(element) => element.player")
    watched.page.wait_for_function(f"(p) => {expression}", arg=handle, timeout=timeout)


def pixels(watched: Watched, selector: str) -> str:
    return str(watched.player.locator(selector).first.evaluate("(canvas) => canvas.toDataURL()"))
