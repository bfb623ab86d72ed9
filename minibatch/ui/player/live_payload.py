"""A run in progress as the bytes that the player reads: what it has already is not sent again.

The format is that of payload.py, but rows come in parts, in the order in which they were recorded:
`parts` of the JSON line tells of each to which run it belongs and what its requests are, and its
columns follow. The player joins them (assets/player/core/parts.js) and says how many it has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minibatch.recording.part import RecordingPart
from minibatch.recording.schema import Header
from minibatch.scheduling import POLICIES
from minibatch.ui.player.charts import chart_specs
from minibatch.ui.player.payload import deflated, pack_columns, run_fields, words
from minibatch.ui.player.policy_source import policy_sources
from minibatch.ui.shared.summary import title, watch


@dataclass(frozen=True, slots=True)
class PackedPart:
    """A part, packed once and sent to all who watch.

    Attributes:
        head: what the JSON line says of it.
        columns: its rows.
    """

    policy: str
    head: Mapping[str, Any]
    columns: bytes


def pack_part(part: RecordingPart) -> PackedPart:
    """What `part` adds."""
    columns: list[bytes] = []
    lengths = pack_columns(part.alone(), columns)
    head = {
        "policy": part.header.policy,
        "firstIteration": part.first_iteration,
        "from": part.from_ns,
        "requests": [
            [each.request_id, each.arrival_ns, each.num_prompt_tokens, each.max_tokens, each.prompt]
            for each in part.requests
        ],
        "pieces": [[request, list(pieces)] for request, pieces in part.pieces.items()],
        "finished": [[request, reason, part.aborted.get(request)] for request, reason in part.finished.items()],
        "columns": lengths,
    }
    return PackedPart(part.header.policy, head, b"".join(columns))


class LivePayload:
    """The parts of one job's runs, packed as they come.

    Args:
        stream: names them; the player forgets those of another stream.
        policies: whose runs are shown.
    """

    def __init__(self, stream: str, policies: Collection[str]) -> None:
        self.stream = stream
        self._policies = policies
        self._num_seen = 0
        self._parts: list[PackedPart] = []
        self._headers: dict[str, Header] = {}

    def extend(self, parts: Sequence[RecordingPart]) -> None:
        """Pack those of the job's `parts` that are new. The list only grows."""
        for part in parts[self._num_seen :]:
            self._num_seen += 1
            if part.header.policy in self._policies:
                self._parts.append(pack_part(part))
                self._headers[part.header.policy] = part.header

    @property
    def num_parts(self) -> int:
        return len(self._parts)

    def since(self, first: int, options: Mapping[str, Any] | None = None) -> bytes:
        """What a player lacks that has the `first` parts.

        Args:
            options: as of `payload.pack`.
        """
        first = min(first, len(self._parts))
        names = sorted(self._headers, key=[*POLICIES, *self._headers].index)
        head: dict[str, Any] = {
            "stream": self.stream,
            "first": first,
            "runs": [run_fields(self._headers[name], name) for name in names],
            "parts": [part.head for part in self._parts[first:]],
            # A run that begins brings the source of its policy.
            "sources": policy_sources({part.policy for part in self._parts[first:] if not part.head["firstIteration"]}),
            "options": dict(options or {}),
        }
        if not first:
            header = next(iter(self._headers.values()))
            head |= {"title": title(header), "watch": watch(header), "words": words(), "charts": chart_specs()}
        return deflated(head, [part.columns for part in self._parts[first:]], level=1)
