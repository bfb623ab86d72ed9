"""Predictions: every answer against the recording, the score, and the panel by keyboard alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibatch.recording.reasons import FINISHES, PREEMPTIONS, Code, Reason
from minibatch.recording.schema import Phase, Recording
from minibatch.recording.storage import load
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of
from tests.ui.browser import ROOT
from tests.ui.player.conftest import Modules

BUNDLED = sorted((ROOT / "assets" / "recordings").glob("*.mbr"))
POLICIES = ("static", "dynamic", "continuous", "chunked")
ASK = (
    "const {questionsOf} = await load('questions.js');"
    " return questionsOf(c.runs[argument]).map((q) => ({...q, explanation: q.explanation()}));"
)


def tight(policy: str, **knobs: Any) -> Recording:
    """Little memory, long prompts among short ones: everything that can be asked happens."""
    config = SchedulerConfig(
        **{
            "max_num_seqs": 4,
            "max_num_batched_tokens": 16,
            "max_model_len": 64,
            "num_kv_blocks": 14,
            "block_size": 4,
            "max_wait": 0.01,
            **knobs,
        }
    )
    lengths = [(12, 14), (9, 20), (15, 8), (4, 18, 2.0), (20, 6, 3.0), (7, 9, 30.0), (30, 9, 31.0), (6, 40, 32.0)]
    return record(requests_of([*lengths, *[(5 + k, 12, 33.0 + 4 * k) for k in range(12)]]), policy, config)


class Step:
    """What a recording says about iteration `i` and the one before, read without the player's code."""

    def __init__(self, recording: Recording, i: int) -> None:
        self.recording, self.i = recording, i
        self.reasons: list[Reason] = [reason for at, reason in recording.each_reason() if at == i]
        self.finished = [r.request_id for r in self.reasons if r.code in FINISHES]
        self.evicted = [r.request_id for r in self.reasons if r.code in PREEMPTIONS]

    def rows(self, i: int) -> list[dict[str, int]]:
        entries = self.recording.entries
        return [
            {name: int(column[row]) for name, column in entries.items()}
            for row in np.flatnonzero(entries["iteration"] == i)
        ]

    def slot_of(self, request: int) -> int:
        return next(row["slot"] for row in self.rows(self.i - 1) if row["request"] == request)

    def holder(self, slot: int) -> str:
        held = [r["request"] for r in self.rows(self.i) if r["slot"] == slot and r["phase"] != Phase.PADDING]
        return f"r{held[0]}" if held else "nobody"

    def writes(self, request: int) -> str:
        wrote = any(row["request"] == request and row["token_id"] >= 0 for row in self.rows(self.i))
        return "yes" if wrote else "no"

    @property
    def running(self) -> set[int]:
        rows = [row for row in self.rows(self.i - 1) if row["phase"] != Phase.PADDING]
        return {row["request"] for row in rows} - set(self.finished)

    @property
    def free_blocks(self) -> int:
        """Free when the step is about to be scheduled: who has finished has given its blocks back."""
        owners = np.full(int(self.recording.header.config["num_kv_blocks"]), -1)
        blocks = self.recording.blocks
        for row in np.flatnonzero(blocks["iteration"] < self.i):
            owners[blocks["block"][row]] = blocks["request"][row]
        return int(np.sum((owners < 0) | np.isin(owners, self.finished)))

    def sentences(self, *codes: Code) -> list[str]:
        return [reason.sentence for reason in self.reasons if reason.code in codes]


