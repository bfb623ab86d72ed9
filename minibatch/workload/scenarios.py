"""The scenarios: small seeded workloads, each made to show one thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from minibatch.workload.prompts import OPENINGS, PARAGRAPHS
from minibatch.workload.request import GREEDY, NANOSECONDS, Request, SamplingParams


class Codec(Protocol):
    """Text to tokens and back, as a `transformers` tokenizer does it."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, token_ids: list[int]) -> str: ...


@dataclass(frozen=True, slots=True)
class Lengths:
    """One request in numbers: tokens in, tokens out, seconds."""

    prompt_tokens: int
    max_tokens: int
    arrival_s: float


Draw = Callable[[np.random.Generator], list[Lengths]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A seeded workload.

    Attributes:
        watch: what there is to see, in a sentence.
        draw: the requests as lengths and arrivals, from a seeded generator.
        knobs: knobs that the scenario sets differently from the defaults.
        model: whose recording ships with Minibatch.
    """

    name: str
    title: str
    watch: str
    draw: Draw
    knobs: Mapping[str, Any] = field(default_factory=dict)
    model: str = "bundled"


def _poisson(rng: np.random.Generator, count: int, per_second: float) -> list[float]:
    """`count` arrivals of a Poisson process, the first at 0."""
    gaps = rng.exponential(1 / per_second, count)
    gaps[0] = 0.0
    return np.cumsum(gaps).tolist()


def _mixed_output(rng: np.random.Generator) -> int:
    """Short answers mostly, long ones now and then: 8 to 240 tokens."""
    return int(rng.integers(120, 241) if rng.random() < 0.25 else rng.integers(8, 49))


def _chat(rng: np.random.Generator) -> list[Lengths]:
    return [Lengths(int(rng.integers(8, 49)), _mixed_output(rng), t) for t in _poisson(rng, 32, 60)]


def _long_document(rng: np.random.Generator) -> list[Lengths]:
    """Fifteen chats are decoding when the document arrives; six more follow it."""
    early = [Lengths(int(rng.integers(8, 33)), int(rng.integers(48, 81)), float(t)) for t in rng.uniform(0, 0.02, 15)]
    late = [Lengths(int(rng.integers(8, 33)), int(rng.integers(24, 49)), 0.1 + t) for t in _poisson(rng, 6, 20)]
    return sorted([*early, Lengths(900, 24, 0.04), *late], key=lambda request: request.arrival_s)


def _identical(rng: np.random.Generator) -> list[Lengths]:
    return [Lengths(200, 64, 0.0) for _ in range(16)]


def _burst(rng: np.random.Generator) -> list[Lengths]:
    waves = [wave * 0.6 for wave in range(3) for _ in range(12)]
    return [Lengths(int(rng.integers(8, 65)), _mixed_output(rng), t) for t in waves]


def _trickle(rng: np.random.Generator) -> list[Lengths]:
    return [Lengths(int(rng.integers(8, 49)), int(rng.integers(24, 97)), t) for t in _poisson(rng, 20, 8)]


def _kv_squeeze(rng: np.random.Generator) -> list[Lengths]:
    return [Lengths(int(rng.integers(32, 97)), int(rng.integers(96, 193)), t) for t in _poisson(rng, 16, 40)]


def _emptying(rng: np.random.Generator) -> list[Lengths]:
    """After every 12 steps half of those that are left are done: batches of 32, 16, 8, 4, 2 and 1."""
    halves = (16, 8, 4, 2, 1, 1)
    return [Lengths(16, 12 * turn, 0.0) for turn, count in enumerate(halves, start=1) for _ in range(count)]


SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "chat",
            "Chat: short and long answers mixed",
            "In a static batch the short answers finish early and hold their slots until the longest is done.",
            _chat,
        ),
        Scenario(
            "long-document",
            "A long document among chats",
            "Continuous batching stalls all decodes for the whole document; chunks spread it out: compare p99 ITL.",
            _long_document,
            {"max_num_seqs": 16},
        ),
        Scenario(
            "identical",
            "Identical long prompts",
            "All prompts and answers have one length: nothing is padded, and a static batch looks fine.",
            _identical,
        ),
        Scenario(
            "burst",
            "Bursts of arrivals",
            "Twelve requests at once, three times: which are served first, and which wait for a slot.",
            _burst,
        ),
        Scenario(
            "trickle",
            "A trickle of arrivals",
            "Requests come one by one: a static batch of one makes the next wait, a window gathers a few.",
            _trickle,
        ),
        Scenario(
            "kv-squeeze",
            "Too little KV memory",
            "The pool holds about half of what the slots ask for: requests are preempted and start again.",
            _kv_squeeze,
            {"num_kv_blocks": 64},
        ),
        Scenario(
            "emptying",
            "A batch that empties",
            "Half of the batch is done every 12 steps: intensity falls by half, the step's time by less.",
            _emptying,
            {"max_num_seqs": 32, "max_num_batched_tokens": 512},
            "random:gpt2",
        ),
    )
}


def find_scenario(name: str) -> Scenario:
    """The scenario called `name`; ValueError names those there are."""
    if name not in SCENARIOS:
        raise ValueError(f"unknown scenario {name!r}: choose from {', '.join(SCENARIOS)}")
    return SCENARIOS[name]


def scenario_requests(scenario: Scenario, codec: Codec, seed: int, sampling: SamplingParams = GREEDY) -> list[Request]:
    """The scenario's requests with real text, each of exactly the drawn number of prompt tokens.

    Like serving benchmarks they ignore the end-of-text token, so that lengths are as drawn.
    """
    rng = np.random.default_rng(seed)
    requests = []
    for request_id, lengths in enumerate(scenario.draw(rng)):
        tokens = prompt_of_length(codec, lengths.prompt_tokens, rng)
        own = replace(sampling.for_request(request_id, lengths.max_tokens, seed), ignore_eos=True)
        arrival_ns = round(lengths.arrival_s * NANOSECONDS)
        requests.append(Request(request_id, tuple(tokens), own, arrival_ns, codec.decode(tokens)))
    return requests


def prompt_of_length(codec: Codec, num_tokens: int, rng: np.random.Generator) -> list[int]:
    """The beginning of a story, `num_tokens` tokens of it, ending in an opening where there is room."""
    opening = codec.encode(OPENINGS[rng.integers(len(OPENINGS))])
    if len(opening) >= num_tokens:
        return opening[:num_tokens]
    first = int(rng.integers(len(PARAGRAPHS)))
    before: list[int] = []
    turn = 0
    while len(before) + len(opening) < num_tokens:
        before += codec.encode(PARAGRAPHS[(first + turn) % len(PARAGRAPHS)] + "\n")
        turn += 1
    return _last_words(codec, before, num_tokens - len(opening)) + opening


def _last_words(codec: Codec, tokens: list[int], length: int) -> list[int]:
    """The last `length` of `tokens`, beginning with a whole word; line breaks fill what that leaves out."""
    newline = codec.encode("\n")
    if len(newline) != 1:
        return tokens[len(tokens) - length :]
    kept: list[int] = []
    for start in range(len(tokens) - length, len(tokens)):
        if codec.decode(tokens[start : start + 1]).startswith(" "):
            kept = tokens[start:]
            break
    return kept + newline * (length - len(kept))


def check_text(text: str, name: str) -> None:
    """ValueError if `text` holds what no UTF-8 text can hold, such as half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} is not text at character {error.start + 1}: write it in Unicode") from error


def typed_requests(
    prompts: Sequence[str], codec: Codec, seed: int = 0, sampling: SamplingParams = GREEDY
) -> list[Request]:
    """Prompts as typed, all arriving at once; ValueError names an empty one."""
    requests = []
    for request_id, prompt in enumerate(prompts):
        check_text(prompt, f"prompt {request_id + 1}")
        tokens = codec.encode(prompt)
        if not prompt.strip() or not tokens:
            raise ValueError(f"prompt {request_id + 1} is empty: write at least one word")
        own = sampling.for_request(request_id, sampling.max_tokens, seed)
        requests.append(Request(request_id, tuple(tokens), own, 0, prompt))
    return requests
