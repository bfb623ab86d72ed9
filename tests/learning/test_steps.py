"""Figures of single steps, against a recording read row by row."""

from __future__ import annotations

import re
from itertools import groupby
from statistics import median

import pytest

from minibatch.decisions.phase import Phase
from minibatch.learning.expressions import Figures
from minibatch.learning.run_spec import run_of
from minibatch.recording.schema import Recording

RUN = {"recording": "emptying"}
FIGURES = Figures({"run": RUN})


def decode_steps(recording: Recording) -> list[tuple[int, int]]:
    """(batch, iteration) of every step that only decodes."""
    phases: list[list[int]] = [[] for _ in range(recording.num_iterations)]
    for iteration, phase in zip(recording.entries["iteration"], recording.entries["phase"], strict=True):
        phases[iteration].append(phase)
    return [(len(held), i) for i, held in enumerate(phases) if set(held) == {Phase.DECODE}]


@pytest.fixture(scope="module")
def continuous() -> Recording:
    return next(run for run in run_of(RUN) if run.header.policy == "continuous")


def test_the_batch_halves_every_twelve_steps(continuous: Recording) -> None:
    """The prompt's step writes each first token, so the largest batch decodes for eleven."""
    sizes = [(batch, len(list(steps))) for batch, steps in groupby(decode_steps(continuous), key=lambda step: step[0])]
    assert sizes == [(32, 11), (16, 12), (8, 12), (4, 12), (2, 12), (1, 12)]


@pytest.mark.parametrize("batch", [1, 8, 32])
def test_decodes_are_the_median_of_the_steps_that_only_decode(continuous: Recording, batch: int) -> None:
    rows = [i for found, i in decode_steps(continuous) if found == batch]

    def middle(name: str) -> float:
        return median(int(continuous.iterations[name][i]) for i in rows)

    seconds = middle("duration_ns") / 1e9
    moved = middle("bytes_weights") + middle("bytes_kv") + middle("bytes_activations")
    expected = {"ms": seconds * 1e3, "tokens_per_s": batch / seconds, "intensity": middle("flops") / moved}
    for name, value in expected.items():
        figure = FIGURES.figure(f"decodes.{name}(run.continuous, batch={batch})")
        assert figure.value == pytest.approx(value)
        assert figure.standing == "measured"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("decodes.ms(run.continuous, batch=5)", "no step of this run decodes 5 requests and nothing else"),
        ("decodes.years(run.continuous, batch=1)", "there is no decodes.years: expected one of ms,"),
        ("decodes.ms(run, batch=1)", "expected decodes.WHAT(run.policy, batch=)"),
        ("decodes.ms(run.orca, batch=1)", "run 'run' has no policy 'orca'"),
        ("decodes.ms(run.continuous, batch=-1)", "expected whole numbers for some of batch"),
        ("step.ms(H100, gpt2)", "expected batch or prefill of at least 1"),
        ("step.ms(H100, gpt2, batch=1, tokens=3)", "expected whole numbers for some of batch, context"),
        ("ridge(H200X)", "H200X is no accelerator: expected one of"),
    ],
)
def test_what_is_no_figure_is_said(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=re.escape(expected)):
        FIGURES.figure(text)
