"""ShareGPT: one JSON list of conversations, {"conversations": [{"from": ..., "value": "..."}, ...]}.

As in vLLM's benchmark the first question of a conversation is a prompt and its answer the output, and
later turns are not read. The pair is a human's turn and the model's right after it; turns before them
are no prompt. Conversations without such a pair, or with nothing in one of the two, are left out. There are no times:
all requests arrive at once.

Of whole conversations every such pair is a request. Its prompt is all text before it in the conversation and the
human's turn, as chat servers are sent it. Requests are in order, one conversation after the other. Each turn's
tokens are counted by themselves, without those that a chat template adds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import accumulate, pairwise

from minibatch.workload.traces.file import TraceFile
from minibatch.workload.traces.row import CountTokens, TraceRow, shown, tokens_in
from minibatch.workload.words import plural

MAX_CONVERSATION = 16 << 20
"""Most characters of a conversation."""
_ASKS, _ANSWERS = ("human", "user"), ("gpt", "assistant", "chatgpt", "bing", "bard")
"""Names of the two sides in ShareGPT and its kin."""
_SPACE = re.compile(r"[ \t\r\n]*")


class ShareGPT:
    title = "ShareGPT trace"
    from_first = False

    def __init__(self, whole: bool = False) -> None:
        self._whole = whole

    def fits(self, head: str) -> bool:
        return head.lstrip().startswith("[")

    def rows(self, file: TraceFile, count_tokens: CountTokens | None) -> Iterator[TraceRow]:
        if not self._whole:
            file.notes.part = "the first question and answer of each conversation"
        num_turns = num_conversations = 0
        for conversation in _Elements(file):
            speakers, texts = _turns(conversation)
            rows = self._requests(speakers, texts, lambda text: tokens_in(text, file, count_tokens))
            num_conversations += bool(rows)
            if not rows:
                file.notes.counts["conversation", "without a question and its answer left out"] += 1
            for row in rows:
                num_turns += 1
                if self._whole:
                    file.notes.part = f"whole conversations, {plural(num_turns, 'turn')} of {num_conversations:,}"
                yield row

    def _requests(self, speakers: list[object], texts: list[str], count: CountTokens) -> list[TraceRow]:
        """Of one conversation; none where no question with text has an answer with text."""
        asked = [
            place for place, (one, next_one) in enumerate(pairwise(speakers)) if one in _ASKS and next_one in _ANSWERS
        ]
        if not self._whole:
            pairs = [(count(texts[place]), count(texts[place + 1])) for place in asked[:1]]
            return [TraceRow(0.0, *pair) for pair in pairs if all(pair)]
        counts = [count(text) for text in texts] if asked else []
        upto = list(accumulate(counts))
        return [TraceRow(0.0, upto[place], counts[place + 1]) for place in asked if counts[place] and counts[place + 1]]


def _turns(conversation: object) -> tuple[list[object], list[str]]:
    """The speaker and the text of every turn."""
    turns = conversation.get("conversations") if isinstance(conversation, dict) else None
    if not isinstance(turns, list):
        raise ValueError(f'{shown(conversation)} is no conversation: write {{"conversations": [...]}}')
    texts = [turn.get("value") if isinstance(turn, dict) else None for turn in turns]
    told = [text for text in texts if isinstance(text, str)]
    if len(told) < len(turns):
        raise ValueError('a turn has no text: write {"from": "human", "value": "..."}')
    # Turns without a name alternate, as in files that have texts alone.
    return [turn.get("from", ("human", "gpt")[place % 2]) for place, turn in enumerate(turns)], told


class _Elements:
    """The elements of one JSON list, parsed as they come: such files are larger than what they say about lengths."""

    def __init__(self, file: TraceFile) -> None:
        self._file = file
        self._chunks = file.chunks()
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._counted = 0
        self._ended = False

    def __iter__(self) -> Iterator[object]:
        self._take("[")
        if self._peek() != "]":
            yield self._element()
            while self._peek() == ",":
                self._take(",")
                self._peek()
                yield self._element()
        self._take("]")
        self._take("")

    def _grow(self) -> bool:
        """Read more, dropping what is done; False at the end of the file."""
        more = next(self._chunks, "")
        self._count_lines()
        self._text = self._text[self._at :] + more
        self._at = self._counted = 0
        self._ended = not more
        return bool(more)

    def _peek(self) -> str:
        """The next character that is not space, "" at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            self._count_lines()
            found, right = (shown(character) if character else "the end" for character in (self._peek(), wanted))
            raise ValueError(f"not a JSON list of conversations: {found} stands where {right} should")
        self._at += len(wanted)

    def _element(self) -> object:
        self._count_lines()
        while True:
            try:
                value, self._at = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # What is cut off by the end of the text looks wrong at its very end, or is a string without one.
                is_cut = error.pos >= len(self._text) - 16 or "Unterminated string" in error.msg
                if self._ended or not is_cut:
                    raise _not_json() from error
            except (ValueError, RecursionError) as error:
                raise _not_json() from error
            else:
                return value
            if len(self._text) - self._at > MAX_CONVERSATION:
                raise ValueError(f"a conversation is longer than {MAX_CONVERSATION >> 20} MiB: remove it")
            enough = 2 * (len(self._text) - self._at)
            while self._grow() and len(self._text) < enough:
                pass

    def _count_lines(self) -> None:
        self._file.line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at


def _not_json() -> ValueError:
    return ValueError("the conversation that begins here is not JSON: repair or remove it")
