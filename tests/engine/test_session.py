"""A job from its requests to its recordings, and what can be seen of it on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from minibatch.engine import session
from minibatch.engine.job import Job
from minibatch.engine.session import JobProgress, run_job
from minibatch.recording.part import RecordingPart
from minibatch.recording.schema import Recording
from minibatch.recording.storage import dumps
from minibatch.roofline.ceilings import Ceilings
from minibatch.scheduling.config import SchedulerConfig

Parts = list[RecordingPart]
SQUEEZED = Job(
    policies=("static", "chunked"), config=SchedulerConfig(num_kv_blocks=64), scenario="kv-squeeze", clock="modelled"
)


@pytest.fixture(autouse=True)
def _ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here depends on how fast this machine is."""
    monkeypatch.setattr(session, "load_or_measure", lambda *_: Ceilings(1e11, 1e10, "a machine"))


def watched(job: Job, every: int, should_stop: Callable[[], bool] | None = None) -> tuple[list[Recording], list[Parts]]:
    """The job's recordings, and what every so manieth snapshot took."""
    shots: list[Parts] = []
    offers = 0

    def on_snapshot(take: Callable[[], Parts]) -> None:
        nonlocal offers
        if offers % every == 0:
            shots.append(take())
        offers += 1

    return run_job(job, None, should_stop, on_snapshot), shots


def assert_begins(whole: Recording, parts: Parts) -> None:
    """Whether `parts` follow each other and say what `whole` says, as far as they go."""
    num_iterations = 0
    for part in parts:
        assert part.first_iteration == num_iterations
        assert part.from_ns == (whole.end_of_iteration_ns[num_iterations - 1] if num_iterations else 0)
        num_iterations += len(part.iterations["start_ns"])
    for name in ("iterations", "entries", "blocks", "reasons"):
        for column, values in getattr(whole, name).items():
            joined = np.concatenate([getattr(part, name)[column] for part in parts])
            assert joined.tolist() == values[: len(joined)].tolist(), (name, column)
    numbers = [row for part in parts for row in part.reason_numbers]
    assert numbers == list(whole.reason_numbers[: len(numbers)])
    requests = {each.request_id: each for part in parts for each in part.requests}
    assert [each.arrival_ns for _, each in sorted(requests.items())] == [each.arrival_ns for each in whole.requests]
    for request_id, record in enumerate(whole.requests):
        pieces = [piece for part in parts for piece in part.pieces.get(request_id, ())]
        assert pieces == list(record.pieces[: len(pieces)])
    for part in parts:
        for request_id, reason in part.finished.items():
            assert reason == whole.requests[request_id].finish_reason


def of_policy(shots: list[Parts], policy: str) -> Parts:
    return [part for parts in shots for part in parts if part.header.policy == policy]


def test_snapshots_bring_what_is_new_and_join_to_the_recording() -> None:
    result, shots = watched(SQUEEZED, 5)
    assert len(shots) > 20
    for run in result:
        assert_begins(run, of_policy(shots, run.header.policy))
    first = of_policy(shots, "static")
    assert sum(len(part.iterations["start_ns"]) for part in first) == result[0].num_iterations, "its tail came later"
    assert len([k for part in first for k in part.finished]) == len(result[0].requests)
    assert not first[0].header.complete
    assert first[-1].header.complete


def test_rows_that_a_watcher_is_given_grow_with_the_run_and_not_with_its_square() -> None:
    """However often it looks, every row comes once."""
    result, _ = watched(SQUEEZED, 1)
    rows = sum(
        len(run.iterations["start_ns"]) + len(run.entries["slot"]) + len(run.blocks["block"]) + len(run.reasons["code"])
        for run in result[:-1]
    )
    for every in (1, 3, 50):
        shots = watched(SQUEEZED, every)[1]
        assert sum(part.num_rows for part in of_policy(shots, "static")) == rows


def test_to_be_watched_changes_nothing() -> None:
    assert dumps(watched(SQUEEZED, 10)[0]) == dumps(run_job(SQUEEZED))


def test_snapshots_of_a_measured_run_hold_the_text_so_far() -> None:
    prompts = ("Once upon a time", "The fox said")
    job = Job(("continuous",), SchedulerConfig(), prompts=prompts, max_tokens=6, temperature=0.0)
    (result,), shots = watched(job, 1)
    parts = of_policy(shots, "continuous")
    assert [len(pieces) for pieces in parts[0].pieces.values()] == [1, 1]
    assert_begins(result, parts)
    for request_id, record in enumerate(result.requests):
        assert [piece for part in parts for piece in part.pieces.get(request_id, ())] == list(record.pieces)
    assert "".join(result.requests[0].pieces).strip()


def test_a_stopped_job_gives_what_its_snapshots_gave() -> None:
    offers = iter(range(10_000))
    (stopped,), shots = watched(SQUEEZED, 1, lambda: next(offers) == 30)
    assert_begins(stopped, of_policy(shots, "static"))
    assert 30 <= stopped.num_iterations < run_job(SQUEEZED)[0].num_iterations
    assert not stopped.header.complete


def test_progress_names_the_policy_and_counts_requests() -> None:
    seen: list[JobProgress] = []
    run_job(SQUEEZED, seen.append)
    assert (seen[0].policy, seen[0].policy_index, seen[0].num_policies) == ("static", 0, 2)
    assert (seen[-1].policy, seen[-1].num_finished, seen[-1].num_requests) == ("chunked", 16, 16)
    for policy in SQUEEZED.policies:
        done = [progress.num_finished for progress in seen if progress.policy == policy]
        assert done == sorted(done)
