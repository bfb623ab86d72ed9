"""Whiteboard exercises: schedules worked out by hand, and what holds for all of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.learning.schedule import IDLE, PAD, Exercise, solve

FOUR = [(0, 3), (0, 5), (1, 2), (6, 2)]


def rows(text: str) -> list[tuple[str, ...]]:
    """Schedules as they are drawn: a line a slot, a word a step, "-" idle."""
    slots = [[IDLE if cell == "-" else cell for cell in line.split()] for line in text.strip().splitlines()]
    return list(zip(*slots, strict=True))


def drawn_by_hand(requests: list[tuple[int, int]], policy: str, slots: int, text: str) -> None:
    assert list(solve(requests, policy, slots).solution) == rows(text)


def test_static_holds_slots_and_lets_nobody_in_before_the_batch_ends() -> None:
    drawn_by_hand(
        FOUR,
        "static",
        2,
        """
        r0 r0 r0 pad pad r2 r2 r3 r3
        r1 r1 r1 r1  r1  -  -  -  -
        """,
    )


def test_continuous_refills_a_slot_in_the_next_step() -> None:
    drawn_by_hand(
        FOUR,
        "continuous",
        2,
        """
        r0 r0 r0 r2 r2 - r3 r3
        r1 r1 r1 r1 r1 - -  -
        """,
    )


def test_a_static_batch_starts_with_whoever_is_there() -> None:
    drawn_by_hand(
        [(0, 2), (1, 1), (1, 2)],
        "static",
        2,
        """
        r0 r0 r1 pad
        -  -  r2 r2
        """,
    )


def test_slots_that_free_up_together_go_lowest_first() -> None:
    drawn_by_hand(
        [(0, 2), (0, 2), (0, 1), (1, 1), (1, 1)],
        "continuous",
        3,
        """
        r0 r0 r4
        r1 r1 -
        r2 r3 -
        """,
    )


def test_reasons_are_in_plain_words() -> None:
    static = solve(FOUR, "static", 2)
    assert static.reasons[3][0] == "r0 finished at step 2; static waits for r1"
    assert static.reasons[5][1] == "r3 has not arrived yet: it comes at step 6"
    assert "r3 waits" in static.reasons[6][1]
    continuous = solve(FOUR, "continuous", 2)
    assert continuous.reasons[3][0].startswith("r0 has left slot 0 and r2 is next, it has waited since step 1")
    assert continuous.reasons[7][1] == "the queue is empty, and no more requests arrive"


@pytest.mark.parametrize(
    ("requests", "policy", "slots", "expected"),
    [
        ([(0, 1)], "chunked", 1, "expected static or continuous"),
        ([(0, 1)], "static", 9, "expected 1 to 8"),
        ([], "static", 2, "expected 1 to 12"),
        ([(0, 0)], "static", 2, "1 to 60 tokens"),
        ([(2, 1), (0, 1)], "static", 2, "in order of arrival"),
        ([(0, 50), (1, 50)], "static", 1, "at most 60"),
    ],
)
def test_what_fits_no_whiteboard_is_rejected(
    requests: list[tuple[int, int]], policy: str, slots: int, expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        solve(requests, policy, slots)


exercises = st.tuples(
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), min_size=1, max_size=8).map(sorted),
    st.integers(1, 4),
)


def steps_of(exercise: Exercise) -> dict[str, list[tuple[int, int]]]:
    """(step, slot) of every cell of each request."""
    found: dict[str, list[tuple[int, int]]] = {}
    for step, row in enumerate(exercise.solution):
        for slot, cell in enumerate(row):
            found.setdefault(cell, []).append((step, slot))
    return found


@settings(deadline=None, max_examples=60)
@given(exercises, st.sampled_from(["static", "continuous"]))
def test_each_request_runs_for_its_tokens_at_one_go(drawn: tuple[list[tuple[int, int]], int], policy: str) -> None:
    exercise = solve(*drawn[:1], policy, drawn[1])
    cells = steps_of(exercise)
    for request in exercise.requests:
        steps = [step for step, _ in cells[request.id]]
        assert steps == list(range(steps[0], steps[0] + request.output))
        assert steps[0] >= request.arrival
        assert len({slot for _, slot in cells[request.id]}) == 1
    assert all(reason for row in exercise.reasons for reason in row)
    assert any(cell not in (PAD, IDLE) for cell in exercise.solution[-1])


@settings(deadline=None, max_examples=60)
@given(exercises)
def test_static_never_refills_before_its_batch_ends(drawn: tuple[list[tuple[int, int]], int]) -> None:
    exercise = solve(drawn[0], "static", drawn[1])
    cells = steps_of(exercise)
    spans = {r.id: (cells[r.id][0][0], cells[r.id][-1][0]) for r in exercise.requests}
    for begin, end in spans.values():
        for other_begin, _ in spans.values():
            assert not begin < other_begin <= end
    for step, row in enumerate(exercise.solution):
        gone = [r for r, (begin, end) in spans.items() if end < step and any(
            spans[o][0] == begin and spans[o][1] >= step for o in spans)]  # fmt: skip
        assert row.count(PAD) == len(gone)


@settings(deadline=None, max_examples=60)
@given(exercises)
def test_continuous_leaves_no_slot_idle_while_somebody_waits(drawn: tuple[list[tuple[int, int]], int]) -> None:
    exercise = solve(drawn[0], "continuous", drawn[1])
    cells = steps_of(exercise)
    assert PAD not in cells
    for step, row in enumerate(exercise.solution):
        waiting = [r for r in exercise.requests if r.arrival <= step < cells[r.id][0][0]]
        assert not (waiting and IDLE in row)
