"""The questions that the player asks: every answer against the recording."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibatch.decisions.reasons import FINISHES, PREEMPTIONS, Code
from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of
from tests.ui.player.asking import ASK, Step
from tests.ui.player.conftest import Modules
from tests.ui.player.recordings import BUNDLED, EACH_BUNDLED, POLICIES, tight


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
        if answer != "none":
            [sentence] = [s for s in step.sentences(Code.ADMITTED, Code.RESUMED) if f"{answer} " in s]
            assert sentence in explanation
    elif question["kind"] == "token":
        [(request, what)] = re.findall(r"Does r(\d+) get (a token|its first token) in the next step\?", prompt)
        assert answer == step.writes(int(request))
        entries = recording.entries
        own = entries["request"] == int(request)
        wrote_before = bool(np.any(own & (entries["iteration"] < step.i) & (entries["generated"] > 0)))
        assert wrote_before == (what == "a token")
        for sentence in step.sentences(Code.STALLED_BY_PREFILL):
            assert sentence in explanation
    elif question["kind"] == "preemption":
        free, total, running = map(int, re.findall(r"\d+", prompt))
        assert (free, total) == (step.free_blocks, recording.header.config["num_kv_blocks"])
        assert running == len(step.running)
        assert answer == (f"r{step.preempted[0]}" if step.preempted else "none")
        assert {int(value[1:]) for value in values if value != "none"} <= step.running
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


@EACH_BUNDLED
def test_every_answer_is_what_the_bundled_recording_says(player: Modules, path: Path) -> None:
    recordings = load(path)
    player.load(recordings)
    for k, recording in enumerate(recordings):
        questions = check_run(player, k, recording)
        if path.stem == "emptying":
            continue  # the queue is empty and no request stalls: there is little to ask
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
        preemptions = [question for question in questions if question["kind"] == "preemption"]
        assert {question["answer"] == "none" for question in preemptions} == {True, False}


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
    for kind in ("slot", "token", "preemption"):
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
            "const {momentsAt} = await load('predict/moments.js');"
            " const moments = momentsAt(c.runs[0], argument[0]).filter((moment) => moment.kind === argument[1]);"
            " return moments.map((moment) => moment.ask().prompt);",
            [i, question["kind"]],
        )
        # A memory that only ran out in the step is no moment to ask about any more.
        assert question["prompt"] in prompts or (question["kind"] == "preemption" and not prompts)
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
