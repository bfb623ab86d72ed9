"""A request's progress through one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from minibatch.workload.request import Request


class RequestStatus(StrEnum):
    """Where a request is. It is in exactly one of these at any time."""

    WAITING = "waiting"
    RUNNING = "running"
    SWAPPED = "swapped"
    FINISHED = "finished"


class FinishReason(StrEnum):
    """Why a request left, spelled as in vLLM where it has a word for it."""

    LENGTH = "length"
    STOP = "stop"
    REJECTED = "rejected"
    ABORT = "abort"


@dataclass(slots=True, eq=False)
class RequestState:
    """Counters of one request in one run. `commit` of state or of a steady run alone changes them.

    The tokens of a request are its prompt and then its output. `num_computed_tokens` of them have
    their KV in blocks; scheduling means letting that counter catch up:

        0 ............ num_computed_tokens ............ prefill_end ............ num_tokens
        |--- KV is held ---|--- next chunk ---|--- later chunks ---|-- generated since --|

    Attributes:
        num_prompt_tokens: of the request; a copy, since it is read at every iteration.
        prefill_end: number of tokens to compute before the next one can be sampled, fixed at
            admission: the prompt, and after a preemption by recompute the generated tokens as well.
        last_computed: `num_computed_tokens` once it has generated all that it will: its last token's KV is
            never needed.
        most_computed: `last_computed` if it generated all that its client allows, which is what a scheduler knows.
        slot: index of the slot held while running, else None.
        block_table: ids of the KV blocks held, in token order.
    """

    request: Request
    status: RequestStatus = RequestStatus.WAITING
    num_computed_tokens: int = 0
    prefill_end: int = 0
    output_token_ids: list[int] = field(default_factory=list)
    slot: int | None = None
    block_table: list[int] = field(default_factory=list)
    num_preemptions: int = 0
    finish_reason: FinishReason | None = None
    request_id: int = field(init=False)
    num_prompt_tokens: int = field(init=False)
    last_computed: int = field(init=False)
    most_computed: int = field(init=False)

    def __post_init__(self) -> None:
        self.request_id = self.request.request_id
        self.num_prompt_tokens = self.prefill_end = self.request.num_prompt_tokens
        cap, length = self.request.sampling.max_tokens, self.request.true_output_tokens
        self.most_computed = self.prefill_end + cap - 1
        self.last_computed = self.most_computed if length is None or length > cap else self.prefill_end + length - 1

    @property
    def num_tokens(self) -> int:
        """Prompt and output tokens so far."""
        return self.num_prompt_tokens + len(self.output_token_ids)

    @property
    def reason_at_end(self) -> FinishReason:
        """Why it finishes once `last_computed` tokens are computed."""
        return FinishReason.STOP if self.last_computed < self.most_computed else FinishReason.LENGTH

    @property
    def is_prefilling(self) -> bool:
        return self.num_computed_tokens < self.prefill_end

    def token_ids(self, start: int, stop: int) -> list[int]:
        """Tokens at positions `start` .. `stop - 1` of the prompt followed by the output."""
        prompt = self.request.prompt_token_ids
        n = len(prompt)
        if start >= n:
            return self.output_token_ids[start - n : stop - n]
        return [*prompt[start:stop], *self.output_token_ids[: max(0, stop - n)]]
