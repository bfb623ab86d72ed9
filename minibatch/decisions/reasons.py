"""Why the scheduler did what it did: machine-readable reasons and the sentences they read as.

A reason is a code, the request that it is about (if it is about one) and the numbers that decided.
The recording stores those; views turn them into a sentence with `sentence`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from string import Formatter
from typing import NamedTuple


class Code(StrEnum):
    """What happened to a request, and the deciding cause."""

    QUEUED = "queued"
    ADMITTED = "admitted"
    RESUMED = "resumed"
    CHUNK = "chunk"
    WAITS_SLOT = "waits_slot"
    WAITS_BLOCKS = "waits_blocks"
    WAITS_BUDGET = "waits_budget"
    WAITS_BATCH = "waits_batch"
    WAITS_WINDOW = "waits_window"
    WAITS_PREEMPTION = "waits_preemption"
    WAITS_SWAPPED = "waits_swapped"
    STALLED_BY_PREFILL = "stalled_by_prefill"
    PREEMPTED_RECOMPUTE = "preempted_recompute"
    PREEMPTED_SWAP = "preempted_swap"
    FINISHED_LENGTH = "finished_length"
    FINISHED_STOP = "finished_stop"
    REJECTED_LENGTH = "rejected_length"
    REJECTED_BLOCKS = "rejected_blocks"
    ABORTED = "aborted"
    TRANSFERRED = "transferred"
    PREEMPTED_LATEST = "preempted_latest"
    PREEMPTED_FEWEST = "preempted_fewest"
    WAITS_RESERVED = "waits_reserved"


WAITS = frozenset(code for code in Code if code.startswith("waits_"))
REJECTIONS = frozenset(code for code in Code if code.startswith("rejected_"))
FINISHES = frozenset(code for code in Code if code.startswith("finished_"))
PREEMPTIONS = frozenset(code for code in Code if code.startswith("preempted_"))
ENDS = FINISHES | {Code.ABORTED, Code.TRANSFERRED}
"""After these a request holds nothing more of its engine."""

TEMPLATES: dict[Code, str] = {
    Code.QUEUED: "{request} joins the queue: {prompt:prompt token}, at most {max_tokens} to generate",
    Code.ADMITTED: "{request} is admitted to slot {slot}: takes {needs} of {free:free block}",
    Code.RESUMED: "{request} comes back from host memory into slot {slot}: takes {needs} of {free:free block}",
    Code.CHUNK: "{request} prefills {tokens:token}, {stop} of {end} done: {left} left of the {budget}-token budget",
    Code.WAITS_SLOT: "{request} waits: needs a slot, 0 of {slots} free",
    Code.WAITS_BLOCKS: "{request} waits: needs {needs:block}, {free} free, {kept} of them kept back by the watermark",
    Code.WAITS_BUDGET: "{request} waits: needs {needs:token}, {left} left of the {budget}-token budget",
    Code.WAITS_BATCH: "{request} waits: the batch runs until its last request ends, {running} still generating",
    Code.WAITS_WINDOW: "{request} waits: {waiting} of {slots:request} are here, "
    "the oldest for {waited_ms} of {max_wait_ms} ms",
    Code.WAITS_PREEMPTION: "{request} waits: memory ran out in this step, so no request is admitted",
    Code.WAITS_SWAPPED: "{request} waits: {swapped:preempted request} must first come back from host memory",
    Code.STALLED_BY_PREFILL: "{stalled:request} without a token: this step prefills {tokens:token} "
    "of {prompts:prompt} alone",
    Code.PREEMPTED_RECOMPUTE: "{request} loses its {held:block}, to be prefilled again: r{for_request} "
    "needs {needs:block}, {free} free, and {request} was admitted last",
    Code.PREEMPTED_SWAP: "{request} has its {held:block} copied to host memory: r{for_request} "
    "needs {needs:block}, {free} free",
    Code.PREEMPTED_LATEST: "{request} loses its {held:block}, to be prefilled again: r{for_request} "
    "needs {needs:block}, {free} free, and {request} arrived last",
    Code.PREEMPTED_FEWEST: "{request} loses its {held:block}, to be prefilled again: r{for_request} "
    "needs {needs:block}, {free} free, and {request} has generated least",
    Code.WAITS_RESERVED: "{request} waits: may come to {needs:block}, {free} free, {kept} of them set aside",
    Code.FINISHED_LENGTH: "{request} finishes: it generated all {tokens} of its tokens",
    Code.FINISHED_STOP: "{request} finishes: end of text after {tokens:token}",
    Code.REJECTED_LENGTH: "{request} is rejected: {prompt:prompt token} and {max_tokens} to generate are more than "
    "max_model_len, {max_model_len}",
    Code.REJECTED_BLOCKS: "{request} is rejected: it may need {needs:block}, and the whole pool has {pool}",
    Code.ABORTED: "{request} is aborted: the client left after {tokens:token}, and gives back {blocks:block}",
    Code.TRANSFERRED: "{request} goes on in another engine, and gives back {blocks:block} here",
}
"""The sentence of each code. The names in braces are the numbers that a reason of that code holds;
`{free:block}` reads "1 block" or "4 blocks"."""

NUMBERS: dict[Code, tuple[str, ...]] = {
    code: tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(template) if name and name != "request"))
    for code, template in TEMPLATES.items()
}
"""The names of each code's numbers, in the order in which a recording stores them."""


PREEMPTS_ITSELF = {
    Code.PREEMPTED_RECOMPUTE: "{request} loses its {held:block}, to be prefilled again: it needs {needs:block} more, "
    "{free} free, and it was admitted last",
    Code.PREEMPTED_SWAP: "{request} has its {held:block} copied to host memory: it needs {needs:block} more, "
    "{free} free",
    Code.PREEMPTED_LATEST: "{request} loses its {held:block}, to be prefilled again: it needs {needs:block} more, "
    "{free} free, and it arrived last",
}
"""For a request that is preempted to make room for itself."""

NOTHING_KEPT = {Code.WAITS_BLOCKS: "{request} waits: needs {needs:block}, {free} free"}
"""For a watermark that keeps nothing back."""


class _Count(int):
    """A number that brings its noun: format(_Count(2), "block") is "2 blocks"."""

    def __format__(self, noun: str) -> str:
        return f"{int(self):,}" + (f" {noun}{'' if self == 1 else 's'}" if noun else "")


class Reason(NamedTuple):
    """One decision about one request (or, with `request_id` None, about the step).

    Attributes:
        numbers: the values that decided it, by the names in the code's template.
    """

    code: Code
    request_id: int | None
    numbers: Mapping[str, int]

    @property
    def sentence(self) -> str:
        request = "" if self.request_id is None else f"r{self.request_id}"
        numbers = {name: _Count(value) for name, value in self.numbers.items()}
        template = TEMPLATES[self.code]
        if self.numbers.get("for_request") == self.request_id:
            template = PREEMPTS_ITSELF.get(self.code, template)
        if self.numbers.get("kept") == 0:
            template = NOTHING_KEPT.get(self.code, template)
        return template.format(request=request, **numbers)