def check(recording: Recording, question: dict[str, Any]) -> None:
    step = Step(recording, question["iteration"])
    prompt, answer, explanation = question["prompt"], question["answer"], question["explanation"]
    assert question["id"] == f"{question['kind']}-{question['iteration']}"
    if question["options"]:
        values = [option["value"] for option in question["options"]]
        assert 2 <= len(values) <= 5
        assert len(set(values)) == len(values)
        assert answer in values
    if question["kind"] == "slot":
        leaver, slot = map(int, re.match(r"r(\d+) has just finished in slot (\d+);", prompt).groups())  # type: ignore[union-attr]
        assert leaver in step.finished
        assert step.slot_of(leaver) == slot
        assert answer == step.holder(slot)
        if answer != "nobody":
            [sentence] = [s for s in step.sentences(Code.ADMITTED, Code.RESUMED) if f"{answer} " in s]
            assert sentence in explanation
    elif question["kind"] == "token":
        [(request, what)] = re.findall(r"Does r(\d+) get (a token|its first token) in the next step\?", prompt)
        assert answer == step.writes(int(request))
        entries = recording.entries
        own = entries["request"] == int(request)
        wrote_before = bool(np.any(own & (entries["iteration"] < step.i) & (entries["token_id"] >= 0)))
        assert wrote_before == (what == "a token")
        for sentence in step.sentences(Code.STALLED_BY_PREFILL):
            assert sentence in explanation
    elif question["kind"] == "eviction":
        free, total, running = map(int, re.findall(r"\d+", prompt))
        assert (free, total) == (step.free_blocks, recording.header.config["num_kv_blocks"])
        assert running == len(step.running)
        assert answer == (f"r{step.evicted[0]}" if step.evicted else "nobody")
        assert {int(value[1:]) for value in values if value != "nobody"} <= step.running
        for sentence in step.sentences(*PREEMPTIONS)[:4]:
            assert sentence in explanation
    else:
        assert question["kind"] == "duration"
        durations = recording.iterations["duration_ns"]
        assert answer == durations[step.i] / 1e6
        assert float(re.search(r"took ([\d.,]+) ms", prompt)[1].replace(",", "")) == pytest.approx(  # type: ignore[index]
            durations[step.i - 1] / 1e6, rel=0.005
        )
        assert recording.header.clock in explanation


