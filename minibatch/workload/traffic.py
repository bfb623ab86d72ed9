"""Traffic: requests by times and lengths, from a trace or from distributions, as asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from minibatch.workload.arrivals import ClosedLoop, parse_arrivals
from minibatch.workload.caps import capped, parse_cap
from minibatch.workload.lengths import LENGTH_FORMS, parse_lengths
from minibatch.workload.request import GREEDY, Request, SamplingParams
from minibatch.workload.synthetic import synthetic_requests, trace_requests
from minibatch.workload.traces import FormatChoice, Notes, Scaling, describe_trace, read_trace
from minibatch.workload.traces.row import CountTokens

_SCALES = ("speed", "length_scale", "start_s")
"""Of a trace alone; its num_requests is also of drawn ones."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Either a trace, or `prompt_lengths`, `output_lengths` and `num_requests`; what is None was not asked for.

    Attributes:
        trace: a file, as `read_trace` takes it.
        trace_format, time_unit, conversations: how it is written, as in `FormatChoice`.
        speed, length_scale, start_s, num_requests: of the trace, as in `Scaling`.
        arrivals: a spec, as in "poisson:20"; takes the place of a trace's own times. All at once by default.
        prompt_lengths, output_lengths: specs, as in "lognormal:128:1.0".
        cap: the max_tokens that clients send, as in "x4"; by default each answer is as long as its cap.
        num_users: in a closed loop; then nothing else says when requests arrive.
        think_s: seconds from an answer to the user's next request, 0 by default.

    Raises:
        ValueError: these don't go together; one sentence says what to leave out or to add.
    """

    trace: Path | None = None
    trace_format: str | None = None
    time_unit: str | None = None
    conversations: str | None = None
    speed: float | None = None
    length_scale: float | None = None
    start_s: float | None = None
    num_requests: int | None = None
    arrivals: str | None = None
    prompt_lengths: str | None = None
    output_lengths: str | None = None
    cap: str | None = None
    num_users: int | None = None
    think_s: float | None = None

    def __post_init__(self) -> None:
        lengths = ("prompt_lengths", "output_lengths")
        if self.trace is not None:
            self._leave_out(lengths, "a trace has lengths of its own")
        else:
            self._leave_out((*(field.name for field in fields(FormatChoice)), *_SCALES), "there is no trace")
            for name in lengths:
                if getattr(self, name) is None:
                    raise ValueError(f"{name} is missing: use {LENGTH_FORMS}; or give a trace, which has its own")
            if self.num_requests is None:
                raise ValueError("num_requests is missing: say how many requests to draw")
        if self.num_users is not None:
            self._leave_out(("arrivals", "speed"), "in a closed loop the users say when requests arrive")
        else:
            self._leave_out(("think_s",), "only users think, and there is no num_users")
        if self.arrivals is not None:
            self._leave_out(("speed",), "arrivals take the place of the trace's times")

    def _leave_out(self, names: tuple[str, ...], why: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                raise ValueError(f"{name} does not go with the rest, because {why}: leave it out")

    @property
    def closed_loop(self) -> ClosedLoop | None:
        """The users, or None where requests arrive on their own."""
        if self.num_users is None:
            return None
        return ClosedLoop(self.num_users, 0.0 if self.think_s is None else self.think_s)

    def load(
        self, seed: int, vocab_size: int, sampling: SamplingParams = GREEDY, count_tokens: CountTokens | None = None
    ) -> tuple[list[Request], str]:
        """The requests, numbered in order of arrival, and in words what they are.

        Args:
            vocab_size: prompts are tokens below it.
            count_tokens: how many tokens a text has, for traces that hold texts.

        Raises:
            ValueError: a spec, a number or the trace is wrong; one sentence says which and what to do.
            OSError: the trace can't be read.
        """
        if self.trace is not None:
            requests, words = self._of_trace(self.trace, seed, vocab_size, sampling, count_tokens)
        else:
            requests, words = self._drawn(seed, vocab_size, sampling)
        cap, loop = None if self.cap is None else parse_cap(self.cap), self.closed_loop
        words += ([] if cap is None else [cap.words]) + ([] if loop is None else [loop.words])
        return capped(requests, cap), ", ".join(words)

    def _of_trace(
        self, path: Path, seed: int, vocab_size: int, sampling: SamplingParams, count_tokens: CountTokens | None
    ) -> tuple[list[Request], list[str]]:
        given = {name: value for name in _SCALES if (value := getattr(self, name)) is not None}
        scaling = Scaling(num_requests=self.num_requests, **given)
        arrivals = None if self.arrivals is None else parse_arrivals(self.arrivals)
        choice = FormatChoice(self.trace_format, self.time_unit, self.conversations)
        rows = read_trace(path, choice, scaling, count_tokens, notes := Notes())
        words = [describe_trace(path, rows, scaling, notes, arrivals is None and self.num_users is None)]
        if arrivals is not None:
            words.append(arrivals.words)
        elif self.num_users is None and not rows[-1].arrival_s:
            words.append("all at once")
        return trace_requests(rows, seed, vocab_size, sampling, arrivals), words

    def _drawn(self, seed: int, vocab_size: int, sampling: SamplingParams) -> tuple[list[Request], list[str]]:
        count = self.num_requests or 0
        arrivals = parse_arrivals(self.arrivals or "at-once")
        prompts, outputs = parse_lengths(self.prompt_lengths or ""), parse_lengths(self.output_lengths or "")
        requests = synthetic_requests(count, arrivals, prompts, outputs, seed, vocab_size, sampling)
        words = [f"prompts {prompts.words}", f"outputs {outputs.words}"]
        return requests, words if self.num_users is not None else [*words, arrivals.words]
