"""What traffic will ask for, before it runs: how many requests, how long, and which can't be served."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import streamlit as st

from minibatch.analysis.formats import plural, three_figures
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.shared.summary import sentence_case
from minibatch.ui.shared.traffic_form import TrafficChoice
from minibatch.ui.shared.uploads import Upload
from minibatch.workload.arrivals import parse_arrivals
from minibatch.workload.lengths import parse_lengths
from minibatch.workload.synthetic import streams
from minibatch.workload.traces import FORMATS, FormatChoice, Notes, Scaling, TraceRow, read_trace
from minibatch.workload.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Expected:
    """Requests as (prompt, output) tokens, in order of arrival; none where only the run can tell.

    Attributes:
        scale: the trace's length scale; None for drawn requests.
        what: what they are, as in "Azure trace".
        last_s: when the last one of a trace arrives.
        notes: what was decided and left out in reading a trace, a phrase for each.
    """

    lengths: Sequence[tuple[int, int]]
    scale: float | None
    what: str = "Drawn"
    last_s: float | None = None
    notes: Sequence[str] = ()

    @property
    def words(self) -> str:
        """As in "Azure trace: 100 requests in 35.2 s, on average 1,020 prompt and 211 output tokens".

        Each note is a sentence after it.
        """
        if not self.lengths:
            return f"{self.what}: it holds texts, whose tokens are counted when it runs"
        prompts, outputs = (sum(part) / len(self.lengths) for part in zip(*self.lengths, strict=True))
        span = "" if not self.last_s else f" in {three_figures(self.last_s)} s"
        mean = f"on average {three_figures(prompts)} prompt and {three_figures(outputs)} output tokens"
        said = f"{self.what}: {plural(len(self.lengths), 'request')}{span}, {mean}"
        return ". ".join([said, *map(sentence_case, self.notes)]) + "." * bool(self.notes)

    def rejections(self, config: SchedulerConfig, context: int | None) -> tuple[int, str]:
        """How many are longer than what can be served, and what to do about it ("" where all fit).

        Args:
            context: most tokens that the model reads, where that is known.
        """
        # The last token's KV is never needed.
        in_pool = config.num_kv_blocks * config.block_size + 1
        most, why = min((config.max_model_len, "max_model_len"), (in_pool, "all KV blocks"))
        totals = [prompt + output for prompt, output in self.lengths]
        rejected = sum(total > most for total in totals)
        if not rejected:
            return 0, ""
        advice = "Draw shorter ones" if self.scale is None else self._shorter(self.scale, most, max(totals))
        if most == config.max_model_len and most < (context or 0):
            advice += f", or raise max_model_len: the model reads {context:,}"
        return rejected, (
            f"{rejected:,} of {plural(len(totals), 'request')} will be rejected: prompt and output have more than "
            f"{most:,} tokens ({why}). {advice}."
        )

    @staticmethod
    def _shorter(scale: float, most: int, longest: int) -> str:
        """Two figures, rounded down; both lengths of a request may be rounded up."""
        wanted = scale * max(1, most - 1) / longest
        digits = 1 - math.floor(math.log10(wanted))
        return f"With a length scale of {math.floor(wanted * 10**digits) / 10**digits:g} all fit"


def expect(choice: TrafficChoice, seed: int) -> Expected | None:
    """What `choice` will bring; None without a trace. ValueError says what is wrong with it."""
    if choice.problem:
        raise ValueError(choice.problem)
    if choice.upload is not None:
        return _of_trace(choice, choice.upload)
    if "prompt_lengths" not in choice.traffic:
        return None
    traffic = checked(choice)
    _, prompts, outputs, _ = streams(seed)
    count = traffic.num_requests or 0
    drawn = [
        parse_lengths(spec or "").draw(count, rng).tolist()
        for spec, rng in ((traffic.prompt_lengths, prompts), (traffic.output_lengths, outputs))
    ]
    return Expected(list(zip(*drawn, strict=True)), None)


def checked(choice: TrafficChoice, trace: Path | None = None) -> Traffic:
    """The engine's `Traffic`; ValueError says what does not go together, or which number is wrong."""
    traffic = Traffic(trace=trace, **choice.traffic)
    if traffic.arrivals is not None:
        parse_arrivals(traffic.arrivals)
    for spec in (traffic.prompt_lengths, traffic.output_lengths):
        if spec is not None:
            parse_lengths(spec)
    _ = traffic.closed_loop
    return traffic


def _of_trace(choice: TrafficChoice, upload: Upload) -> Expected:
    given = dict(choice.traffic)
    written = FormatChoice(**{field.name: given.pop(field.name, None) for field in fields(FormatChoice)})
    scaling = Scaling(**given)
    rows, notes = _read(upload.digest, written, scaling, upload)
    lengths = [(row.prompt_tokens, row.output_tokens) for row in rows]
    last_s = rows[-1].arrival_s if rows else None
    what = sentence_case(FORMATS[notes.trace_format].title)
    return Expected(lengths, scaling.length_scale, what, last_s, notes.words())


@st.cache_data(max_entries=8, show_spinner=False)
def _read(digest: str, written: FormatChoice, scaling: Scaling, _upload: Upload) -> tuple[list[TraceRow], Notes]:
    """Requests, and what was made of the file; none where that takes a tokenizer, which comes with the engine."""
    notes = Notes()
    try:
        with _upload.as_file() as path:
            return read_trace(path, written, scaling, _count_later, notes), notes
    except _TextsError:
        return [], notes


class _TextsError(Exception):
    """A trace holds texts."""


def _count_later(text: str) -> int:
    raise _TextsError
