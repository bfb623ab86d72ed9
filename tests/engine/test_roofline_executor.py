"""The modelled executor: arithmetic on the plan, the same every time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from minibatch.engine.ceilings import Ceilings
from minibatch.engine.costs import ModelShape, count, swap_bytes
from minibatch.engine.roofline_executor import PLACEHOLDER_TOKEN, RooflineExecutor
from minibatch.scheduling.plan import Phase, Plan, ScheduledSeq, Swap
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.request import Request

SHAPE = ModelShape(n_layer=12, n_embd=768, n_head=12, n_kv_head=12, vocab_size=50257, n_inner=3072)
GPU = Ceilings(flops_per_s=1e14, bytes_per_s=1e12, device="a GPU", source="a data sheet")


def seq(num_tokens: int, start: int = 0, samples: bool = True) -> ScheduledSeq:
    request = RequestState(Request(7, (1,) * 4096))
    return ScheduledSeq(request, 0, Phase.PREFILL, start, num_tokens, samples=samples)


def test_decode_is_bound_by_bytes_and_prefill_by_flops() -> None:
    executor = RooflineExecutor(SHAPE, GPU, overhead_ns=1000)
    decode, prefill = Plan(seqs=(seq(1, 100),)), Plan(seqs=(seq(2000),))
    costs = count(decode.seqs, SHAPE)
    assert executor.execute(decode).duration_ns == pytest.approx(costs.bytes / 1e12 * 1e9 + 1000, abs=1)
    costs = count(prefill.seqs, SHAPE)
    assert executor.execute(prefill).duration_ns == pytest.approx(costs.flops / 1e14 * 1e9 + 1000, abs=1)


def test_it_writes_placeholders_where_a_token_is_due() -> None:
    executor = RooflineExecutor(SHAPE, GPU)
    assert executor.execute(Plan(seqs=(seq(10),))).token_ids == {7: PLACEHOLDER_TOKEN}
    assert executor.execute(Plan(seqs=(seq(10, samples=False),))).token_ids == {}
    assert (executor.clock, executor.device) == ("modelled", "a GPU")


def test_swaps_take_the_host_links_time() -> None:
    executor = RooflineExecutor(SHAPE, GPU, block_size=16, overhead_ns=1000, host_link_bytes_per_s=1e9)
    request = RequestState(Request(0, (1,)))
    plan = Plan(swap_out=(Swap(request, (1, 2)),), swap_in=(Swap(request, (3,)),))
    assert executor.execute(plan).duration_ns == swap_bytes(3, 16, SHAPE)  # a byte a nanosecond
    assert executor.execute(Plan()).duration_ns == 0


def test_it_refuses_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="use positive numbers"):
        Ceilings(0, 1e12, "x")
    with pytest.raises(ValueError, match="a positive number"):
        RooflineExecutor(SHAPE, GPU, host_link_bytes_per_s=0)


def test_it_imports_no_torch() -> None:
    code = "import sys, minibatch.engine.roofline_executor; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
