"""What a request was asked and what it wrote, as text that no browser takes for anything else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from minibatch.analysis.formats import plural
from minibatch.recording.schema import Recording, RequestRecord


def same_requests(recordings: Sequence[Recording]) -> bool:
    """Whether request r7 of one recording is request r7 of all."""
    return len({len(recording.requests) for recording in recordings}) == 1


def written(request: RequestRecord) -> str:
    return "".join(request.pieces)


def grouped_texts(recordings: Sequence[Recording], request_id: int) -> list[tuple[tuple[str, ...], str]]:
    """(policies, text) of each different text that the request wrote, in order of policy."""
    groups: dict[str, list[str]] = {}
    for recording in recordings:
        groups.setdefault(written(recording.requests[request_id]), []).append(recording.header.policy)
    return [(tuple(policies), text) for text, policies in groups.items()]


def request_label(recording: Recording, request_id: int) -> str:
    """r7 and its lengths: what a list to choose from shows."""
    request = recording.requests[request_id]
    return f"r{request_id}: {plural(request.num_prompt_tokens, 'prompt token')}, {request.max_tokens:,} to write"


def texts_html(recordings: Sequence[Recording], request_id: int) -> str:
    """The prompt, and the text of each policy: once, where all wrote the same."""
    request = recordings[0].requests[request_id]
    prompt = request.prompt if request.prompt is not None else "given as tokens, not as text"
    parts = [_passage("prompt", prompt)]
    groups = grouped_texts(recordings, request_id)
    for policies, text in groups:
        if len(groups) > 1:
            heading = ", ".join(policies)
        elif len(recordings) > 1:
            heading = "same text under all policies"
        else:
            heading = policies[0]
        parts.append(_passage(heading, text) if text else _note(heading, _silence(recordings[0], request)))
    return f"<div class='mb-texts'>{''.join(parts)}</div>"


def _silence(recording: Recording, request: RequestRecord) -> str:
    if request.finish_reason == "refused":
        return "Refused: it wrote nothing."
    if recording.header.clock == "modelled":
        return "A modelled run computes times, not text."
    return "Nothing was written before the run was cancelled."


def _passage(heading: str, text: str) -> str:
    return f"<section><h4>{escape(heading)}</h4><p class='mb-text'>{escape(text)}</p></section>"


def _note(heading: str, note: str) -> str:
    return f"<section><h4>{escape(heading)}</h4><p class='mb-note'>{escape(note)}</p></section>"
