"""Looks at a run while it goes on, and takes what has been added since the look before."""

from __future__ import annotations

from minibatch.engine.loop import Engine
from minibatch.engine.recorder import Recorder
from minibatch.model.text import TextStream, Tokenizer
from minibatch.recording.part import PartRequest, RecordingPart
from minibatch.recording.schema import Header
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.arrival_source import NOT_YET_NS
from minibatch.workload.request import Request


class RunWatch:
    """One watcher of one run; to be used by the thread that steps the engine, between two steps.

    Args:
        tokenizer: gives the text that is written; None where there is none.

    Raises:
        TypeError: the engine records no iterations.
    """

    def __init__(self, engine: Engine, tokenizer: Tokenizer | None = None) -> None:
        if not isinstance(engine.recorder, Recorder):
            raise TypeError("this run's iterations are not recorded: it can't be watched")
        self._engine, self._recorder, self._tokenizer = engine, engine.recorder, tokenizer
        self._rows = (0, 0, 0, 0)
        self._num_iterations = self._num_known = self._num_arrived = self._end_ns = 0
        self._streams: dict[int, TextStream] = {}
        self._written: dict[int, int] = {}
        self._unfinished: list[RequestState] = []

    def take(self, header: Header) -> RecordingPart:
        """What has been recorded since the last time."""
        requests = [*self._newly_known(), *self._newly_arrived()]
        pieces, finished = self._newly_written(), self._newly_finished()
        tables, numbers, rows = self._recorder.since(self._rows)
        aborted = {each: self._recorder.aborted_ns[each] for each in finished if each in self._recorder.aborted_ns}
        part = RecordingPart(
            header, self._num_iterations, self._end_ns, *tables, numbers, requests, pieces, finished, aborted
        )
        self._rows, self._num_iterations = rows, self._recorder.num_iterations
        if len(part.iterations["start_ns"]):
            self._end_ns = int(part.iterations["start_ns"][-1] + part.iterations["duration_ns"][-1])
        return part

    def _newly_known(self) -> list[PartRequest]:
        """Requests that are still to arrive: their number is known before."""
        pending = [each for each in self._engine.pending if each.request_id >= self._num_known]
        self._num_known = max(self._engine.num_requests, self._num_known)
        return [_part_request(request) for request in pending]

    def _newly_arrived(self) -> list[PartRequest]:
        arrived = self._engine.requests[self._num_arrived :]
        self._num_arrived += len(arrived)
        self._unfinished += arrived
        return [_part_request(state.request) for state in arrived]

    def _newly_written(self) -> dict[int, list[str]]:
        if self._tokenizer is None:
            return {}
        pieces = {}
        for state in self._unfinished:
            begun = self._written.get(state.request_id, 0)
            if tokens := state.output_token_ids[begun:]:
                stream = self._streams.setdefault(state.request_id, TextStream(self._tokenizer))
                pieces[state.request_id] = [stream.push(token) for token in tokens]
                if state.finish_reason is not None:
                    pieces[state.request_id][-1] += stream.flush()
                self._written[state.request_id] = begun + len(tokens)
        return pieces

    def _newly_finished(self) -> dict[int, str]:
        finished = {each.request_id: str(each.finish_reason) for each in self._unfinished if each.finish_reason}
        self._unfinished = [each for each in self._unfinished if not each.finish_reason]
        return finished


def _part_request(request: Request) -> PartRequest:
    arrival_ns = None if request.arrival_ns == NOT_YET_NS else request.arrival_ns
    return PartRequest(
        request.request_id, arrival_ns, request.num_prompt_tokens, request.sampling.max_tokens, request.prompt
    )
