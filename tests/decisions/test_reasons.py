from __future__ import annotations

import pytest

from minibatch.decisions.reasons import NUMBERS, TEMPLATES, Code, Reason
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import record, requests_of


def reasons_of(policy, lengths, **knobs):
    knobs = {"max_num_seqs": 2, "max_num_batched_tokens": 4, "max_model_len": 16, "watermark": 0.0} | knobs
    return list(record(requests_of(lengths), policy, SchedulerConfig(**knobs)).each_reason())


def sentences(reasons, code):
    return [(iteration, reason.sentence) for iteration, reason in reasons if reason.code is code]


def test_every_code_has_a_sentence_that_all_its_numbers_fill():
    for code in Code:
        reason = Reason(code, 7, dict.fromkeys(NUMBERS[code], 2))
        assert "{" not in reason.sentence
        assert TEMPLATES[code]


@pytest.mark.parametrize(("needs", "says"), [(1, "needs 1 block, "), (9, "needs 9 blocks, ")])
def test_counts_bring_their_noun(needs, says):
    assert says in Reason(Code.WAITS_BLOCKS, 7, {"needs": needs, "free": 4, "kept": 0}).sentence


def test_a_wait_for_memory_says_how_much_and_is_not_repeated():
    reasons = reasons_of("continuous", [(3, 3), (3, 3)], block_size=2, num_kv_blocks=3)
    assert sentences(reasons, Code.WAITS_BLOCKS) == [(0, "r1 waits: needs 2 blocks, 1 free")]


def test_a_preemption_says_for_whom_and_why():
    reasons = reasons_of("continuous", [(3, 4), (3, 4)], block_size=2, num_kv_blocks=4)
    assert sentences(reasons, Code.PREEMPTED_RECOMPUTE) == [
        (2, "r1 loses its 2 blocks, to be prefilled again: r0 needs 1 block, 0 free, and r1 was admitted last")
    ]


def test_chunks_say_how_much_of_the_budget_was_left():
    reasons = reasons_of("chunked", [(3, 2), (5, 1)])
    assert sentences(reasons, Code.CHUNK) == [
        (0, "r0 prefills 3 tokens, 3 of 3 done: 4 left of the 4-token budget"),
        (0, "r1 prefills 1 token, 1 of 5 done: 1 left of the 4-token budget"),
        (1, "r1 prefills 3 tokens, 4 of 5 done: 3 left of the 4-token budget"),
        (2, "r1 prefills 1 token, 5 of 5 done: 4 left of the 4-token budget"),
    ]


def test_a_stall_says_whose_prefill():
    reasons = reasons_of("continuous", [(3, 2), (5, 4), (2, 2)])
    assert sentences(reasons, Code.STALLED_BY_PREFILL) == [
        (2, "1 request without a token: this step prefills 2 tokens of 1 prompt alone")
    ]


def test_static_says_what_the_queue_waits_for():
    reasons = reasons_of("static", [(3, 2), (5, 4), (2, 2)])
    assert sentences(reasons, Code.WAITS_BATCH) == [
        (1, "r2 waits: the batch runs until its last request ends, 2 still generating"),
        (2, "r2 waits: the batch runs until its last request ends, 1 still generating"),
    ]


def test_a_window_says_how_full_it_is():
    reasons = reasons_of("dynamic", [(3, 1)], max_wait=0.05)
    assert sentences(reasons, Code.WAITS_WINDOW) == [
        (0, "r0 waits: 1 of 2 requests are here, the oldest for 0 of 50 ms")
    ]


def test_requests_that_can_never_fit_are_rejected_with_the_numbers():
    reasons = reasons_of("chunked", [(14, 3), (9, 3), (1, 1)], block_size=2, num_kv_blocks=5)
    rejected = [reason.sentence for _, reason in reasons if reason.code.startswith("rejected")]
    assert rejected == [
        "r0 is rejected: 14 prompt tokens and 3 to generate are more than max_model_len, 16",
        "r1 is rejected: it may need 6 blocks, and the whole pool has 5",
    ]


def test_every_request_is_queued_admitted_and_finished_in_that_order():
    reasons = reasons_of("chunked", [(3, 2), (5, 1)])
    for request_id in (0, 1):
        codes = [reason.code for _, reason in reasons if reason.request_id == request_id]
        kept = [code for code in codes if code in (Code.QUEUED, Code.ADMITTED, Code.FINISHED_LENGTH)]
        assert kept == [Code.QUEUED, Code.ADMITTED, Code.FINISHED_LENGTH]


def test_a_request_that_preempts_itself_is_not_named_twice():
    numbers = {"held": 5, "for_request": 7, "needs": 1, "free": 0}
    assert Reason(Code.PREEMPTED_RECOMPUTE, 7, numbers).sentence == (
        "r7 loses its 5 blocks, to be prefilled again: it needs 1 block more, 0 free, and it was admitted last"
    )
