"""JSON lines with timestamp, input_length, output_length, hash_ids: the fields of several traces, times in two units.

One is in milliseconds (Mooncake), others in seconds (vLLM's `timed_trace`, Bailian, guidellm). In place of a length
a line may have its prompt as text, and in place of a timestamp a delay after the line before it of its session, as
in aiperf's Mooncake traces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from minibatch.workload.request import MOST_REQUESTS
from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import CountTokens, TraceRow, seconds, shown, tokens, tokens_in
from minibatch.workload.traces.tables import json_rows

SECONDS_GAP = 10.0
"""Times with fractions are seconds up to this mean gap: requests 10 ms apart, or 10 s, are both rare."""
_OUTPUT = "output_length"
_PROMPTS = ("input_length", "text", "text_input", "messages")
"""Each says what the prompt is; the first one that is there counts."""
_TIMES = ("timestamp", "delay", "session_id")
_TIME = re.compile(r'"(timestamp|delay)"\s*:\s*([0-9]+(\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*[,}]')


def is_timed_jsonl(head: str) -> bool:
    """Whether a file that begins like this is JSON lines with lengths."""
    return (
        head.lstrip().startswith("{") and f'"{_OUTPUT}"' in head and any(f'"{prompt}"' in head for prompt in _PROMPTS)
    )


def time_unit_of(head: str) -> tuple[str, str]:
    """The unit of the times at a file's beginning, "s" or "ms", and why.

    Seconds have fractions, and a short mean gap: between timestamps, or of delays where there are no timestamps.
    """
    found = _TIME.findall(head)
    if not any(fraction for _, _, fraction in found):
        return "ms", "they have no fractions"
    stamps = [float(text) for name, text, _ in found if name == "timestamp"]
    delays = [float(text) for name, text, _ in found if name == "delay"]
    span, gaps = (stamps[-1] - stamps[0], len(stamps) - 1) if stamps else (sum(delays), len(delays))
    if span <= SECONDS_GAP * max(1, gaps):
        return "s", "they have fractions and come close together"
    return "ms", "they have fractions and are far apart"


def timed_rows(file: TraceFile, count_tokens: CountTokens | None, unit: str, per_second: float) -> Iterator[TraceRow]:
    """The requests; from the first line of a session on they are sorted by time, for sessions overlap.

    Args:
        unit: what the times are, in words.
        per_second: how many units a second has.
    """
    clock = _Clock(file, unit, per_second)
    of_sessions: list[tuple[float, int, TraceRow]] = []
    for hashes, *rest, output in json_rows(file, (_OUTPUT,), ("hash_ids", *_TIMES, *_PROMPTS)):
        times, prompts = rest[: len(_TIMES)], rest[len(_TIMES) :]
        arrival_s = clock.arrival_s(*times)
        length, hash_ids = _prompt_tokens(prompts, file, count_tokens), _hashes(hashes)
        file.notes.check_hashes(len(hash_ids), length)
        row = TraceRow(arrival_s, length, tokens(output, _OUTPUT), hash_ids)
        if not clock.has_sessions:
            yield row
        elif len(of_sessions) == MOST_REQUESTS:
            raise ValueError(f"more than {MOST_REQUESTS:,} requests in sessions: cut the file")
        else:
            of_sessions.append((arrival_s, file.line, row))
    for _, file.line, row in sorted(of_sessions, key=lambda held: held[:2]):
        yield row


@dataclass(slots=True)
class _Clock:
    """When lines arrive: at their timestamp, or after the line before of the same session, else of the file."""

    file: TraceFile
    unit: str
    per_second: float
    above_s: float = 0.0
    of_session: dict[str | int, float] = field(default_factory=dict)

    @property
    def has_sessions(self) -> bool:
        return bool(self.of_session)

    def arrival_s(self, timestamp: Any, delay: Any, session: Any) -> float:
        if session is not None and type(session) not in (str, int):
            raise ValueError(f"session_id is {shown(session)}: use a text or a whole number")
        before_s = self.of_session.get(session, self.above_s)
        notes = self.file.notes
        if timestamp is not None:
            now_s = seconds(timestamp, "timestamp") / self.per_second
        elif delay is not None:
            now_s = before_s + seconds(delay, "delay") / self.per_second
        else:
            now_s = before_s
            above = "line above of its session" if session in self.of_session else "line above"
            notes.time_counts["line", f"without a timestamp, taken to arrive with the {above}"] += 1
        if timestamp is not None or delay is not None:
            notes.unit = self.unit
        self.above_s = now_s
        if session is not None:
            self.of_session[session] = now_s
        return now_s


def _prompt_tokens(prompts: list[Any], file: TraceFile, count_tokens: CountTokens | None) -> int:
    for name, value in zip(_PROMPTS, prompts, strict=True):
        if value is None:
            continue
        if name == "input_length":
            return tokens(value, name)
        texts = _texts(value) if name == "messages" else [value]
        if not all(isinstance(text, str) for text in texts):
            use = '[{"role": "user", "content": "..."}]' if name == "messages" else "a text"
            raise ValueError(f"{name} is {shown(value)}: use {use}")
        if not (length := sum(tokens_in(text, file, count_tokens) for text in texts)):
            raise ValueError(f"{name} holds no text: remove the line, or give its input_length")
        return length
    raise ValueError(f"there is no {_PROMPTS[0]!r}: each line needs one of {', '.join(_PROMPTS)}")


def _texts(messages: Any) -> list[Any]:
    """The texts of chat messages, whose content is one text or parts of which some are; None for what is none."""
    texts: list[Any] = []
    for message in messages if isinstance(messages, list) else [None]:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            texts += [part.get("text", "") if isinstance(part, dict) else None for part in content]
        else:
            texts.append(content)
    return texts


def _hashes(value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(type(hash_id) is int for hash_id in value):
        raise ValueError(f"hash_ids is {shown(value)}: use a list of whole numbers")
    return tuple(value)
