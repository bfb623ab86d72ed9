"""Data sheets as ceilings, and what follows from them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from minibatch.analysis.registry.accelerators import FILE, find_accelerator, load_accelerators
from minibatch.analysis.registry.models import find_model, find_shape
from minibatch.decisions.phase import Phase
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.roofline.costs import ModelShape, all_reduce_bytes, count
from minibatch.scheduling.plan import Plan, ScheduledSeq
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.request import Request
from tests.analysis.refusals import refusal

# FLOP/byte, computed by hand from the data sheets.
RIDGES = {
    "H100": 295, "H100-PCIe": 378, "H100-NVL": 214, "H200": 206, "B200": 281, "GB200": 312, "A100-80GB": 153,
    "A100-40GB": 201, "A10G": 117, "L4": 403, "L40S": 419, "T4": 203, "RTX-4090": 164, "MI300X": 247, "MI355X": 315,
}  # fmt: skip


def batch(num_seqs: int, num_tokens: int, start: int = 0) -> Plan:
    requests = [RequestState(Request(i, (1,) * 4096)) for i in range(num_seqs)]
    return Plan(
        prefills=tuple(
            ScheduledSeq(r, i, Phase.PREFILL, start, num_tokens, samples=True) for i, r in enumerate(requests)
        )
    )


def test_the_ridges_are_the_known_ones() -> None:
    assert {name: round(a.ridge) for name, a in load_accelerators().items()} == RIDGES


def test_peaks_are_dense() -> None:
    """The sparse figures that vendors quote are twice as much, and occur nowhere."""
    assert find_accelerator("h100").flops_per_s < 1e15
    assert find_accelerator("l4").flops_per_s < 200e12
    for accelerator in load_accelerators().values():
        assert all("dense" in claim.of for claim in accelerator.peaks.values())
        narrower = [accelerator.peaks[dtype].value for dtype in ("float8", "float4") if dtype in accelerator.peaks]
        for wide, narrow in pairwise([accelerator.flops_per_s, *narrower]):
            assert narrow == pytest.approx(2 * wide, rel=0.013)  # a sparse figure would be four times as much


def test_a_step_in_eight_bits_reads_half_the_weights_under_the_fp8_roof() -> None:
    """A prompt of 4,096 tokens of Llama-3.1-8B on an H100 is bound by arithmetic, a decode by memory."""
    model, h100 = find_model("llama-3.1-8b"), find_accelerator("H100")
    ceilings = h100.ceilings("float8_e4m3fn")
    assert (ceilings.dtype, ceilings.flops_per_s) == ("float8", 1979e12)
    shape = model.shape(ceilings.dtype)
    assert (shape.bytes_per_weight, shape.bytes_per_kv) == (1, 2)
    prompt, decode = (
        RooflineExecutor(shape, ceilings).execute(plan).duration_ns for plan in (batch(1, 4096), batch(1, 1))
    )
    linear = 2 * 4096 * 32 * (4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 14336)
    attention = 4 * 32 * 4096 * 4096 * 4096
    assert prompt == pytest.approx((linear + attention) / 1979e12 * 1e9, rel=0.01)
    assert decode == pytest.approx((shape.num_parameters - 128256 * 4096) / 3.35e12 * 1e9, rel=0.01)
    for name in ("A100-80GB", "T4"):
        with pytest.raises(ValueError, match="not in float8: use --dtype"):
            find_accelerator(name).ceilings("fp8")


def test_ceilings_say_where_they_are_from() -> None:
    h100, l4, t4 = (find_accelerator(name) for name in ("H100", "L4", "T4"))
    ceilings = h100.ceilings()
    assert (ceilings.device, ceilings.dtype) == ("H100 SXM 80GB (data sheet)", "bfloat16")
    assert ceilings.source.startswith("data sheet: NVIDIA, H100")
    assert "secondary" not in ceilings.source
    assert l4.ceilings().source.endswith("(secondary)")
    assert l4.ceilings().device == "L4 24GB (data sheet, secondary)"
    assert t4.ceilings().dtype == "float16"
    with pytest.raises(ValueError, match="float16, not in bfloat16: use --dtype float16"):
        t4.ceilings("bfloat16")
    with pytest.raises(ValueError, match="not in float32"):
        h100.ceilings("float32")


def test_several_devices_are_one_that_is_faster() -> None:
    a100, gaming = find_accelerator("A100-80GB"), find_accelerator("RTX-4090")
    one, four = a100.ceilings(), a100.ceilings(num_devices=4)
    assert (four.flops_per_s, four.bytes_per_s) == (4 * one.flops_per_s, 4 * one.bytes_per_s)
    assert four.memory_bytes == 4 * a100.memory_bytes
    assert four.link_bytes_per_s == a100.link.value / 2
    assert four.ridge == one.ridge
    assert four.device == "4 × A100 SXM 80GB (data sheet, link secondary)"
    assert gaming.ceilings(num_devices=2).device == "2 × RTX 4090 24GB (data sheet, link assumption)"
    assert "(assumption)" in gaming.ceilings(num_devices=2).source
    with pytest.raises(ValueError, match="is 0: use at least 1"):
        a100.ceilings(num_devices=0)


def test_tensor_parallel_devices_divide_the_work_and_pay_for_the_link() -> None:
    shape, a100 = find_shape("llama-3.1-8b"), find_accelerator("A100-80GB")
    plan = batch(8, 1, start=500)
    one, four = (RooflineExecutor(shape, a100.ceilings(num_devices=n)).execute(plan).duration_ns for n in (1, 4))
    # Two all-reduces a layer of 8 x 4096 elements of 2 bytes; each device sends 2 * 3/4 of them.
    link_bytes = 2 * 32 * (8 * 4096 * 2) * 1.5
    assert all_reduce_bytes(8, shape, 4) == link_bytes
    assert four == pytest.approx(one / 4 + link_bytes / 300e9 * 1e9, abs=2)
    assert count(plan.seqs, shape).bytes / a100.bytes_per_s * 1e9 == pytest.approx(one, abs=1)


@pytest.mark.parametrize(("name", "num_devices"), [("llama-3.1-8b", 16), ("gpt2-xl", 2), ("smollm2-135m", 9)])
def test_heads_must_divide(name: str, num_devices: int) -> None:
    with pytest.raises(ValueError, match="a number of devices that divides both"):
        RooflineExecutor(find_shape(name), find_accelerator("H100").ceilings(num_devices=num_devices))


def test_decode_at_batch_one_takes_as_long_as_the_weights_take_to_read() -> None:
    """Llama-3.1-8B on an H100: 16 GB at 3.35 TB/s, about 4.8 ms less the embedding that isn't read."""
    shape, h100 = find_shape("llama-3.1-8b"), find_accelerator("H100")
    ns = RooflineExecutor(shape, h100.ceilings()).execute(batch(1, 1, start=100)).duration_ns
    assert ns == pytest.approx((shape.num_parameters - 128256 * 4096) * 2 / 3.35e12 * 1e9, rel=0.01)


