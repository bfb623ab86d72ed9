"""A request: prompt tokens in, output tokens out, with an arrival time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

NANOSECONDS = 1_000_000_000
"""Nanoseconds in a second. Times are whole nanoseconds, so that ledgers sum exactly."""

LONGEST_S = 1_000_000
"""Most seconds of any wait or arrival: in nanoseconds far below 2**53, which JavaScript reads exactly."""

LONGEST_TOKENS = 10_000_000
"""Most tokens of a prompt or an output in a synthetic workload or a trace."""

MOST_REQUESTS = 1_000_000
"""Most requests of a synthetic workload or a trace."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How a request's tokens are drawn; names and meanings as in vLLM's `SamplingParams`.

    Attributes:
        max_tokens: most output tokens, at least 1.
        temperature: 0 takes the most likely token (greedy).
        top_k: keep the k most likely tokens; 0 keeps all.
        top_p: keep the fewest most likely tokens whose probabilities sum to at least this.
        seed: of the request's own random stream.
        ignore_eos: write `max_tokens` tokens even if the model ends the text earlier.
    """

    max_tokens: int = 16
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}: a request generates at least 1 token")
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature is {self.temperature}: use 0 (greedy) or a positive number")
        if self.top_k < 0:
            raise ValueError(f"top_k is {self.top_k}: use 0 (all tokens) or a positive number")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}: use 0 or a positive whole number")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}: use a number above 0 and at most 1")

    def for_request(self, request_id: int, max_tokens: int, run_seed: int) -> SamplingParams:
        """The same settings with a random stream of the request's own."""
        return replace(self, max_tokens=max_tokens, seed=run_seed * 1_000_003 + request_id)


GREEDY = SamplingParams()


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived; it never changes. Progress lives in `scheduling.RequestState`.

    Attributes:
        request_id: 0, 1, 2, ... in order of arrival; shown as "r0", "r1", ...
        prompt_token_ids: the prompt, at least one token; a range where only its length matters.
        arrival_ns: arrival on the run's clock, in nanoseconds from its start.
        prompt: the prompt as text, where it was text.
        tenant: whose request it is, or its class.
        priority: as in vLLM: a lower number is served earlier.
        true_output_tokens: how many tokens its answer has without the cap, where the workload knows it.
    """

    request_id: int
    prompt_token_ids: tuple[int, ...] | range
    sampling: SamplingParams = field(default_factory=SamplingParams)
    arrival_ns: int = 0
    prompt: str | None = None
    tenant: str | None = None
    priority: int = 0
    true_output_tokens: int | None = None

    def __post_init__(self) -> None:
        if not self.prompt_token_ids:
            raise ValueError(f"request {self.request_id} has an empty prompt: give it at least one token")
        if not 0 <= self.arrival_ns <= LONGEST_S * NANOSECONDS:
            raise ValueError(
                f"request {self.request_id} arrives at {self.arrival_ns} ns: use 0 to {LONGEST_S:,} seconds"
            )

    @property
    def num_prompt_tokens(self) -> int:
        return len(self.prompt_token_ids)
