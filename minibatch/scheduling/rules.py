"""The rules in which schedulers differ. A policy is put together from one of each, and `engines` prints them.

Each rule is an enumeration whose values are its words, beside the one function that carries it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from minibatch.decisions.reasons import Code
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.request_state import RequestState


class Step(StrEnum):
    """What an iteration may hold."""

    BATCH = "one batch, until its last request ends"
    MIXED = "prefills and decodes"
    EITHER = "prefills or decodes"


class Admits(StrEnum):
    """The blocks that must be free for a request to enter."""

    FIRST_CHUNK = "its first chunk"
    PROMPT_CHECKED = "its prompt, of which it takes the first chunk's"
    PROMPT_TAKEN = "its prompt, which it takes at once"
    PROMPT_AND_CAP = "its prompt and max_tokens, which are set aside"
    ESTIMATED = "its prompt, max_tokens and what the running are expected to generate"


class Shortage(StrEnum):
    """What a running request does when it is short of blocks."""

    CUT_CHUNK = "takes the part of its chunk that fits, and preempts for the first token"
    ALL_OR_PREEMPT = "preempts until all of its tokens fit"
    ONE_FREE = "decodes while a block is free, needed or not, and else preempts"
    NEXT_OF_ALL = "preempts, before the step, until the next token of all fits"
    SET_ASIDE = "never is: its blocks were set aside"


class Victim(StrEnum):
    """Which request is preempted."""

    NOBODY = "nobody"
    LAST_ADMITTED = "the last admitted"
    LATEST_ARRIVAL = "the latest arrival that has no token in this step"
    LATER_ARRIVAL = "the latest arrival, if later than the one in need"
    FEWEST_OUTPUTS = "the fewest tokens generated"


class Returns(StrEnum):
    """Where a preempted request waits."""

    HEAD = "head of the queue"
    TAIL = "tail of the queue"
    ARRIVAL = "its place by arrival"


class Watermark(StrEnum):
    """When the watermark must stay free at an admission."""

    NEVER = "never"
    WHILE_OTHERS_RUN = "while others run"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Rules:
    """One rule of each kind.

    Attributes:
        admits_after_preemption: a request may enter in an iteration that preempted another one.
        decodes_by_arrival: running requests get their tokens in order of arrival, not of admission.
        swaps: with `preemption_mode` "swap" a victim's KV goes to host memory; else it is always dropped.
        pages_kept: blocks that even an empty, paged pool must have beyond what a request needs.
    """

    step: Step = Step.MIXED
    admits: Admits = Admits.FIRST_CHUNK
    shortage: Shortage = Shortage.CUT_CHUNK
    victim: Victim = Victim.LAST_ADMITTED
    returns: Returns = Returns.HEAD
    watermark: Watermark = Watermark.WHILE_OTHERS_RUN
    admits_after_preemption: bool = False
    swaps: bool = False
    decodes_by_arrival: bool = False
    pages_kept: int = 0


TEACHING = Rules(swaps=True)
"""Of the policies that show one idea each; `chunked` has just these."""


def tokens_to_admit(rules: Rules, request: RequestState, chunk: int) -> int:
    """Tokens whose blocks must be free, above what is set aside, for `request` to enter with a chunk."""
    match rules.admits:
        case Admits.PROMPT_CHECKED | Admits.PROMPT_TAKEN:
            return request.num_tokens
        case Admits.PROMPT_AND_CAP:
            return request.most_computed
        case _:
            return chunk


def tokens_taken(rules: Rules, request: RequestState, chunk: int) -> int:
    """Tokens whose blocks `request` takes as it enters with a chunk."""
    return request.num_tokens if rules.admits is Admits.PROMPT_TAKEN else chunk


def watermark_of(rules: Rules, config: SchedulerConfig, others_run: bool) -> int:
    """Blocks that an admission leaves free."""
    if rules.watermark is Watermark.NEVER or (rules.watermark is Watermark.WHILE_OTHERS_RUN and not others_run):
        return 0
    return config.watermark_blocks


def blocks_always_free(rules: Rules, config: SchedulerConfig) -> int:
    """Blocks that no request can ever have, since even in an empty pool they stay free at its admission."""
    pages = rules.pages_kept if config.kv_layout == "paged" else 0
    return pages + (config.watermark_blocks if rules.watermark is Watermark.ALWAYS else 0)


def victim_for(
    rules: Rules,
    config: SchedulerConfig,
    request: RequestState,
    running: Sequence[RequestState],
    unscheduled: Sequence[RequestState],
) -> RequestState | None:
    """Who is preempted for `request`, perhaps itself; None where it must do without.

    Args:
        running: in order of admission, `request` included.
        unscheduled: those of them that have no token yet in this iteration.
    """
    match rules.victim:
        case Victim.LAST_ADMITTED if config.queue_order == "priority":
            return max(running, key=lambda each: (each.request.priority, each.request_id))
        case Victim.LAST_ADMITTED:
            return running[-1]
        case Victim.LATEST_ARRIVAL:
            return max(unscheduled, key=lambda each: each.request_id, default=request)
        case Victim.LATER_ARRIVAL:
            latest = max(unscheduled, key=lambda each: each.request_id, default=request)
            return latest if latest.request_id > request.request_id else None
        case Victim.FEWEST_OUTPUTS:
            others = [each for each in running if each is not request]
            return min(others, key=lambda each: (len(each.output_token_ids), -each.num_prompt_tokens), default=None)
        case _:
            return None


CODE_OF_VICTIM = {
    Victim.LAST_ADMITTED: Code.PREEMPTED_RECOMPUTE,
    Victim.LATEST_ARRIVAL: Code.PREEMPTED_LATEST,
    Victim.LATER_ARRIVAL: Code.PREEMPTED_LATEST,
    Victim.FEWEST_OUTPUTS: Code.PREEMPTED_FEWEST,
}
"""What is noted of a victim whose KV is dropped."""