def test_sequences_that_fit() -> None:
    h100 = find_accelerator("H100")
    shape = find_shape("llama-3.1-8b")
    assert h100.sequences_that_fit(shape, 1024) == int((80e9 - 2 * 8_030_261_248) / (1024 * 131072)) == 476
    assert h100.sequences_that_fit(find_shape("llama-3.1-70b"), 1024) == 0
    exact = ModelShape(n_layer=1, n_embd=8, n_head=1, n_kv_head=1, vocab_size=8, n_inner=8)
    per_token = exact.kv_bytes_per_token
    assert h100.sequences_that_fit(exact, 1) == (80e9 - exact.weight_bytes) // per_token


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("rtx-4090", "RTX-4090"), ("h100", "H100"), ("H100 SXM", "H100"), ("NVIDIA H100 PCIe", "H100-PCIe"),
        ("h100_nvl", "H100-NVL"), ("A100 SXM 40GB", "A100-40GB"), ("GB200", "GB200"), ("amd mi355x", "MI355X"),
    ],
)  # fmt: skip
def test_a_name_may_be_written_in_several_ways(given: str, name: str) -> None:
    assert find_accelerator(given).name == name


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("H900", "unknown accelerator 'H900': choose from H100, H100-PCIe"),
        ("H20", "unknown accelerator 'H20'"),
        ("A100", "may be any of several accelerators: choose A100-80GB or A100-40GB"),
    ],
)
def test_a_name_of_none_or_of_several_gets_the_known_ones(given: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        find_accelerator(given)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('flops = "h100-flops"', 'flops = "h100-speed"', "no claim 'h100-speed'"),
        ('flops = "h100-flops"', 'flops = "h100-memory"', "in bytes: use one in FLOP/s"),
        ('flops = "h100-flops"', "flops = 989e12", "text that is not empty"),
        ('title = "H100 SXM 80GB"\n', "", "has no title"),
        ('dtypes = ["bfloat16", "float16"]', "dtypes = []", "a list of texts"),
    ],
)
def test_a_bad_entry_is_rejected_in_a_sentence(tmp_path: Path, before: str, after: str, says: str) -> None:
    damaged = FILE.read_text(encoding="utf-8").replace(before, after, 1)
    refusal(load_accelerators, tmp_path / "accelerators.toml", damaged, says)
