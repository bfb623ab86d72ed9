"""The modelled executor: arithmetic on the plan, the same every time."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.decisions.phase import Phase
from minibatch.engine.roofline_executor import PLACEHOLDER_TOKEN, RooflineExecutor
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape, count, operators, swap_bytes, total
from minibatch.roofline.efficiency import Efficiency
from minibatch.roofline.step_model import StepModel
from minibatch.scheduling.plan import Plan, ScheduledSeq, Swap, plan_of
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.request import Request

SHAPE = ModelShape(n_layer=12, n_embd=768, n_head=12, n_kv_head=12, vocab_size=50257, n_inner=3072)
GPU = Ceilings(flops_per_s=1e14, bytes_per_s=1e12, device="a GPU", source="a data sheet")


def seq(num_tokens: int, start: int = 0, samples: bool = True) -> ScheduledSeq:
    request = RequestState(Request(7, (1,) * 4096))
    return ScheduledSeq(request, 0, Phase.PREFILL, start, num_tokens, samples=samples)


def test_each_operator_takes_as_long_as_its_slower_ceiling() -> None:
    """A decode step waits for memory throughout; of a long prefill, the products with the layers' weights don't."""
    executor = RooflineExecutor(SHAPE, replace(GPU, efficiency=Efficiency(step_ns=1000)))
    decode, prefill = plan_of((seq(1, 100),)), plan_of((seq(2000, samples=False),))
    costs = count(decode.seqs, SHAPE)
    assert executor.execute(decode).duration_ns == pytest.approx(costs.bytes / 1e12 * 1e9 + 1000, abs=1)
    c, tokens = 768, 2000
    matrices = 12 * 12 * c * c  # of all layers: 4 C^2 of attention and 8 C^2 of the MLP
    by_hand = (
        2 * tokens * matrices / 1e14
        + max(4 * 12 * c * tokens * tokens / 1e14, 12 * (2 * c * (tokens + tokens) * 2 + 2 * c * tokens * 2) / 1e12)
        + 2 * tokens * c * 2 / 1e12  # rows of tokens and positions
    )
    assert executor.execute(prefill).duration_ns == pytest.approx(by_hand * 1e9 + 1000, abs=1)


def test_efficiencies_lengthen_their_operators_alone() -> None:
    plan = plan_of((seq(1, 1000), seq(1, 3000)))
    totals = total(plan.seqs)
    bare, halved = (
        {part.name: StepModel(SHAPE, ceilings).time(part) for part in operators(totals, SHAPE)}
        for ceilings in (GPU, replace(GPU, efficiency=Efficiency(attention_memory=0.5)))
    )
    assert halved["attention"] == pytest.approx(2 * bare["attention"])
    assert {name: halved[name] for name in ("embedding", "linear", "lm_head")} == {
        name: bare[name] for name in ("embedding", "linear", "lm_head")
    }
    each = replace(GPU, efficiency=Efficiency(step_ns=500, seq_ns=200, batch_ns=900))
    for batch, more in ((plan, 500 + 2 * 200 + 900), (plan_of((seq(1, 1000),)), 500 + 200)):
        longer = RooflineExecutor(SHAPE, each).execute(batch).duration_ns
        assert longer == pytest.approx(RooflineExecutor(SHAPE, GPU).execute(batch).duration_ns + more, abs=1)


@given(
    st.lists(st.tuples(st.integers(1, 64), st.integers(1, 100_000)), min_size=1, max_size=20),
    st.sampled_from([1, 2, 4]),
    st.floats(0.1, 1.0),
)
def test_many_steps_at_once_take_what_each_takes_alone(
    batches: list[tuple[int, int]], num_devices: int, share: float
) -> None:
    efficiency = Efficiency(linear_memory=share, attention_compute=share, step_ns=123.4, seq_ns=5.6, batch_ns=78.9)
    ceilings = replace(GPU, num_devices=num_devices, link_bytes_per_s=1e11, efficiency=efficiency)
    executor = RooflineExecutor(SHAPE, ceilings)
    alone = [
        executor.execute(plan_of(tuple(seq(1, start)._replace(slot=k) for k in range(batch)))).duration_ns
        for batch, start in batches
    ]
    for (batch, start), duration in zip(batches, alone, strict=True):
        kind = executor.decode_cost_of(batch, batch, batch)
        durations, starts = kind.run([batch * (start + 1)] * 3, 100, before_ns=100 + 2 * duration)
        assert (durations, starts) == ([duration] * 2, [100, 100 + duration])


def test_it_writes_placeholders_where_a_token_is_due() -> None:
    executor = RooflineExecutor(SHAPE, GPU)
    assert executor.execute(plan_of((seq(10),))).token_ids == {7: PLACEHOLDER_TOKEN}
    assert executor.execute(plan_of((seq(10, samples=False),))).token_ids == {}
    assert (executor.clock, executor.device) == ("modelled", "a GPU")


def test_swaps_take_the_host_links_time() -> None:
    executor = RooflineExecutor(SHAPE, GPU, block_size=16, host_link_bytes_per_s=1e9)
    request = RequestState(Request(0, (1,)))
    plan = Plan(swap_out=(Swap(request, (1, 2)),), swap_in=(Swap(request, (3,)),))
    assert executor.execute(plan).duration_ns == swap_bytes(3, 16, SHAPE)  # a byte a nanosecond
    assert executor.execute(Plan()).duration_ns == 0


def test_it_refuses_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="use positive numbers"):
        Ceilings(0, 1e12, "x")
    with pytest.raises(ValueError, match="linear_memory is 0: use a positive share"):
        Efficiency(linear_memory=0)
    with pytest.raises(ValueError, match="step_ns is -1: use 0 or a positive number"):
        Efficiency(step_ns=-1)
    with pytest.raises(ValueError, match="a positive number"):
        RooflineExecutor(SHAPE, GPU, host_link_bytes_per_s=0)


def test_it_imports_no_torch() -> None:
    code = "import sys, minibatch.engine.roofline_executor; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
