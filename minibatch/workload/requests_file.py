"""Requests from a file: JSON lines with `prompt` or `prompt_tokens`, `max_tokens`, `arrival_s`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from minibatch.reading.files import read_file
from minibatch.reading.values import parse_json
from minibatch.workload.request import GREEDY, LONGEST_S, NANOSECONDS, Request, SamplingParams
from minibatch.workload.scenarios import Codec, check_text, prompt_of_length
from minibatch.workload.traces.row import shown

_FIELDS = {"prompt", "prompt_tokens", "max_tokens", "arrival_s"}
_MAX_BYTES = 256 << 20


def read_requests(path: Path, codec: Codec, seed: int = 0, sampling: SamplingParams = GREEDY) -> list[Request]:
    """The requests of a JSON-lines file, numbered in order of arrival.

    A line has `prompt` (text) or `prompt_tokens` (a length, filled with text of that many tokens),
    `max_tokens`, and `arrival_s` (seconds from the start; 0 where it is left out).

    Raises:
        ValueError: a sentence with the file, the line and what to write there.
        OSError: the file can't be read.
    """
    try:
        text = read_file(path, _MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    rng = np.random.default_rng(seed)
    drafts: list[tuple[float, tuple[int, ...], str, int]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                drafts.append(_parse_line(line, codec, rng))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
    if not drafts:
        raise ValueError(f"{path} holds no requests: write one JSON object a line")
    drafts.sort(key=lambda draft: draft[0])
    return [
        Request(
            request_id,
            tokens,
            sampling.for_request(request_id, max_tokens, seed),
            round(arrival_s * NANOSECONDS),
            prompt,
        )
        for request_id, (arrival_s, tokens, prompt, max_tokens) in enumerate(drafts)
    ]


def _parse_line(line: str, codec: Codec, rng: np.random.Generator) -> tuple[float, tuple[int, ...], str, int]:
    try:
        data: Any = parse_json(line, odd_numbers=True)
    except ValueError as error:
        raise ValueError(f"{error}: write one object a line, or remove it") from error
    if not isinstance(data, dict):
        raise ValueError('not a JSON object: write {"prompt": "...", "max_tokens": 32}')
    if unknown := sorted(set(data) - _FIELDS):
        raise ValueError(f"unknown field {shown(unknown[0])}: use {', '.join(sorted(_FIELDS))}")
    if ("prompt" in data) == ("prompt_tokens" in data):
        raise ValueError("give either prompt (text) or prompt_tokens (a length)")
    max_tokens = _whole_number(data, "max_tokens")
    arrival_s = data.get("arrival_s", 0)
    if isinstance(arrival_s, bool) or not isinstance(arrival_s, int | float) or not 0 <= arrival_s <= LONGEST_S:
        raise ValueError(f"arrival_s is {shown(arrival_s)}: use 0 to {LONGEST_S:,} seconds")
    if "prompt_tokens" in data:
        tokens = prompt_of_length(codec, _whole_number(data, "prompt_tokens"), rng)
        return float(arrival_s), tuple(tokens), codec.decode(tokens), max_tokens
    prompt = data["prompt"]
    if not isinstance(prompt, str) or not prompt.strip():
        raise ValueError(f"prompt is {shown(prompt)}: write at least one word")
    check_text(prompt, "prompt")
    return float(arrival_s), tuple(codec.encode(prompt)), prompt, max_tokens


def _whole_number(data: dict[str, Any], name: str) -> int:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
        raise ValueError(f"{name} is {shown(value)}: use a whole number from 1 to 1,000,000")
    return value
