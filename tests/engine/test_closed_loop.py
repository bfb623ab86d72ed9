"""Users in a closed loop: schedules worked by hand, and what recordings say of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.engine.fork import fork
from minibatch.recording.storage import dumps, loads
from minibatch.recording.validation import check
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.arrival_source import NOT_YET_NS
from minibatch.workload.arrivals import ClosedLoop
from tests.helpers import MS, engine_of, header_of, record, requests_of

CONFIG = SchedulerConfig(max_num_seqs=2, num_kv_blocks=64, max_model_len=64)
POLICIES = ("static", "dynamic", "continuous", "chunked")


def arrivals_ms(recording) -> list[float]:
    return [request.arrival_ns / MS for request in recording.requests]


def test_one_user_sends_the_next_request_after_the_answer_and_a_thought():
    # Prompt 10, 3 tokens: 1 + 1 ms, then twice 1 + 0.1 ms: done after 4.2 ms, and 5 ms of thought follow.
    run = record(requests_of([(10, 3)] * 3), "continuous", CONFIG, ClosedLoop(1, 0.005))
    assert arrivals_ms(run) == pytest.approx([0, 9.2, 18.4])
    assert run.end_ns == pytest.approx(22.6 * MS)


def test_two_users_share_one_list():
    # Both prompts run at once: 1 + 2 ms. r0 is done then, and its user sends r2 at 3 + 1 = 4 ms.
    # r1 decodes 1.1 ms, to 4.1 ms. Then r2's prompt runs alone, 2 ms, to 6.1 ms, and ends r2: r3 comes at 7.1 ms.
    # r1's second decode takes to 7.2 ms: then r3's prompt, to 9.2 ms, ends r3 as well; r1's last decode ends at 10.3.
    run = record(requests_of([(10, 1), (10, 4), (10, 1), (10, 1)]), "continuous", CONFIG, ClosedLoop(2, 0.001))
    assert arrivals_ms(run) == pytest.approx([0, 0, 4, 7.1])
    assert run.end_ns == pytest.approx(10.3 * MS)


def test_without_a_thought_the_next_iteration_has_the_next_request():
    run = record(requests_of([(10, 1)] * 3), "continuous", CONFIG, ClosedLoop(1))
    assert arrivals_ms(run) == pytest.approx([0, 2, 4])
    assert run.iterations["start_ns"].tolist() == [0, 2 * MS, 4 * MS]


def test_a_rejected_request_is_an_answer():
    run = record(requests_of([(10, 1), (70, 1), (10, 1)]), "continuous", CONFIG, ClosedLoop(1, 0.001))
    assert [request.finish_reason for request in run.requests] == ["length", "rejected", "length"]
    assert arrivals_ms(run) == pytest.approx([0, 3, 4])


def test_a_slower_server_is_asked_less_often():
    requests = requests_of([(10, 2), (10, 30)] * 6)
    arrivals = {policy: arrivals_ms(record(requests, policy, CONFIG, ClosedLoop(4, 0.002))) for policy in POLICIES}
    assert max(arrivals["static"]) > max(arrivals["chunked"])


def test_a_run_that_was_cut_short_says_whose_arrival_is_not_known():
    loop = ClosedLoop(1, 0.001)
    engine = engine_of(requests_of([(10, 2)] * 4), "continuous", CONFIG, loop)
    assert engine.num_requests == 4
    for _ in range(3):
        engine.step()
    assert engine.num_requests == 4
    run = engine.recording(header_of(engine, loop))
    check(run)
    assert not run.header.complete
    assert [request.arrival_ns == NOT_YET_NS for request in run.requests] == [False, False, True, True]


def test_a_fork_goes_on_as_a_closed_loop():
    run = record(requests_of([(20, 12)] * 12), "static", CONFIG, ClosedLoop(3, 0.004))
    (run,) = loads(dumps([run]))
    forked = fork(run, 20, "policy", "continuous")
    assert forked.changed.header.closed_loop == {"num_users": 3, "think_s": 0.004}
    check(forked.changed)
    ends = sorted(forked.changed.end_of_iteration_ns.tolist())
    later = [request.arrival_ns for request in forked.changed.requests if request.arrival_ns > ends[20]]
    assert later
    assert all(arrival - 4 * MS in ends for arrival in later)


@given(
    lengths=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 12)), min_size=1, max_size=12),
    users=st.integers(1, 5),
    think_ms=st.integers(0, 20),
    policy=st.sampled_from(POLICIES),
)
def test_there_are_never_more_requests_than_users(lengths, users, think_ms, policy):
    run = record(requests_of(lengths), policy, CONFIG, ClosedLoop(users, think_ms / 1000))
    check(run)
    assert run.header.complete
    arrivals = [request.arrival_ns for request in run.requests]
    assert arrivals == sorted(arrivals)
    wrote = run.entries["generated"] > 0
    ends = {
        request: int(run.end_of_iteration_ns[iteration])
        for iteration, request in zip(
            run.entries["iteration"][wrote].tolist(), run.entries["request"][wrote].tolist(), strict=True
        )
    }
    for request, arrival in enumerate(arrivals):
        assert sum(ends[earlier] > arrival for earlier in range(request)) < users
        if request >= users:
            assert arrival - think_ms * MS in ends.values()
