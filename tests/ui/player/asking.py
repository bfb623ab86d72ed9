"""What the tests of predictions ask the player, and what a recording says about a step."""

from __future__ import annotations

import numpy as np

from minibatch.decisions.phase import Phase
from minibatch.decisions.reasons import FINISHES, PREEMPTIONS, Code, Reason
from minibatch.recording.schema import Recording
from tests.helpers import owner_rows

ASK = (
    "const {questionsOf} = await load('predict/questions.js');"
    " return questionsOf(c.runs[argument]).map((q) => ({...q, explanation: q.explanation()}));"
)


class Step:
    """What a recording says about iteration `i` and the one before, read without the player's code."""

    def __init__(self, recording: Recording, i: int) -> None:
        self.recording, self.i = recording, i
        self.reasons: list[Reason] = [reason for at, reason in recording.each_reason() if at == i]
        self.finished = [r.request_id for r in self.reasons if r.code in FINISHES]
        self.preempted = [r.request_id for r in self.reasons if r.code in PREEMPTIONS]

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
        return f"r{held[0]}" if held else "none"

    def writes(self, request: int) -> str:
        wrote = any(row["request"] == request and row["generated"] > 0 for row in self.rows(self.i))
        return "yes" if wrote else "no"

    @property
    def running(self) -> set[int]:
        rows = [row for row in self.rows(self.i - 1) if row["phase"] != Phase.PADDING]
        return {row["request"] for row in rows} - set(self.finished)

    @property
    def free_blocks(self) -> int:
        """Free when the step is about to be scheduled: who has finished has given its blocks back."""
        owners = np.full(int(self.recording.header.config["num_kv_blocks"]), -1)
        for iteration, block, owner in owner_rows(self.recording):
            if iteration < self.i:
                owners[block] = owner
        return int(np.sum((owners < 0) | np.isin(owners, self.finished)))

    def sentences(self, *codes: Code) -> list[str]:
        return [reason.sentence for reason in self.reasons if reason.code in codes]
