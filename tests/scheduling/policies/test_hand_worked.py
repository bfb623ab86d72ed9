"""Schedules worked out by hand from each policy's definition: who ran at every iteration.

r0:P3+2 is a prefill of 3 tokens with 2 padded positions, r0:D a decode, r0:x a padded position of a
finished request, r0:- a slot held without computing.
"""

from __future__ import annotations

import pytest

from minibatch.decisions.phase import Phase
from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import MS, record, requests_of

THREE = [(3, 2), (5, 4), (2, 2)]
"""Three requests at once, (prompt, output) tokens, for two slots."""


def schedule_of(recording: Recording) -> list[str]:
    rows: list[list[str]] = [[] for _ in range(recording.num_iterations)]
    entries = {name: column.tolist() for name, column in recording.entries.items()}
    for i, request, phase, tokens, padding in zip(
        *(entries[name] for name in ("iteration", "request", "phase", "tokens", "padding")), strict=True
    ):
        what = {
            Phase.PREFILL: f"P{tokens}" + (f"+{padding}" if padding else ""),
            Phase.DECODE: "D",
            Phase.PADDING: "x" if padding else "-",
            Phase.STALLED: "-",
        }[Phase(phase)]
        rows[i].append(f"r{request}:{what}")
    return [" ".join(sorted(row)) for row in rows]


def run(policy: str, lengths: list, **knobs) -> list[str]:
    knobs = {"max_num_seqs": 2, "max_num_batched_tokens": 4, "max_model_len": 16, "watermark": 0.0} | knobs
    return schedule_of(record(requests_of(lengths), policy, SchedulerConfig(**knobs)))


def test_static_pads_prompts_and_holds_slots_until_the_last_one_ends():
    assert run("static", THREE) == [
        "r0:P3+2 r1:P5",
        "r0:D r1:D",
        "r0:x r1:D",
        "r0:x r1:D",
        "r2:P2",
        "r2:D",
    ]


def test_static_without_computed_padding_still_holds_the_slots():
    assert run("static", THREE, compute_padding=False) == [
        "r0:P3 r1:P5",
        "r0:D r1:D",
        "r0:- r1:D",
        "r0:- r1:D",
        "r2:P2",
        "r2:D",
    ]


def test_continuous_runs_new_prompts_alone():
    assert run("continuous", THREE) == [
        "r0:P3 r1:P5",
        "r0:D r1:D",
        "r1:- r2:P2",
        "r1:D r2:D",
        "r1:D",
    ]


def test_continuous_mixes_prompts_with_decodes_like_orca():
    assert run("continuous", THREE, mix_prefill=True) == [
        "r0:P3 r1:P5",
        "r0:D r1:D",
        "r1:D r2:P2",
        "r1:D r2:D",
    ]


def test_chunked_spends_its_budget_on_decodes_first():
    assert run("chunked", THREE) == [
        "r0:P3 r1:P1",
        "r0:D r1:P3",
        "r1:P1 r2:P2",
        "r1:D r2:D",
        "r1:D",
        "r1:D",
    ]


@pytest.mark.parametrize(
    ("max_num_seqs", "starts_ms"),
    [(2, 10), (3, 50)],
    ids=["the batch is full when the second arrives", "the window of 50 ms times out"],
)
def test_dynamic_starts_when_full_or_timed_out(max_num_seqs, starts_ms):
    config = SchedulerConfig(max_num_seqs=max_num_seqs, max_model_len=16, max_wait=0.05)
    recording = record(requests_of([(3, 1, 0.0), (4, 1, 10.0)]), "dynamic", config)
    assert schedule_of(recording) == ["r0:P3+1 r1:P4"]
    assert recording.iterations["start_ns"].tolist() == [starts_ms * MS]


def test_dynamic_is_static_once_it_has_started():
    assert run("dynamic", THREE, max_wait=0.0) == run("static", THREE)


SQUEEZED = {"block_size": 2, "num_kv_blocks": 4}
"""Two requests of 3 prompt tokens take two blocks each; the fifth token of either finds none."""


def test_recompute_prefills_prompt_and_output_again():
    assert run("continuous", [(3, 4), (3, 4)], **SQUEEZED) == [
        "r0:P3 r1:P3",
        "r0:D r1:D",
        "r0:D",
        "r0:D",
        "r1:P5",
        "r1:D",
    ]


def test_swap_resumes_where_it_stopped():
    assert run("continuous", [(3, 4), (3, 4)], preemption_mode="swap", **SQUEEZED) == [
        "r0:P3 r1:P3",
        "r0:D r1:D",
        "r0:D",
        "r0:D",
        "r1:D",
        "r1:D",
    ]


def test_a_preempted_request_goes_before_those_that_wait():
    schedule = run("continuous", [(3, 4), (3, 4), (1, 1)], **SQUEEZED)
    assert schedule.index("r1:P5 r2:P1") == 4


def test_contiguous_reservation_admits_fewer():
    paged = run("continuous", [(3, 2), (3, 2)], block_size=2, num_kv_blocks=12)
    contiguous = run("continuous", [(3, 2), (3, 2)], block_size=2, num_kv_blocks=12, kv_layout="contiguous")
    assert paged == ["r0:P3 r1:P3", "r0:D r1:D"]
    assert contiguous == ["r0:P3", "r0:D", "r1:P3", "r1:D"]


def test_the_watermark_holds_admission_back_only_while_others_run():
    # 4 of 8 blocks stay free: r1's two blocks would leave 8 - 3 - 2 = 3.
    schedule = run("continuous", [(5, 2), (3, 1)], block_size=2, num_kv_blocks=8, watermark=0.5)
    assert schedule == ["r0:P5", "r0:D", "r1:P3"]


def test_orca_admits_nobody_whose_prompt_exceeds_what_the_decodes_leave():
    # Budget 16 = max_model_len; r0 decodes, so 15 tokens are left for r1's 16-token-minus-one prompt.
    schedule = run("continuous", [(2, 3), (15, 1, 0.5)], mix_prefill=True)
    assert schedule == ["r0:P2", "r0:D r1:P15", "r0:D"]
