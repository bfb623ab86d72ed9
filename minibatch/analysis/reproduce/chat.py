"""Chat requests as Sarathi-Serve's authors served them, as far as we know their lengths."""

from __future__ import annotations

from math import exp

from minibatch.analysis.registry.claims import find_claim
from minibatch.analysis.reproduce.setup import within
from minibatch.workload.demand import Demand, drawn_demand

SIGMA = 1.0
OUTPUTS, LONGEST_OUTPUT = "lognormal:400:0.5", 1000
"""Assumed, in tokens."""
LONGEST = 4096
"""Most tokens of a request, prompt and output: the context of Yi-34B."""


def assumption() -> str:
    """What is known of the lengths and what is not."""
    median = find_claim("sarathi-chat-prompt-median")
    return (
        f"Prompts are lognormal with a median of {median.words} ({median.source_in_words}) and an assumed sigma of "
        f"{SIGMA:g}; outputs are assumed to be lognormal with a mean of 400 tokens and sigma 0.5, and at most "
        f"{LONGEST_OUTPUT:,}. A request has at most {LONGEST:,} tokens: what is longer is cut."
    )


def chat_demand(num_requests: int, seed: int) -> Demand:
    """Lengths of so many requests; equal seeds give equal ones."""
    median = find_claim("sarathi-chat-prompt-median").value
    drawn = drawn_demand(num_requests, f"lognormal:{median * exp(SIGMA**2 / 2)}:{SIGMA}", OUTPUTS, seed)
    outputs = tuple(min(tokens, LONGEST_OUTPUT) for tokens in drawn.output_tokens)
    words = f"prompts lognormal with median {median:,g} tokens, outputs lognormal with mean 400"
    return within(Demand(drawn.prompt_tokens, outputs, words), LONGEST)
