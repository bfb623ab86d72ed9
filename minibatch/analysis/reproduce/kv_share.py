"""Kwon et al., "Efficient Memory Management for LLM Serving with PagedAttention" (SOSP 2023).

The share of KV memory that holds tokens under four ways to reserve it: Orca's, with the maximum, the next
power of two or the true length reserved for an output, and vLLM's blocks of 16 tokens.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.reproduce.result import Reproduction, ResultRow, Watch, published
from minibatch.analysis.reproduce.setup import BARE_ROOFLINE, MEMORY, Machine, at_once, machine, within
from minibatch.analysis.timeline import Timeline
from minibatch.engine.sweep import Point, record_point
from minibatch.recording.schema import Recording
from minibatch.scheduling.config import KVLayout
from minibatch.workload.demand import Demand, drawn_demand

TITLE = "PagedAttention: the share of KV memory that holds tokens"
PROMPT_MEAN, OUTPUT_MEAN, SIGMA = 160, 340, 1.0
"""Assumed lengths in tokens, about those of ShareGPT's conversations; lognormal."""

Ints = npt.NDArray[np.int64]
Reserve = Callable[[Ints, Ints], Ints]

_ASSUMPTIONS = (
    f"Lengths are assumed: lognormal with means of {PROMPT_MEAN} (prompts) and {OUTPUT_MEAN} (outputs) tokens and "
    f"sigma {SIGMA:g}, meant to be like those of ShareGPT's conversations. All requests arrive at once, so that memory "
    "is always in demand.",
    "The maximum and vLLM's blocks are layouts of our allocator: their shares are those of recorded runs. The power of "
    "two and the true length are not: their shares are arithmetic over the lengths and times of the requests of the "
    "run that reserves the maximum.",
    "For these two, memory comes in pieces whose size is a power of two (a buddy allocator), as we understand the "
    "paper's account of its Orca; the rows without say what the reservation alone would come to.",
    "Shares are of the memory that requests hold; what no request fits into, at the end of the pool, is left out.",
    BARE_ROOFLINE,
    MEMORY,
)


def power_of_two(tokens: Ints) -> Ints:
    """(requests,) the next power of two that is at least as large; of 1 that is 1."""
    return np.left_shift(np.int64(1), np.ceil(np.log2(tokens)).astype(np.int64))


def reserve_true(prompt: Ints, output: Ints) -> Ints:
    """(requests,) tokens that an oracle reserves."""
    return prompt + output


def reserve_power_of_two(prompt: Ints, output: Ints) -> Ints:
    """(requests,) tokens where the output is rounded up to a power of two."""
    return prompt + power_of_two(output)


def in_pieces(reserve: Reserve) -> Reserve:
    """The same, in one piece of memory whose size is a power of two."""
    return lambda prompt, output: power_of_two(reserve(prompt, output))


def share_of_tokens(prompt: Ints, output: Ints, prefill_ns: Ints, decode_ns: Ints, reserved: Ints) -> float:
    """Per cent of reserved memory that holds tokens, over requests and time.

    A request holds its prompt while it is prefilled, and one token more for each that it writes; so over the
    time of its decodes it holds its prompt and half of its output, on average. All arguments: (requests,).
    """
    held = prompt * (prefill_ns + decode_ns) + output / 2 * decode_ns
    return 100 * float(held.sum() / (reserved * (prefill_ns + decode_ns)).sum())


def reproduce(seed: int = 0, watch: Watch | None = None, num_requests: int = 300) -> Reproduction:
    """Record both layouts and reckon the other two; StoppedError where `watch` says so."""
    watch = watch or Watch()
    on = machine("opt-13b", "A100-40GB")
    drawn = drawn_demand(num_requests, f"lognormal:{PROMPT_MEAN}:{SIGMA}", f"lognormal:{OUTPUT_MEAN}:{SIGMA}", seed)
    demand = within(drawn, on.shape.n_positions)
    watch.at(0, 2)
    contiguous = _record(on, demand, seed, "contiguous")
    watch.at(1, 2)
    paged = _record(on, demand, seed, "paged")
    return Reproduction(
        "kv-share",
        TITLE,
        f"{num_requests:,} requests, {demand.words}; KV entries that are tokens, of those that are reserved.",
        on.words,
        _rows(contiguous, paged),
        _ASSUMPTIONS,
    )


def _record(on: Machine, demand: Demand, seed: int, layout: KVLayout) -> Recording:
    config = on.config(max_model_len=on.shape.n_positions, kv_layout=layout)
    return record_point(on.spec(demand, seed), Point("continuous", at_once(demand), config))


def held_share(recording: Recording) -> float | None:
    """Per cent of the KV entries that requests held that were tokens, over the time of the run."""
    fragmentation = compute_metrics(recording)["kv_fragmentation"]
    return None if fragmentation is None else 100 * (1 - fragmentation)


def _rows(contiguous: Recording, paged: Recording) -> tuple[ResultRow, ...]:
    timeline = Timeline(contiguous)
    prompt = np.array([request.num_prompt_tokens for request in contiguous.requests], dtype=np.int64)
    output = timeline.num_output_tokens
    prefill_ns = timeline.first_token_ns - timeline.first_scheduled_ns
    decode_ns = timeline.last_token_ns - timeline.first_token_ns

    def reckoned(reserve: Reserve) -> float:
        return share_of_tokens(prompt, output, prefill_ns, decode_ns, reserve(prompt, output))

    why = (
        "The lengths are assumed, and the published share also counts memory that lay free between reservations, "
        "which is not modelled."
    )
    return (
        ResultRow("the maximum reserved (Orca)", held_share(contiguous), "%", published("kv-share-orca-max"), why),
        ResultRow("the next power of two reserved (Orca)", reckoned(in_pieces(reserve_power_of_two)), "%",
            published("kv-share-orca-pow2"), why),
        ResultRow("the true length reserved (Orca)", reckoned(in_pieces(reserve_true)), "%",
            published("kv-share-orca-oracle"), why),
        ResultRow("blocks of 16 tokens (vLLM)", held_share(paged), "%", published("kv-share-vllm"), why),
        ResultRow("the next power of two reserved, in pieces of any size", reckoned(reserve_power_of_two), "%"),
        ResultRow("the true length reserved, in pieces of any size", reckoned(reserve_true), "%"),
    )  # fmt: skip
