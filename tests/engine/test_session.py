"""A job from its requests to its recordings, and what can be seen of it on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from minibatch.engine import session
from minibatch.engine.job import Job
from minibatch.engine.session import JobProgress, run_job
from minibatch.recording.schema import Recording
from minibatch.recording.storage import dumps
from minibatch.recording.validation import check
from minibatch.roofline.ceilings import Ceilings
from minibatch.scheduling.config import SchedulerConfig

SQUEEZED = Job(
    policies=("static", "chunked"), config=SchedulerConfig(num_kv_blocks=64), scenario="kv-squeeze", clock="modelled"
)


@pytest.fixture(autouse=True)
def _ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here depends on how fast this machine is."""
    monkeypatch.setattr(session, "load_or_measure", lambda *_: Ceilings(1e11, 1e10, "a machine"))


def watched(job: Job, every: int) -> tuple[list[Recording], list[list[Recording]]]:
    """The job's recordings, and every so manieth snapshot."""
    shots: list[list[Recording]] = []
    offers = 0

    def on_snapshot(take: Callable[[], list[Recording]]) -> None:
        nonlocal offers
        if offers % every == 0:
            shots.append(take())
        offers += 1

    return run_job(job, on_snapshot=on_snapshot), shots


def assert_begins(whole: Recording, part: Recording) -> None:
    """Whether all that `part` says of its iterations is what `whole` says of them."""
    n = part.num_iterations
    for table in ("iterations", "entries"):
        for name, values in getattr(part, table).items():
            assert np.array_equal(values, getattr(whole, table)[name][: len(values)])
    assert (part.entries["iteration"] < n).all()
    assert len(part.entries["iteration"]) == (whole.entries["iteration"] < n).sum()
    reasons = list(part.each_reason())
    assert reasons == list(whole.each_reason())[: len(reasons)]
    for now, then in zip(part.requests, whole.requests, strict=True):
        assert (now.arrival_ns, now.prompt, now.max_tokens) == (then.arrival_ns, then.prompt, then.max_tokens)
        assert now.pieces == then.pieces[: len(now.pieces)]
        assert now.finish_reason in (None, then.finish_reason)


def test_snapshots_are_whole_recordings_that_grow() -> None:
    result, shots = watched(SQUEEZED, 5)
    assert len(shots) > 20
    lengths = []
    for shot in shots:
        for now, then in zip(shot, result, strict=False):
            check(now)
            assert_begins(then, now)
        assert all(run.header.complete for run in shot[:-1])
        lengths.append([run.num_iterations for run in shot])
    assert lengths == sorted(lengths)
    assert len({tuple(row) for row in lengths}) == len(lengths)
    assert (len(lengths[0]), len(lengths[-1])) == (1, 2)
    assert not shots[0][0].header.complete


def test_to_be_watched_changes_nothing() -> None:
    assert dumps(watched(SQUEEZED, 10)[0]) == dumps(run_job(SQUEEZED))


def test_an_offer_that_nobody_takes_costs_no_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    record = session.Session.record
    monkeypatch.setattr(session.Session, "record", lambda self, engine: taken.append(engine) or record(self, engine))
    run_job(SQUEEZED, on_snapshot=lambda take: None)
    assert len(taken) == 2


def test_snapshots_of_a_measured_run_hold_the_text_so_far() -> None:
    prompts = ("Once upon a time", "The fox said")
    job = Job(("continuous",), SchedulerConfig(), prompts=prompts, max_tokens=6, temperature=0.0)
    (result,), shots = watched(job, 1)
    assert [len(request.pieces) for request in shots[0][0].requests] == [1, 1]
    for (shot,) in shots:
        check(shot)
        assert_begins(result, shot)
    assert shots[-1][0].requests == result.requests
    assert "".join(result.requests[0].pieces).strip()


def test_a_stopped_job_gives_what_its_snapshots_gave() -> None:
    shots: list[list[Recording]] = []

    def on_snapshot(take: Callable[[], list[Recording]]) -> None:
        shots.append(take())

    stopped = run_job(SQUEEZED, None, lambda: len(shots) == 30, on_snapshot)
    assert dumps(stopped) == dumps(shots[-1])
    assert 30 <= stopped[0].num_iterations < run_job(SQUEEZED)[0].num_iterations
    assert not stopped[0].header.complete


def test_progress_names_the_policy_and_counts_requests() -> None:
    seen: list[JobProgress] = []
    run_job(SQUEEZED, seen.append)
    assert (seen[0].policy, seen[0].policy_index, seen[0].num_policies) == ("static", 0, 2)
    assert (seen[-1].policy, seen[-1].num_finished, seen[-1].num_requests) == ("chunked", 16, 16)
    for policy in SQUEEZED.policies:
        done = [progress.num_finished for progress in seen if progress.policy == policy]
        assert done == sorted(done)
