"""Where two runs that began alike first do different things, and how to say it in a sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import PREEMPTIONS, Code
from minibatch.recording.schema import Recording

_MOVES = {
    Code.ADMITTED: "admits r{}",
    Code.RESUMED: "brings r{} back from host memory",
    **dict.fromkeys(PREEMPTIONS, "drops the blocks of r{}"),
    Code.PREEMPTED_SWAP: "copies the blocks of r{} to host memory",
}
_COLUMNS = ("slot", "request", "phase", "start", "tokens", "padding")
_NAMED_PROMPTS = 3
"""Most prompts of one iteration that a sentence names one by one."""


def diff_forks(unchanged: Recording, changed: Recording, iteration: int) -> tuple[int | None, str]:
    """The first iteration from `iteration` on at which two futures of a fork differ, and how they do.

    They differ where other tokens run or others enter or are preempted, or in another way or slot;
    how long it takes does not count.

    Returns:
        None if they never differ, or not before one was stopped; and a sentence that says it.
    """
    setting = _setting(changed.header.fork or {})
    runs = _Batches(unchanged), _Batches(changed)
    for i in range(iteration, max(unchanged.num_iterations, changed.num_iterations)):
        if any(run.is_cut_before(i) for run in runs):
            break
        if runs[0].at(i) != runs[1].at(i):
            words = _differences(runs, i)
            return i, f"at step {i} the unchanged run {words[0]}; with {setting} it {words[1]}"
    return None, _never(unchanged, changed, iteration)


class _Detail(IntEnum):
    """How much a sentence tells."""

    COUNTS = 0
    NAMES = 1
    SLOTS = 2


@dataclass(frozen=True, slots=True)
class _Row:
    """What one slot does in one iteration."""

    slot: int
    request: int
    phase: Phase
    start: int
    tokens: int
    padding: int


class _Batches:
    """A recording, an iteration at a time."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._first_row = np.searchsorted(recording.entries["iteration"], np.arange(recording.num_iterations + 1))
        self._moves: dict[int, list[tuple[Code, int | None]]] = defaultdict(list)
        for iteration, reason in recording.each_reason():
            if reason.code in _MOVES:
                self._moves[iteration].append((reason.code, reason.request_id))

    def is_cut_before(self, i: int) -> bool:
        """Whether the run was stopped before iteration `i`, so that its next plan is unknown."""
        return i >= self.recording.num_iterations and not self.recording.header.complete

    def at(self, i: int) -> tuple[list[_Row], list[tuple[Code, int | None]]]:
        """The requests that run at iteration `i`, by slot, and those that enter and leave for it."""
        if i >= self.recording.num_iterations:
            return [], []
        here = slice(self._first_row[i], self._first_row[i + 1])
        columns = (self.recording.entries[name][here].tolist() for name in _COLUMNS)
        rows = [_Row(slot, request, Phase(phase), *rest) for slot, request, phase, *rest in zip(*columns, strict=True)]
        return sorted(rows, key=lambda row: row.slot), self._moves[i]

    def describe(self, i: int, detail: _Detail) -> str:
        """What the run does at iteration `i`, as it goes on after "it"."""
        rows, moves = self.at(i)
        if not rows:
            return "has finished"
        of = {phase: [row for row in rows if row.phase is phase] for phase in Phase}
        says = [_MOVES[code].format(request) for code, request in moves if detail or code in PREEMPTIONS]
        if of[Phase.DECODE]:
            says.append(f"decodes {_some(of[Phase.DECODE], detail)}")
        if of[Phase.PREFILL]:
            says.append(f"prefills {self._prompts(of[Phase.PREFILL], detail)}")
        if of[Phase.STALLED]:
            says.append(f"leaves {_some(of[Phase.STALLED], detail)} without a token")
        if padding := sum(row.padding for row in rows):
            says.append(f"computes {_count(padding, 'padded position')}")
        if idle := [row for row in of[Phase.PADDING] if not row.padding]:
            says.append(f"holds {_count(len(idle), 'slot')} for finished requests")
        return _listed(says)

    def _prompts(self, rows: Sequence[_Row], detail: _Detail) -> str:
        if len(rows) > _NAMED_PROMPTS and not detail:
            return f"{_count(sum(row.tokens for row in rows), 'token')} of {len(rows)} prompts"
        return _listed([self._prompt(row) + _slot(row, detail) for row in rows])

    def _prompt(self, row: _Row) -> str:
        tokens = _count(row.tokens, "token")
        whole = row.start == 0 and row.tokens >= self.recording.requests[row.request].num_prompt_tokens
        return f"r{row.request}'s {tokens}" if whole else f"{tokens} of r{row.request}"


def _differences(runs: tuple[_Batches, _Batches], i: int) -> list[str]:
    """Both runs' iteration in words, in no more detail than it takes to tell them apart."""
    for detail in _Detail:
        words = [run.describe(i, detail) for run in runs]
        if words[0] != words[1]:
            break
    return words


def _never(unchanged: Recording, changed: Recording, iteration: int) -> str:
    fork = changed.header.fork or {}
    if not (unchanged.header.complete and changed.header.complete):
        last = min(unchanged.num_iterations, changed.num_iterations)
        return f"both futures are the same up to step {last}, at which they were stopped"
    if changed.num_iterations == iteration:
        return f"nothing is left to run at step {iteration}: all requests have finished"
    if fork["before"] == fork["after"]:
        return f"both futures are the same: {fork['knob']} is {fork['after']} in both"
    same = f"both futures run the same batches at every step from {iteration} on"
    later_ns = changed.end_ns - unchanged.end_ns
    if not later_ns:
        return same
    how = "later" if later_ns > 0 else "earlier"
    return f"{same}; with {_setting(fork)} the run ends {_duration(abs(later_ns))} {how}"


def _setting(fork: Mapping[str, Any]) -> str:
    return f"the {fork['after']} policy" if fork["knob"] == "policy" else f"{fork['knob']} {fork['after']}"


def _some(rows: Sequence[_Row], detail: _Detail) -> str:
    return _listed([f"r{row.request}{_slot(row, detail)}" for row in rows]) if detail else _count(len(rows), "request")


def _slot(row: _Row, detail: _Detail) -> str:
    return f" in slot {row.slot}" if detail is _Detail.SLOTS else ""


def _count(n: int, noun: str) -> str:
    """A number and its noun: "1 token", "1,024 tokens"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _listed(parts: Sequence[str]) -> str:
    """In a row: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _duration(ns: int) -> str:
    """With three significant figures: "12.3 ms"."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns} ns"