def check_run(player: Modules, k: int, recording: Recording) -> list[dict[str, Any]]:
    questions = player.run(ASK, k)
    for question in questions:
        check(recording, question)
    assert player.run(ASK, k) == questions
    iterations = [question["iteration"] for question in questions]
    assert iterations == sorted(set(iterations))
    assert iterations[0] > 0
    assert iterations[-1] < recording.num_iterations
    assert len(questions) <= 24
    return questions


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_every_answer_is_what_the_bundled_recording_says(player: Modules, path: Path) -> None:
    recordings = load(path)
    player.load(recordings)
    for k, recording in enumerate(recordings):
        questions = check_run(player, k, recording)
        assert len(questions) >= 11
        # Spread over the run: every third of it has some, and no kind takes more than two thirds.
        thirds = Counter(question["iteration"] * 3 // recording.num_iterations for question in questions)
        assert min(thirds[third] for third in range(3)) >= 2
        assert max(Counter(question["kind"] for question in questions).values()) <= len(questions) * 2 / 3


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("knobs", [{}, {"preemption_mode": "swap"}, {"kv_layout": "contiguous", "num_kv_blocks": 40}])
def test_every_answer_is_right_where_memory_is_tight(player: Modules, policy: str, knobs: dict[str, Any]) -> None:
    recording = tight(policy, **knobs)
    questions = check_run(player.load([recording]), 0, recording)
    kinds = Counter(question["kind"] for question in questions)
    assert kinds["slot"] >= 1
    assert kinds["token"] >= 1
    if "kv_layout" not in knobs and policy in ("continuous", "chunked"):
        evictions = [question for question in questions if question["kind"] == "eviction"]
        assert {question["answer"] == "nobody" for question in evictions} == {True, False}


def test_short_and_empty_runs_ask_what_they_can(player: Modules) -> None:
    config = SchedulerConfig(max_num_seqs=2, max_model_len=64, num_kv_blocks=16, block_size=8)
    recordings = [record(requests_of([(3, n)]), "continuous", config) for n in (1, 2, 5)]
    player.load(recordings)
    assert [len(check_run_or_none(player, k, recording)) for k, recording in enumerate(recordings)] == [0, 1, 1]


def check_run_or_none(player: Modules, k: int, recording: Recording) -> list[dict[str, Any]]:
    return check_run(player, k, recording) if player.run(ASK, k) else []


def test_answers_vary_and_so_does_their_place(player: Modules) -> None:
    questions = []
    for path in BUNDLED:
        recordings = load(path)
        player.load(recordings)
        questions += [question for k in range(len(recordings)) for question in player.run(ASK, k)]
    for kind in ("slot", "token", "eviction"):
        asked = [question for question in questions if question["kind"] == kind]
        answers = Counter("some" if q["answer"][0] == "r" else q["answer"] for q in asked)
        assert len(answers) == 2, kind
        assert min(answers.values()) >= 0.2 * len(asked), (kind, answers)
        places = Counter([o["value"] for o in q["options"]].index(q["answer"]) for q in asked)
        assert len(places) >= 2, kind
        assert max(places.values()) <= 0.7 * len(asked), (kind, places)


def test_a_question_tells_nothing_of_the_step_it_is_about(player: Modules) -> None:
    """With the step itself cut out of the recording, the words of the question stay the same."""
    recording = tight("chunked")
    asked = player.load([recording]).run(ASK, 0)
    same = 0
    for question in asked:
        i = question["iteration"]
        player.load([without_step(recording, i)])
        prompts = player.run(
            "const {momentsAt} = await load('moments.js');"
            " const moments = momentsAt(c.runs[0], argument[0]).filter((moment) => moment.kind === argument[1]);"
            " return moments.map((moment) => moment.ask().prompt);",
            [i, question["kind"]],
        )
        # A memory that only ran out in the step is no moment to ask about any more.
        assert question["prompt"] in prompts or (question["kind"] == "eviction" and not prompts)
        same += question["prompt"] in prompts
    assert same >= 10


def without_step(recording: Recording, i: int) -> Recording:
    """Ends with an iteration `i` that decides nothing; what was noted before it stays."""
    known = {Code.QUEUED, *FINISHES}
    notes = [
        row for row, (at, reason) in enumerate(recording.each_reason()) if at < i or (at == i and reason.code in known)
    ]
    durations = recording.iterations["duration_ns"].copy()
    durations[i] = 1
    return replace(
        recording,
        iterations={n: c[: i + 1] for n, c in {**recording.iterations, "duration_ns": durations}.items()},
        entries={n: c[recording.entries["iteration"] < i] for n, c in recording.entries.items()},
        blocks={n: c[recording.blocks["iteration"] < i] for n, c in recording.blocks.items()},
        reasons={n: c[notes] for n, c in recording.reasons.items()},
        reason_numbers=tuple(recording.reason_numbers[row] for row in notes),
    )


def test_grading(player: Modules) -> None:
    grade = (
        "const {grade} = await load('questions.js'); const q = {options: null, unit: 'ms', answer: 20};"
        " return argument.map((given) => grade(q, given));"
    )
    given = [20, 18, 22, 25, 15, 40, 10, 1000, 0, -3, "nonsense", 20 / math.sqrt(1.8)]
    graded = player.run(grade, given)
    assert [g["right"] for g in graded] == [True, True, True, True, True, *[False] * 6, False]
    assert [g["credit"] for g in graded[:3]] == pytest.approx([1, 1, 1])
    assert [g["credit"] for g in graded[5:11]] == pytest.approx([0] * 6)
    # Halfway on the log scale between a factor of 1/0.9 and of 2.
    middle = 20 * math.sqrt(2 / 0.9)
    assert player.run(grade, [middle])[0]["credit"] == pytest.approx(0.5)
    assert graded[3]["credit"] == pytest.approx((math.log(2) - math.log(1.25)) / (math.log(2) + math.log(0.9)))
    assert {g["answerLabel"] for g in graded} == {"20.0 ms"}
    choice = (
        "const {grade} = await load('questions.js');"
        " const options = [{value: 'r7', label: 'r7, 9 prompt tokens'}, {value: 'nobody', label: 'nobody'}];"
        " const q = {options, answer: 'r7'};"
        " return [grade(q, 'r7'), grade(q, 'nobody')];"
    )
    assert player.run(choice) == [
        {"right": True, "credit": 1, "answerLabel": "r7, 9 prompt tokens"},
        {"right": False, "credit": 0, "answerLabel": "r7, 9 prompt tokens"},
    ]


def test_calibration_by_hand(player: Modules) -> None:
    summary = player.run(
        "const {Score} = await load('score.js'); const kept = {};"
        " const storage = {getItem: (k) => kept[k] ?? null, setItem: (k, v) => { kept[k] = v; },"
        "   removeItem: (k) => delete kept[k]};"
        " const score = new Score(storage, 'k');"
        " for (const [confidence, right] of [[.8, true], [.8, false], [.8, true], [.5, false], [.99, true]])"
        "   score.record({kind: 'slot', confidence, right, credit: right ? 1 : 0.25, when: 1});"
        " const again = new Score(storage, 'k').summary(), bin = score.calibrationAt(.8); score.clear();"
        " return {first: again, bin, left: Object.keys(kept), empty: score.summary()};"
    )
    first = summary["first"]
    assert (first["asked"], first["right"], first["credit"]) == (5, 3, 3.5)
    assert first["brier"] == pytest.approx((0.04 + 0.64 + 0.04 + 0.25 + 0.0001) / 5)
    bins = [(b["claimed"], b["observed"], b["count"]) for b in first["calibration"]]
    assert bins == [(0.5, 0, 1), (pytest.approx(0.8), pytest.approx(2 / 3), 3), (0.99, 1, 1)]
    assert all(b["from"] <= b["claimed"] <= b["to"] for b in first["calibration"])
    assert summary["bin"] == first["calibration"][1]
    assert summary["left"] == []
    assert summary["empty"] == {"asked": 0, "right": 0, "credit": 0, "brier": None, "calibration": []}


@pytest.mark.parametrize(
    "saved",
    ["", "{", "null", "7", "[]", '{"version": 2, "records": []}', '{"version": 1, "records": {"length": 3}}',
     '{"version": 1, "records": [null, 3, {"kind": "slot"}, {"kind": 1, "confidence": 9, "right": "yes"}]}'],
)  # fmt: skip
def test_damaged_scores_are_ignored(player: Modules, saved: str) -> None:
    asked = player.run(
        "const {Score} = await load('score.js');"
        " const score = new Score({getItem: () => argument, setItem() {}, removeItem() {}});"
        " const before = score.summary().asked;"
        " score.record({kind: 'slot', confidence: .5, right: true, credit: 1, when: 0});"
        " return [before, score.summary().asked];",
        saved,
    )
    assert asked == [0, 1]


def test_storage_that_throws_costs_only_the_memory(player: Modules) -> None:
    asked = player.run(
        "const {Score} = await load('score.js');"
        " const no = () => { throw new DOMException('denied', 'SecurityError'); };"
        " const scores = [new Score({getItem: no, setItem: no, removeItem: no}), new Score(null)];"
        " const out = [];"
        " for (const score of scores) {"
        "   score.record({kind: 'slot', confidence: .5, right: true, credit: 1, when: 0});"
        "   out.push(score.summary().asked);"
        "   score.clear(); out.push(score.summary().asked); }"
        " return out;"
    )
    assert asked == [1, 0, 1, 0]


# -- the panel ------------------------------------------------------------------------------------------


def panel(player: Modules, recordings: list[Recording]) -> list[dict[str, Any]]:
    """Mount a panel as `window.p` on the store `window.s`; returns the questions of the run in focus."""
    player.load(recordings, id="one")
    player.page.on("pageerror", lambda error: pytest.fail(str(error)))
    player.run(
        "const {Store} = await load('store.js'), {Predict} = await load('predict.js');"
        " document.body.replaceChildren(); localStorage.clear();"
        " window.s = new Store(c); window.p = new Predict(s, localStorage); document.body.append(p.element);"
        " window.tick = (to) => { s.set({position: to}); p.update(s.places); };"
        " window.at = (i) => s.runs[s.focus].position(s.axis, i);"
        " window.state = () => ({position: s.position, isPlaying: s.isPlaying, hidden: s.hidden});"
    )
    return player.run(ASK, len(recordings) - 1)


def state(player: Modules) -> dict[str, Any]:
    return player.run("return state();")


def switch_on(player: Modules) -> None:
    player.page.keyboard.press("Tab")
    assert player.page.evaluate("document.activeElement.getAttribute('role')") == "switch"
    assert player.page.evaluate("document.activeElement.getAttribute('aria-checked')") == "false"
    player.page.keyboard.press("Space")
    assert player.page.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"


@pytest.mark.parametrize("axis", ["time", "iterations"])
def test_it_stops_where_there_is_something_to_predict(player: Modules, axis: str) -> None:
    recording = tight("chunked")
    first, second, *_ = panel(player, [tight("static"), recording])
    player.run(f"s.setAxis('{axis}');")
    # Off by default.
    player.run("s.set({isPlaying: true}); tick(s.end / 2); s.set({isPlaying: false}); tick(0);")
    assert state(player) == {"position": 0, "isPlaying": False, "hidden": None}
    switch_on(player)
    player.run("s.set({isPlaying: true}); tick(at(argument) - 1e-3);", first["iteration"])
    assert state(player)["isPlaying"]
    # Fast: one frame later four questions and more have been passed.
    player.run("tick(at(argument));", min(second["iteration"] + 60, recording.num_iterations - 1))
    at = {"position": player.run("return at(argument);", first["iteration"]), "isPlaying": False}
    assert state(player) == {**at, "hidden": {"lane": 1, "iteration": first["iteration"]}}
    page = player.page
    assert page.locator(".mbp-answer legend").text_content() == first["prompt"]
    assert page.evaluate("document.activeElement.closest('fieldset').className") == "mbp-answer"
    assert page.locator(".mbp-result").text_content() == ""


def answer_by_keyboard(player: Modules, place: int, claims: int) -> None:
    """Choose option `place` and the confidence `claims` below the first, and commit with Enter."""
    page = player.page
    page.keyboard.press("Space")
    for _ in range(place):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    for _ in range(claims):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


def test_a_wrong_answer_by_keyboard_is_explained_and_counted(player: Modules) -> None:
    recording = tight("continuous")
    questions = panel(player, [recording])
    question = next(q for q in questions if q["kind"] == "eviction" and q["answer"] != "nobody")
    switch_on(player)
    player.run("tick(at(argument) - 1); s.set({isPlaying: true}); tick(at(argument) + 1e6);", question["iteration"])
    page = player.page
    page.keyboard.press("Enter")
    assert page.locator(".mbp-missing").text_content() == "Choose an answer."
    values = [option["value"] for option in question["options"]]
    wrong = (values.index(question["answer"]) + 1) % len(values)
    answer_by_keyboard(player, wrong, 2)
    result = page.locator(".mbp-result")
    text = result.inner_text()
    assert "Wrong: " in text
    labels = [option["label"] for option in question["options"]]
    assert f"{labels[values.index(question['answer'])]}. You said {labels[wrong]}." in text
    [sentence, *_] = Step(recording, question["iteration"]).sentences(*PREEMPTIONS)
    assert sentence in text
    assert "This is the first time that you said 60 %." in text
    assert page.evaluate("document.activeElement.classList.contains('mbp-result')")
    assert result.get_attribute("aria-live") == "polite"
    assert state(player)["hidden"] is None
    kept = player.run("return JSON.parse(localStorage['minibatch.predictions']).records;")
    assert [(r["kind"], r["confidence"], r["right"], r["credit"]) for r in kept] == [("eviction", 0.6, False, 0)]
    # Go on: it plays, and doesn't ask the same again.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Go on"
    page.keyboard.press("Enter")
    assert state(player)["isPlaying"]
    assert page.evaluate("document.activeElement === p.element")
    player.run("tick(s.position + 1);")
    assert state(player) == {**state(player), "isPlaying": True, "hidden": None}
    # Nor after seeking back, but for the asking.
    player.run("s.set({isPlaying: false, position: at(argument) - 1}); p.update(s.places);", question["iteration"])
    player.run("s.set({isPlaying: true}); tick(at(argument) + 1);", question["iteration"])
    assert state(player)["isPlaying"]
    player.run("s.set({isPlaying: false, position: at(argument) - 1}); p.update(s.places);", question["iteration"])
    page.get_by_role("button", name="Ask again").click()
    assert state(player)["hidden"] == {"lane": 0, "iteration": question["iteration"]}


def test_a_number_is_graded(player: Modules) -> None:
    recording = tight("chunked")
    question = next(q for q in panel(player, [recording]) if q["kind"] == "duration")
    player.run("tick(at(argument));", question["iteration"])
    page = player.page
    page.get_by_role("button", name="Predict the next step").click()
    page.keyboard.type("nonsense")
    page.keyboard.press("Enter")
    assert page.locator(".mbp-missing").text_content() == "Enter a number above 0, and below a million."
    page.keyboard.press("Control+a")
    page.keyboard.type(str(question["answer"] * 1.2).replace(".", ","))
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    text = page.locator(".mbp-result").inner_text()
    assert "Right: " in text
    assert question["explanation"] in text


def test_seeking_passes_questions_and_playing_or_escape_skips_them(player: Modules) -> None:
    first, second, *_ = panel(player, [tight("chunked")])
    switch_on(player)
    player.run("tick(at(argument) + 1);", first["iteration"])
    assert state(player)["hidden"] is None
    player.run("s.set({isPlaying: true}); tick(s.position + 1);")
    assert state(player)["isPlaying"]
    # Where the playhead has been put exactly before a step, playing asks at once.
    player.run("s.set({isPlaying: false, position: at(argument)}); s.set({isPlaying: true}); tick(s.position + 1);",
               first["iteration"])  # fmt: skip
    assert state(player)["hidden"]["iteration"] == first["iteration"]
    player.page.keyboard.press("Escape")
    assert state(player)["hidden"] is None
    player.run("s.set({isPlaying: true}); tick(s.position + 1);")
    assert state(player)["isPlaying"]
    player.run("tick(at(argument) + 5);", second["iteration"])
    assert state(player)["hidden"]["iteration"] == second["iteration"]
    player.run("s.set({isPlaying: true}); tick(s.position + 1);")
    assert state(player) == {**state(player), "isPlaying": True, "hidden": None}
    assert player.run("return p.score.summary().asked;") == 0
    # A seek while a question is open, another lane, other recordings: each closes it.
    for away in ("s.set({position: 0, isPlaying: false})", "s.set({focus: -1}); s.set({focus: 0})",
                 "s.set({comparison: {...c, options: {id: 'two'}}, runs: c.runs, hidden: null})"):  # fmt: skip
        player.run("s.set({position: 0, isPlaying: false}); p.askNext();")
        assert state(player)["hidden"]["iteration"] == first["iteration"]
        player.run(away)
        assert state(player)["hidden"] is None
        assert player.page.locator(".mbp-question").count() == 0


def test_past_the_last_question_there_is_nothing_to_predict(player: Modules) -> None:
    panel(player, [tight("chunked")])
    player.run("tick(s.end);")
    player.page.get_by_role("button", name="Predict the next step").click()
    assert player.page.locator(".mbp-idle").text_content().startswith("Nothing more to predict")  # type: ignore[union-attr]
    assert state(player)["hidden"] is None


def test_text_of_a_recording_stays_text(player: Modules) -> None:
    recording = tight("chunked")
    evil = "<img src=x onerror=window.hacked=1><b>bold</b>"
    recording = replace(
        recording,
        header=replace(recording.header, policy=evil, device=evil),
        requests=tuple(replace(request, prompt=evil) for request in recording.requests),
    )
    questions = panel(player, [recording])
    for _ in questions[:4]:
        player.run("p.askNext();")
        assert evil in player.page.locator(".mbp-question .mbp-where").inner_text()
        player.page.locator(".mbp-answer input").first.focus()
        if player.page.locator(".mbp-number").count():
            player.page.keyboard.type("5")
            player.page.keyboard.press("Tab")
            player.page.keyboard.press("Space")
            player.page.keyboard.press("Enter")
        else:
            answer_by_keyboard(player, 0, 0)
        assert player.page.locator(".mbp-result .mbp-explanation").count() == 1
        assert player.page.locator(".mbp-predict img, .mbp-predict b").count() == 0
    assert player.run("return window.hacked ?? null;") is None
