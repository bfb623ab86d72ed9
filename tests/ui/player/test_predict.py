"""The panel of predictions, by keyboard alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minibatch.decisions.reasons import PREEMPTIONS
from minibatch.recording.schema import Recording
from tests.ui.player.asking import ASK, Step
from tests.ui.player.conftest import Modules
from tests.ui.player.recordings import tight


def panel(player: Modules, recordings: list[Recording]) -> list[dict[str, Any]]:
    """Mount a panel as `window.p` on the store `window.s`; returns the questions of the run in focus."""
    player.load(recordings, id="one")
    player.page.on("pageerror", lambda error: pytest.fail(str(error)))
    player.run(
        "const {Store} = await load('core/store.js'), {Predict} = await load('predict/predict.js');"
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
    question = next(q for q in questions if q["kind"] == "preemption" and q["answer"] != "none")
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
    assert [(r["kind"], r["confidence"], r["right"], r["credit"]) for r in kept] == [("preemption", 0.6, False, 0)]
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
