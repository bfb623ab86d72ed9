"""Numbers drills: values worked out by hand, and words that say what the number is."""

from __future__ import annotations

import pytest

from minibatch.learning.drill import Drill
from minibatch.learning.drills import make_drills

ALL = {drill.id: drill for drill in make_drills(count=None)}


def find(*parts: str) -> Drill:
    return ALL["-".join(parts)]


@pytest.mark.parametrize(
    ("drill_id", "answer"),
    [
        ("kv-bytes-a-token-llama-3-1-8b-bfloat16", 128),  # 2 * 32 * 8 * 128 * 2 / 1024 KiB
        ("kv-bytes-a-token-llama-2-7b-bfloat16", 512),  # 2 * 32 * 32 * 128 * 2 / 1024
        ("kv-bytes-a-token-llama-3-1-8b-float8", 64),
        ("ridge-point-h100", 295.2),  # 989 / 3.35
        ("ridge-point-a100-40gb", 200.6),  # 312 / 1.555
        ("batch-at-the-ridge-h100-int8", 147.6),  # half of the ridge
        ("bytes-of-weights-llama-3-1-8b-bfloat16", 16.06),  # 8.03 billion parameters * 2
        ("time-to-read-the-weights-llama-3-1-8b-h100", 4.794),  # 16.06 GB / 3.35 TB/s
        ("bound-on-tokens-s-llama-3-1-8b-h100-1", 208.6),
        ("sequences-that-fit-llama-3-1-8b-h100-2000", 243),  # (80e9 - 16.06e9) / (2000 * 131072) = 243.9
        ("kv-blocks-llama-3-1-8b-h100", 30_489),  # (80e9 - 16.06e9) / (16 * 131072) = 30,489
    ],
)
def test_values_by_hand(drill_id: str, answer: float) -> None:
    assert find(drill_id).answer == pytest.approx(answer, rel=1e-3)


def test_a_decode_step_by_hand_is_taken_as_right() -> None:
    drill = find("time-of-a-decode-step-llama-3-1-8b-h100-32-1000")
    by_hand = (16.06e9 + 32 * 1000 * 131_072) / 3.35e12 * 1e3
    assert 1 / drill.tolerance < by_hand / drill.answer < drill.tolerance


def test_a_prefill_by_hand_is_taken_as_right() -> None:
    drill = find("flops-of-a-prefill-llama-3-1-8b-512")
    assert 1 / drill.tolerance < 2 * 8.03e9 * 512 / 1e12 / drill.answer < drill.tolerance


@pytest.mark.parametrize("drill", ALL.values(), ids=ALL)
def test_words_say_the_number(drill: Drill) -> None:
    number, _, unit = drill.answer_words.partition(" ")
    assert unit == drill.unit
    assert float(number.replace(",", "")) == pytest.approx(drill.answer, rel=0.006)
    assert drill.answer > 0
    assert 1 < drill.tolerance < 1.5
    assert drill.ask.endswith("?") or drill.ask.endswith("alone.")
    assert drill.explain.strip()


def test_the_same_seed_draws_the_same() -> None:
    first = make_drills(7, 40)
    assert first == make_drills(7, 40)
    assert [drill.id for drill in first] != [drill.id for drill in make_drills(8, 40)]


def test_a_hundred_and_twenty_different_ones_of_every_topic() -> None:
    drills = make_drills()
    assert len({drill.id for drill in drills}) == 120
    assert {drill.topic for drill in drills} == {drill.topic for drill in ALL.values()}


def test_more_than_there_are_is_rejected() -> None:
    with pytest.raises(ValueError, match="the registries give"):
        make_drills(count=100_000)
