"""Requests by times and lengths alone; their prompts are placeholders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from minibatch.workload.arrivals import Arrivals
from minibatch.workload.lengths import TokenLengths
from minibatch.workload.request import GREEDY, MOST_REQUESTS, NANOSECONDS, Request, SamplingParams
from minibatch.workload.specs import require
from minibatch.workload.traces import TraceRow

GPT2_VOCAB_SIZE = 50_257
MOST_PROMPT_TOKENS = 20_000_000
"""Most prompt tokens of a workload together: all are kept, and recorded."""

_POOL = 4096  # of so few tokens a recording of many prompts still packs well


def synthetic_requests(
    num_requests: int,
    arrivals: Arrivals,
    prompt_lengths: TokenLengths,
    output_lengths: TokenLengths,
    seed: int,
    vocab_size: int = GPT2_VOCAB_SIZE,
    sampling: SamplingParams = GREEDY,
) -> list[Request]:
    """Requests drawn at random, numbered in order of arrival, as `numbered_requests` makes them.

    Times, prompt lengths and output lengths each have a random stream of their own: to change one
    leaves the others as they are.

    Raises:
        ValueError: there are too many requests or tokens, or they arrive too late.
    """
    require(1 <= num_requests <= MOST_REQUESTS, "num_requests", num_requests, f"1 to {MOST_REQUESTS:,}")
    times, prompts, outputs, _ = streams(seed)
    return numbered_requests(
        arrivals.times_ns(num_requests, times).tolist(),
        prompt_lengths.draw(num_requests, prompts).tolist(),
        output_lengths.draw(num_requests, outputs).tolist(),
        seed,
        vocab_size,
        sampling,
    )


def trace_requests(
    rows: Sequence[TraceRow],
    seed: int,
    vocab_size: int = GPT2_VOCAB_SIZE,
    sampling: SamplingParams = GREEDY,
    arrivals: Arrivals | None = None,
) -> list[Request]:
    """The requests of a trace, at its times or at those that `arrivals` draws; ValueError as above."""
    if arrivals is None:
        times_ns = [round(row.arrival_s * NANOSECONDS) for row in rows]
    else:
        times_ns = arrivals.times_ns(len(rows), streams(seed)[0]).tolist()
    prompts, outputs = [row.prompt_tokens for row in rows], [row.output_tokens for row in rows]
    return numbered_requests(times_ns, prompts, outputs, seed, vocab_size, sampling)


def numbered_requests(
    times_ns: Sequence[int],
    prompt_lengths: Sequence[int],
    output_lengths: Sequence[int],
    seed: int,
    vocab_size: int,
    sampling: SamplingParams,
) -> list[Request]:
    """One request for each time and lengths, times in order.

    Prompts are pseudo-random tokens below `vocab_size`, and begin differently as far as there are
    tokens. Outputs have just the length given: the end-of-text token is ignored, as in benchmarks.
    """
    if (total := sum(prompt_lengths)) > MOST_PROMPT_TOKENS:
        raise ValueError(
            f"the prompts have {total:,} tokens together, and a run takes {MOST_PROMPT_TOKENS:,}: "
            "use fewer requests or shorter ones"
        )
    rng = streams(seed)[3]
    pool = tuple(rng.integers(0, vocab_size, _POOL).tolist())
    pool *= 2 + max(prompt_lengths, default=0) // _POOL
    starts = rng.integers(0, _POOL, len(times_ns)).tolist()
    return [
        Request(
            request_id,
            (request_id % vocab_size, *pool[start : start + prompt - 1]),
            replace(sampling.for_request(request_id, output, seed), ignore_eos=True),
            time_ns,
        )
        for request_id, (time_ns, prompt, output, start) in enumerate(
            zip(times_ns, prompt_lengths, output_lengths, starts, strict=True)
        )
    ]


def streams(seed: int) -> list[np.random.Generator]:
    """Independent random streams: of times, prompt lengths, output lengths and tokens."""
    return [np.random.Generator(np.random.PCG64(child)) for child in np.random.SeedSequence(seed).spawn(4)]
