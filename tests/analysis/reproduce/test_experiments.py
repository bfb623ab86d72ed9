"""Every experiment in small: the same twice, in the order that was published, and its arithmetic by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from minibatch.analysis.reproduce import EXPERIMENTS, ablation, anyscale, kv_share, orca, sarathi
from minibatch.analysis.reproduce.result import Reproduction, Watch
from minibatch.analysis.reproduce.setup import at_once, machine, within
from minibatch.engine.sweep import Point, record_point
from minibatch.workload.demand import Demand
from minibatch.workload.request import Request, SamplingParams
from tests.helpers import engine_of

SMALL: dict[str, Callable[[], Reproduction]] = {
    "anyscale": lambda: anyscale.reproduce(num_requests=60),
    "orca": lambda: orca.reproduce(num_requests=60),
    "kv-share": lambda: kv_share.reproduce(num_requests=30),
    "sarathi": lambda: sarathi.reproduce(num_requests=40),
    "sarathi-ablation": lambda: ablation.reproduce(num_requests=40),
}
"""Too few requests to compare figures, enough for their order."""


@pytest.fixture(scope="module")
def small() -> dict[str, Reproduction]:
    return {name: run() for name, run in SMALL.items()}


def modelled(found: Reproduction) -> list[float]:
    return [row.modelled for row in found.rows if row.modelled is not None]


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_each_has_published_and_modelled_figures_and_says_what_it_assumes(small: dict[str, Reproduction]) -> None:
    assert set(small) == set(EXPERIMENTS)
    for name, found in small.items():
        assert found.name == name
        assert found.title == EXPERIMENTS[name].title
        assert any(row.ratio for row in found.rows)
        assert all(row.verdict for row in found.rows if row.is_off)
        assert any("bare roofline" in assumption for assumption in found.assumptions)
        assert "data sheet" in found.machine
        assert len({row.what for row in found.rows}) == len(found.rows)


@pytest.mark.parametrize("name", ["anyscale", "kv-share", "sarathi-ablation"])
def test_equal_seeds_give_equal_numbers(name: str, small: dict[str, Reproduction]) -> None:
    assert SMALL[name]() == small[name]


def test_another_seed_gives_others() -> None:
    assert modelled(kv_share.reproduce(1, num_requests=30)) != modelled(kv_share.reproduce(0, num_requests=30))


def test_progress_goes_from_none_to_nearly_all() -> None:
    told: list[float] = []
    anyscale.reproduce(watch=Watch(told.append), num_requests=20)
    assert told == sorted(told)
    assert (told[0], len(told)) == (0, 12)
    assert told[-1] < 1


# -- Anyscale --------------------------------------------------------------------------------------


def test_the_more_outputs_differ_the_more_continuous_and_paged_gain(small: dict[str, Reproduction]) -> None:
    assert small["anyscale"].chart is not None
    curves = {
        curve.name: dict(curve.points) for curve in small["anyscale"].chart.curves if curve.standing == "modelled"
    }
    for cap in anyscale.CAPS:
        assert curves[anyscale.PAGED][cap] >= 0.97 * curves[anyscale.CONTINUOUS][cap] >= 0.97
    assert curves[anyscale.CONTINUOUS][anyscale.CAPS[-1]] > curves[anyscale.CONTINUOUS][anyscale.CAPS[0]]
    assert list(curves[anyscale.PAGED].values()) == sorted(curves[anyscale.PAGED].values())


# -- Orca ------------------------------------------------------------------------------------------


def test_a_batch_is_returned_when_its_last_request_is_done() -> None:
    assert orca.batch_ends(ints(0, 0, 50, 0, 50), ints(10, 40, 90, 30, 80)).tolist() == [40, 40, 90, 40, 90]
    assert orca.batch_ends(ints(), ints()).tolist() == []


def test_a_tighter_limit_leaves_request_level_batching_less(small: dict[str, Reproduction]) -> None:
    loose, tight = small["orca"].rows
    assert loose.modelled is not None
    assert tight.modelled is not None
    assert 1 < loose.modelled < tight.modelled


# -- PagedAttention --------------------------------------------------------------------------------


def test_reservations_by_hand() -> None:
    prompt, output = ints(10, 100, 1, 64), ints(20, 64, 1, 65)
    assert kv_share.power_of_two(ints(1, 2, 3, 64, 65, 1 << 20)).tolist() == [1, 2, 4, 64, 128, 1 << 20]
    assert kv_share.reserve_true(prompt, output).tolist() == [30, 164, 2, 129]
    assert kv_share.reserve_power_of_two(prompt, output).tolist() == [42, 164, 2, 192]
    assert kv_share.in_pieces(kv_share.reserve_true)(prompt, output).tolist() == [32, 256, 2, 256]
    assert kv_share.in_pieces(kv_share.reserve_power_of_two)(prompt, output).tolist() == [64, 256, 2, 256]


def test_the_share_of_tokens_by_hand() -> None:
    """10 tokens of prompt for 1 ns and with half of 20 for 9 ns, of 40 for 10 ns: 190 / 400."""
    assert kv_share.share_of_tokens(ints(10), ints(20), ints(1), ints(9), ints(40)) == 47.5
    # Beside it a request that fills all of its 100 entries for 30 ns: 3,190 / 3,400.
    both = kv_share.share_of_tokens(ints(10, 100), ints(20, 0), ints(1, 30), ints(9, 0), ints(40, 100))
    assert both == pytest.approx(100 * 3190 / 3400)


def test_the_arithmetic_agrees_with_the_allocator() -> None:
    """For the reservation that both know, the maximum, in a run without preemption."""
    on = machine("opt-13b", "A100-40GB")
    demand = Demand((100, 30, 400, 7, 64, 90), (50, 200, 20, 400, 64, 10), "by hand")
    config = on.config(max_model_len=512, kv_layout="contiguous", max_num_seqs=2)
    recording = record_point(on.spec(demand, 0), Point("continuous", at_once(demand), config))
    held = kv_share.held_share(recording)
    timeline = kv_share.Timeline(recording)
    reckoned = kv_share.share_of_tokens(
        ints(*demand.prompt_tokens),
        ints(*demand.output_tokens),
        timeline.first_token_ns - timeline.first_scheduled_ns,
        timeline.last_token_ns - timeline.first_token_ns,
        np.full(6, 512),
    )
    assert held == pytest.approx(reckoned, rel=0.02)


def test_the_less_is_reserved_the_more_of_it_holds_tokens(small: dict[str, Reproduction]) -> None:
    most, power, true, paged, power_alone, true_alone = modelled(small["kv-share"])
    assert most < true < paged
    assert power < true
    assert power < power_alone < true_alone < paged


# -- Sarathi-Serve ---------------------------------------------------------------------------------


def test_small_chunks_serve_more_under_the_strict_slo(small: dict[str, Reproduction]) -> None:
    rows = {row.what: row for row in small["sarathi"].rows}
    for model in sarathi.MACHINES:
        (strict,) = [row for what, row in rows.items() if what.startswith(f"{model}, strict") and what.endswith(" 512")]
        (relaxed,) = [
            row for what, row in rows.items() if what.startswith(f"{model}, relaxed") and what.endswith(" 512")
        ]
        assert strict.published is not None
        assert strict.modelled is not None
        assert relaxed.modelled is not None
        assert strict.modelled > 1.3 > relaxed.modelled


def test_the_slo_is_a_multiple_of_a_decode_iteration() -> None:
    on = machine("yi-34b", "A100-80GB", 2)
    slos = sarathi.slos_ms(on)
    assert slos["strict"] == pytest.approx(5 * sarathi.decode_ms(on))
    assert slos["relaxed"] == pytest.approx(25 * sarathi.decode_ms(on))
    # At least all weights are read by two devices together.
    assert sarathi.decode_ms(on) > 1e3 * on.shape.weight_bytes / on.ceilings.bytes_per_s


def test_the_ablation_has_the_published_order(small: dict[str, Reproduction]) -> None:
    hybrid_ttft, chunked_ttft, hybrid_tbt, chunked_tbt, *_ = modelled(small["sarathi-ablation"])
    assert hybrid_ttft < chunked_ttft
    assert chunked_ttft > 1
    assert hybrid_tbt > chunked_tbt > 1


def test_chunks_alone_and_decodes_take_turns() -> None:
    """Two prompts of 8 tokens, chunks of 4: nobody decodes beside a chunk, nor waits for two of them."""
    requests = [Request(i, tuple(range(8)), SamplingParams(4, ignore_eos=True), 0) for i in range(2)]
    config = ablation.SchedulerConfig(max_num_seqs=2, max_num_batched_tokens=4, max_model_len=16, num_kv_blocks=8)
    engine = engine_of(requests, ablation.ChunksAlone(), config)
    steps = []
    while (plan := engine.step()) is not None:
        steps.append([(seq.request.request_id, seq.num_tokens) for seq in plan.seqs])
    # The first prompt; then its request writes between the chunks of the second; the second ends alone.
    assert steps == [
        [(0, 4)], [(0, 4)], [(0, 1)], [(1, 4)], [(0, 1)], [(1, 4)],
        [(0, 1), (1, 1)], [(1, 1)], [(1, 1)],
    ]  # fmt: skip


def test_what_is_too_long_is_cut() -> None:
    cut = within(Demand((10, 90, 50), (20, 20, 200), "by hand"), 100)
    assert cut.output_tokens == (20, 20, 99)
    assert cut.prompt_tokens == (10, 80, 1)
