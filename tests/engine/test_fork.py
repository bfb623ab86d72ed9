"""A knob turned in the middle of a run: both futures worked out by hand, and what can't be turned."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest

from minibatch.engine.fork import KNOBS, Fork, fork
from minibatch.paths import RECORDINGS
from minibatch.recording import storage
from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import engine_of, header_of, record, requests_of, token_of
from tests.scheduling.policies.test_hand_worked import SQUEEZED, THREE, schedule_of


def original(policy: str, lengths: Sequence[tuple], **knobs) -> Recording:
    knobs = {"max_num_seqs": 2, "max_num_batched_tokens": 4, "max_model_len": 16, "watermark": 0.0} | knobs
    return record(requests_of(lengths), policy, SchedulerConfig(**knobs))


def schedules(futures: Fork) -> tuple[list[str], list[str]]:
    return schedule_of(futures.unchanged), schedule_of(futures.changed)


def test_a_larger_budget_takes_larger_chunks():
    futures = fork(original("chunked", THREE), 1, "max_num_batched_tokens", 8)
    assert schedules(futures) == (
        ["r0:P3 r1:P1", "r0:D r1:P3", "r1:P1 r2:P2", "r1:D r2:D", "r1:D", "r1:D"],
        ["r0:P3 r1:P1", "r0:D r1:P4", "r1:D r2:P2", "r1:D r2:D", "r1:D"],
    )
    assert futures.differs_at == 1
    assert futures.difference == (
        "at step 1 the unchanged run decodes 1 request and prefills 3 tokens of r1; "
        "with max_num_batched_tokens 8 it decodes 1 request and prefills 4 tokens of r1"
    )
    assert (futures.unchanged.header.token_budget, futures.changed.header.token_budget) == (4, 8)


def test_chunked_takes_over_just_as_a_long_prompt_would_stop_everybody():
    run = original(
        "continuous", [(2, 4), (2, 4), (12, 1, 0.5)], max_num_seqs=3, max_num_batched_tokens=8, max_model_len=16
    )
    futures = fork(run, 1, "policy", "chunked")
    assert schedules(futures) == (
        ["r0:P2 r1:P2", "r0:- r1:- r2:P12", "r0:D r1:D", "r0:D r1:D", "r0:D r1:D"],
        ["r0:P2 r1:P2", "r0:D r1:D r2:P6", "r0:D r1:D r2:P6", "r0:D r1:D"],
    )
    assert futures.difference == (
        "at step 1 the unchanged run prefills r2's 12 tokens and leaves 2 requests without a token; "
        "with the chunked policy it decodes 2 requests and prefills 6 tokens of r2"
    )


def test_a_prompt_left_half_done_is_finished_before_a_whole_prompt_policy_decides():
    futures = fork(original("chunked", THREE), 1, "policy", "continuous")
    assert schedule_of(futures.changed) == ["r0:P3 r1:P1", "r0:D r1:P4", "r1:- r2:P2", "r1:D r2:D", "r1:D", "r1:D"]
    assert futures.changed.header.token_budget == 16


def test_slots_of_a_static_batch_are_let_go_or_held_as_the_new_policy_does():
    run = original("static", THREE)
    assert schedule_of(run)[2] == "r0:x r1:D"
    changed = fork(run, 2, "policy", "continuous").changed
    assert schedule_of(changed) == ["r0:P3+2 r1:P5", "r0:D r1:D", "r1:- r2:P2", "r1:D r2:D", "r1:D"]
    changed = fork(original("continuous", THREE), 1, "policy", "static").changed
    assert schedule_of(changed) == ["r0:P3 r1:P5", "r0:D r1:D", "r0:x r1:D", "r0:x r1:D", "r2:P2", "r2:D"]


def test_with_fewer_slots_a_request_moves_into_one_that_is_left():
    run = original("continuous", [(1, 4), (1, 1), (1, 4), (1, 1)], max_num_seqs=3)
    futures = fork(run, 1, "max_num_seqs", 2)
    assert schedules(futures) == (
        ["r0:P1 r1:P1 r2:P1", "r0:- r2:- r3:P1", "r0:D r2:D", "r0:D r2:D", "r0:D r2:D"],
        ["r0:P1 r1:P1 r2:P1", "r0:D r2:D", "r0:D r2:D", "r0:D r2:D", "r3:P1"],
    )
    entries = futures.changed.entries
    assert [int(slot) for slot in entries["slot"][entries["request"] == 2]] == [2, 1, 1, 1]
    assert futures.changed.num_slots == 3
    with pytest.raises(ValueError, match="2 slots are held at this point: use max_num_seqs of 2 or more"):
        fork(run, 1, "max_num_seqs", 1)


def test_a_move_alone_is_told_by_its_slots():
    run = original("continuous", [(1, 1), (1, 3)])
    assert fork(run, 1, "max_num_seqs", 1).difference == (
        "at step 1 the unchanged run decodes r1 in slot 1; with max_num_seqs 1 it decodes r1 in slot 0"
    )


def test_swap_instead_of_recompute():
    futures = fork(original("continuous", [(3, 4), (3, 4)], **SQUEEZED), 1, "preemption_mode", "swap")
    assert schedules(futures) == (
        ["r0:P3 r1:P3", "r0:D r1:D", "r0:D", "r0:D", "r1:P5", "r1:D"],
        ["r0:P3 r1:P3", "r0:D r1:D", "r0:D", "r0:D", "r1:D", "r1:D"],
    )
    assert (futures.differs_at, futures.difference) == (
        2,
        "at step 2 the unchanged run drops the blocks of r1 and decodes 1 request; "
        "with preemption_mode swap it copies the blocks of r1 to host memory and decodes 1 request",
    )


def test_who_was_swapped_comes_back_although_the_mode_has_changed():
    run = original("continuous", [(3, 4), (3, 4)], **SQUEEZED, preemption_mode="swap")
    futures = fork(run, 3, "preemption_mode", "recompute")
    assert schedule_of(futures.changed) == schedule_of(run)
    assert futures.differs_at is None
    assert futures.difference == "both futures run the same batches at every step from 3 on"


def test_a_larger_pool_serves_whom_the_smaller_one_would_refuse():
    run = original("continuous", [(1, 2), (9, 3, 5.0)], block_size=2, num_kv_blocks=4)
    assert run.requests[1].finish_reason == "rejected"
    futures = fork(run, 2, "num_kv_blocks", 8)
    assert schedules(futures) == (["r0:P1", "r0:D"], ["r0:P1", "r0:D", "r1:P9", "r1:D", "r1:D"])
    assert futures.difference == (
        "at step 2 the unchanged run has finished; with num_kv_blocks 8 it prefills r1's 9 tokens"
    )
    assert futures.changed.requests[1].finish_reason == "length"


def test_a_smaller_pool_refuses_whom_it_can_never_serve_and_keeps_whom_it_has():
    run = original("continuous", [(3, 8), (9, 3, 0.5)], block_size=2, num_kv_blocks=12, max_num_seqs=1)
    changed = fork(run, 1, "num_kv_blocks", 5).changed
    assert [request.finish_reason for request in changed.requests] == ["length", "rejected"]
    assert changed.num_kv_blocks == 12
    with pytest.raises(ValueError, match="2 KV blocks are held at this point, and r0 may come to need 5: use num_kv"):
        fork(run, 1, "num_kv_blocks", 4)


def test_a_window_may_move_the_batches_and_not_change_them():
    run = original("dynamic", [(3, 1, 0.0), (4, 1, 10.0)], max_num_seqs=3, max_wait=0.05)
    futures = fork(run, 0, "max_wait", 0.06)
    assert futures.differs_at is None
    assert futures.difference == (
        "both futures run the same batches at every step from 0 on; with max_wait 0.06 the run ends 10 ms later"
    )


def test_the_end_of_a_run_has_no_future():
    run = original("chunked", THREE)
    futures = fork(run, run.num_iterations, "max_num_seqs", 1)
    assert (futures.differs_at, futures.difference) == (
        None,
        "nothing is left to run at step 6: all requests have finished",
    )
    assert schedule_of(futures.changed) == schedule_of(run)


def test_the_value_that_it_has_changes_nothing():
    futures = fork(original("chunked", THREE), 2, "max_num_seqs", 2)
    assert futures.difference == "both futures are the same: max_num_seqs is 2 in both"
    assert storage.dumps([futures.unchanged]) == storage.dumps([futures.changed])


def test_text_and_ends_are_the_recorded_ones():
    """r0 wrote all, r1 ended its text early, r2 was cut off: it goes on without text."""
    config = SchedulerConfig(max_num_seqs=3, max_num_batched_tokens=4, max_model_len=16)
    requests = [
        replace(r, sampling=replace(r.sampling, ignore_eos=False)) for r in requests_of([(2, 3), (2, 9), (2, 6)])
    ]
    engine = engine_of(requests, "chunked", config)
    engine.state.eos_token_id = token_of(1, 3)
    while len(engine.requests) < 3 or len(engine.requests[2].output_token_ids) < 4:
        engine.step()
    cut = engine.recording(header_of(engine))
    texts = [tuple(f"{r}{i} " for i in range(count)) for r, count in enumerate((3, 4, 4))]
    cut = replace(cut, requests=tuple(replace(r, pieces=t) for r, t in zip(cut.requests, texts, strict=True)))
    assert [request.finish_reason for request in cut.requests] == ["length", "stop", None]

    changed = fork(cut, 1, "max_num_batched_tokens", 16).changed
    assert changed.header.complete
    assert [request.finish_reason for request in changed.requests] == ["length", "stop", "length"]
    assert [request.pieces for request in changed.requests] == [*texts[:2], (*texts[2], "", "")]
    assert list(changed.requests[2].output_token_ids) == [*(token_of(2, i) for i in range(4)), 0, 0]


@pytest.mark.parametrize("name", ["kv-squeeze", "long-document"])
def test_bundled_recordings_fork_where_they_are_measured(name):
    for run in storage.load(RECORDINGS / f"{name}.mbr"):
        k = run.num_iterations // 2
        changed = fork(run, k, "max_num_batched_tokens", 256).changed
        assert [changed.header.clock_at(i) for i in (0, k - 1, k)] == ["measured", "measured", "modelled"]
        assert changed.header.clock == "modelled"
        assert [r.finish_reason for r in changed.requests] == [r.finish_reason for r in run.requests]
        assert [r.pieces for r in changed.requests] == [r.pieces for r in run.requests]
        for column in ("start_ns", "duration_ns", "executor_ns"):
            assert np.array_equal(changed.iterations[column][:k], run.iterations[column][:k])


def test_a_stopped_fork_is_what_it_was():
    asked = iter([False, False, True, True])
    futures = fork(original("chunked", THREE), 1, "max_num_batched_tokens", 8, lambda: next(asked))
    assert schedules(futures) == (["r0:P3 r1:P1", "r0:D r1:P3", "r1:P1 r2:P2"], ["r0:P3 r1:P1"])
    assert not futures.changed.header.complete
    assert futures.differs_at is None
    assert futures.difference == "both futures are the same up to step 1, at which they were stopped"


RUN = original("chunked", THREE)


@pytest.mark.parametrize(
    ("iteration", "knob", "value", "says"),
    [
        (-1, "policy", "static", "step -1 is none of this recording: use 0 to 6"),
        (7, "policy", "static", "step 7 is none of this recording: use 0 to 6"),
        (1, "magic", 1, "unknown knob 'magic': choose from policy, max_num_seqs, max_num_batched_tokens"),
        (1, "policy", "magic", "unknown policy 'magic': choose from static"),
        (1, "policy", None, "policy is None: use one of its words"),
        (1, "max_num_seqs", 0, "max_num_seqs is 0: use a whole number of at least 1"),
        (1, "max_num_seqs", 2.5, "max_num_seqs is 2.5: use a whole number"),
        (1, "max_num_seqs", True, "max_num_seqs is True: use a whole number"),
        (1, "max_num_seqs", 5, "max_num_batched_tokens is 4, less than max_num_seqs"),
        (1, "watermark", "x", "watermark is 'x': use a number"),
        (1, "watermark", float("nan"), "watermark is nan: use a share from 0 to below 1"),
        (1, "mix_prefill", 1, "mix_prefill is 1: use true or false"),
        (1, "preemption_mode", "none", "preemption_mode is 'none': use recompute or swap"),
        (1, "block_size", 8, "block_size decides how all of the KV pool is laid out: serve the requests anew"),
        (1, "kv_layout", "contiguous", "kv_layout decides how all of the KV pool is laid out"),
        (1, "max_model_len", 8, "r1 is here and may come to 9 tokens: use max_model_len of 9 or more"),
    ],
)
def test_what_cannot_be_turned_is_said(iteration, knob, value, says):
    with pytest.raises(ValueError, match=says):
        fork(RUN, iteration, knob, value)


def test_max_model_len_is_part_of_a_contiguous_layout():
    run = original("chunked", THREE, kv_layout="contiguous")
    with pytest.raises(ValueError, match="max_model_len decides how all of the KV pool is laid out"):
        fork(run, 1, "max_model_len", 32)


def test_knobs_that_turn_are_listed():
    assert set(KNOBS) == {"policy", *asdict(SchedulerConfig())} - {"block_size", "kv_layout"}


def with_header(**changes) -> Recording:
    return replace(RUN, header=replace(RUN.header, **changes))


def with_entry(column: str, row: int, value: int) -> Recording:
    changed = RUN.entries[column].copy()
    changed[row] = value
    return replace(RUN, entries={**RUN.entries, column: changed})


@pytest.mark.parametrize(
    ("recording", "says"),
    [
        (with_header(shape=None), "does not say the shape of its model"),
        (with_header(shape={"n_layer": 2}), "not one that this program knows"),
        (with_header(shape=RUN.header.shape | {"n_layer": "x"}), "does not consist of numbers"),
        (with_header(shape=RUN.header.shape | {"n_head": 0}), "does not consist of numbers"),
        (with_header(ceilings=None), "does not say how fast its device is"),
        (with_header(ceilings=RUN.header.ceilings | {"surprise": 1}), "ceilings that this program does not know"),
        (with_header(ceilings=RUN.header.ceilings | {"bytes_per_s": 1e-300}), "no clock holds the times"),
        (with_header(config=RUN.header.config | {"surprise": 1}), "knobs that this program does not know"),
        (with_header(policy="magic"), "unknown policy 'magic'"),
        (with_header(policy="static"), "at step 0 this program would have gone on otherwise than recorded"),
        (with_header(config=RUN.header.config | {"max_num_batched_tokens": 5}), "at step 0 this program"),
        (with_entry("slot", 2, 1), "at step 1 this program would have gone on otherwise than recorded"),
        (with_entry("tokens", 3, 2), "another version of the policy 'chunked' or of Minibatch"),
    ],
)
def test_what_cannot_be_repeated_is_said(recording, says):
    with pytest.raises(ValueError, match=says):
        fork(recording, 3, "max_num_seqs", 3)


def test_other_reasons_mean_another_version():
    numbers = [*RUN.reason_numbers]
    numbers[0] = (99, *numbers[0][1:])
    with pytest.raises(ValueError, match="at step 0 this program would have gone on otherwise"):
        fork(replace(RUN, reason_numbers=tuple(numbers)), 3, "policy", "static")


def test_no_torch_is_imported_and_no_model_needed():
    code = (
        "import sys; from pathlib import Path; from minibatch.engine.fork import fork; "
        "from minibatch.recording.storage import load; "
        f"fork(load(Path({str(RECORDINGS / 'identical.mbr')!r}))[0], 9, 'policy', 'chunked'); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
