"""How predictions are graded, what the score says, and that it survives a damaged or missing memory."""

from __future__ import annotations

import math

import pytest

from tests.ui.player.conftest import Modules


def test_grading(player: Modules) -> None:
    grade = (
        "const {grade} = await load('predict/questions.js'); const q = {options: null, unit: 'ms', answer: 20};"
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
        "const {grade} = await load('predict/questions.js');"
        " const options = [{value: 'r7', label: 'r7, 9 prompt tokens'}, {value: 'none', label: 'no request'}];"
        " const q = {options, answer: 'r7'};"
        " return [grade(q, 'r7'), grade(q, 'none')];"
    )
    assert player.run(choice) == [
        {"right": True, "credit": 1, "answerLabel": "r7, 9 prompt tokens"},
        {"right": False, "credit": 0, "answerLabel": "r7, 9 prompt tokens"},
    ]


def test_calibration_by_hand(player: Modules) -> None:
    summary = player.run(
        "const {Score} = await load('predict/score.js'); const kept = {};"
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
        "const {Score} = await load('predict/score.js');"
        " const score = new Score({getItem: () => argument, setItem() {}, removeItem() {}});"
        " const before = score.summary().asked;"
        " score.record({kind: 'slot', confidence: .5, right: true, credit: 1, when: 0});"
        " return [before, score.summary().asked];",
        saved,
    )
    assert asked == [0, 1]


def test_storage_that_throws_costs_only_the_memory(player: Modules) -> None:
    asked = player.run(
        "const {Score} = await load('predict/score.js');"
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
