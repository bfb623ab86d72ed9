"""Drills of time: reading the weights, the ridge, a decode step, a prefill."""

from __future__ import annotations

from collections.abc import Iterator

from minibatch.analysis.formats import three_figures
from minibatch.analysis.registry.accelerators import Accelerator, load_accelerators
from minibatch.learning.drill import (
    COUNTED,
    ESTIMATED,
    GB,
    LARGE,
    ROUNDED,
    Drill,
    counted,
    fact,
    large_pairs,
    make_drill,
    shapes,
    size_of,
)
from minibatch.roofline.costs import ModelShape, Totals, operators, sum_of
from minibatch.roofline.step_model import StepModel


def time_to_read_weights() -> Iterator[Drill]:
    """ms of one read of all weights."""
    for name, shape, accelerator in large_pairs():
        seconds = shape.weight_bytes / accelerator.bytes_per_s
        gigabytes = three_figures(shape.weight_bytes / GB)
        yield make_drill(
            "time to read the weights", f"{name}-{accelerator.name}",
            f"{name} has {gigabytes} GB of weights. How many ms does one read of them take on "
            f"{fact(accelerator, 'bandwidth')}?",
            seconds * 1e3, "ms", ROUNDED,
            f"{gigabytes} GB ÷ {accelerator.bandwidth.words} = {three_figures(seconds * 1e3)} ms: about the "
            "shortest decode step, whatever the batch (a little less is read where the embedding is only looked up).",
        )  # fmt: skip


def bound_of_one_stream() -> Iterator[Drill]:
    """tok/s that a single sequence can write at most."""
    for name, shape, accelerator in large_pairs():
        bound = accelerator.bytes_per_s / shape.weight_bytes
        gigabytes = three_figures(shape.weight_bytes / GB)
        yield make_drill(
            "bound on tokens/s", f"{name}-{accelerator.name}-1",
            f"At most how many tokens/s can one sequence generate with {name} ({gigabytes} GB of weights) on "
            f"{fact(accelerator, 'bandwidth')}?",
            bound, "tok/s", ROUNDED,
            f"Each token reads all weights: {accelerator.bandwidth.words} ÷ {gigabytes} GB = "
            f"{three_figures(bound)} tokens/s. KV and overhead only take from that.",
        )  # fmt: skip


def ridges() -> Iterator[Drill]:
    """FLOP/byte at which both ceilings bind."""
    for accelerator in load_accelerators().values():
        yield make_drill(
            "ridge point", accelerator.name,
            f"Where is the ridge of {fact(accelerator, 'flops', 'bandwidth')}, in FLOP/byte?",
            accelerator.ridge, "FLOP/byte", ROUNDED,
            f"{accelerator.flops.words} ÷ {accelerator.bandwidth.words} = {three_figures(accelerator.ridge)} "
            "FLOP/byte: "
            "with fewer FLOPs a byte the device waits for memory.",
        )  # fmt: skip


def batches_at_the_ridge() -> Iterator[Drill]:
    """Sequences from which matrix products are bound by compute."""
    shape = next(shape for _, shape in shapes())
    for dtype in ("bfloat16", "int8", "int4"):
        each = next(shape for _, shape in shapes(dtype)).bytes_per_weight
        size = counted(each, "byte")
        for accelerator in load_accelerators().values():
            batch = accelerator.ridge * each / 2
            yield make_drill(
                "batch at the ridge", f"{accelerator.name}-{dtype}",
                f"From which batch are decode's matrix products bound by compute on an accelerator whose ridge is "
                f"{three_figures(accelerator.ridge)} FLOP/byte ({accelerator.title}), with weights in {dtype} "
                "computed in "
                f"{8 * shape.bytes_per_activation:g} bits? Count the weights alone.",
                batch, "sequences", ROUNDED,
                f"A weight of {size} serves B tokens with 2 FLOPs each: 2 B ÷ {each:g} = the ridge at "
                f"B = {three_figures(batch)}. KV reads come on top and never amortise, so in practice it takes more.",
            )  # fmt: skip


def step_times() -> Iterator[Drill]:
    """ms of a decode step that waits for memory."""
    return (drill for drill in _step() if drill.unit == "ms")


def step_rates() -> Iterator[Drill]:
    """tok/s of a decode step that waits for memory."""
    return (drill for drill in _step() if drill.unit == "tok/s")


def _step() -> Iterator[Drill]:
    for name, shape, accelerator in large_pairs():
        for batch, context in ((8, 1_000), (32, 1_000), (32, 4_000), (64, 2_000)):
            kv = batch * context * shape.kv_bytes_per_token
            if shape.weight_bytes + kv > accelerator.memory_bytes or context > shape.n_positions:
                continue
            by_hand = (shape.weight_bytes + kv) / accelerator.bytes_per_s
            seconds = _decode(shape, accelerator, batch, context)
            if not 1 / ESTIMATED < by_hand / seconds < ESTIMATED:
                continue  # bound by compute, or by activations
            weights, read = three_figures(shape.weight_bytes / GB), three_figures(kv / GB)
            facts = f"{name} ({weights} GB of weights, {shape.kv_bytes_per_token:,} bytes of KV a token)"
            explain = (
                f"({weights} GB of weights + {batch} × {context:,} × {shape.kv_bytes_per_token:,} bytes = {read} GB "
                "of KV) ÷ "
                f"{accelerator.bandwidth.words} = {three_figures(by_hand * 1e3)} ms by hand. The roofline model, "
                "which also "
                f"counts activations and leaves out embedding rows that are not looked up, says "
                f"{three_figures(seconds * 1e3)} ms."
            )
            where = f"on {fact(accelerator, 'bandwidth')}"
            key = f"{name}-{accelerator.name}-{batch}-{context}"
            yield make_drill(
                "time of a decode step", key,
                f"{facts} decodes {batch} sequences of {context:,} tokens {where}. How many ms does a step take?",
                seconds * 1e3, "ms", ESTIMATED, explain,
            )  # fmt: skip
            yield make_drill(
                "tokens/s of a batch", key,
                f"{facts} decodes {batch} sequences of {context:,} tokens {where}. At most how many tokens/s in all?",
                batch / seconds, "tok/s", ESTIMATED, f"{explain} {batch} tokens a step make "
                f"{three_figures(batch / seconds)} tokens/s.",
            )  # fmt: skip


def prefill_flops() -> Iterator[Drill]:
    """TFLOP of a prefill."""
    for name, shape in shapes():
        for tokens in (512, 2_000):
            by_hand = 2 * shape.num_parameters * tokens
            flops = sum_of(operators(_prefill(tokens), shape)).flops
            if shape.num_parameters > LARGE and tokens <= shape.n_positions:
                yield make_drill(
                    "FLOPs of a prefill", f"{name}-{tokens}",
                    f"{name} has {size_of(shape)}. How many TFLOP does the prefill of a prompt of {tokens:,} tokens "
                    "take?",
                    flops / 1e12, "TFLOP", COUNTED,
                    f"2 FLOPs a parameter and token: 2 × {size_of(shape)} × {tokens:,} = "
                    f"{three_figures(by_hand / 1e12)} TFLOP by "
                    f"hand. Counted exactly it is {three_figures(flops / 1e12)}: attention comes on top, the "
                    "embedding is only "
                    "looked up, and the last matrix runs for one position.",
                )  # fmt: skip


def prefill_times() -> Iterator[Drill]:
    """ms of a prefill that waits for arithmetic."""
    for name, shape, accelerator in large_pairs():
        for tokens in (2_000, 4_000):
            totals = _prefill(tokens)
            seconds = float(StepModel(shape, accelerator.ceilings()).seconds(operators(totals, shape), tokens, 1))
            by_hand = 2 * shape.num_parameters * tokens / accelerator.flops_per_s
            if tokens > shape.n_positions or not 1 / COUNTED < by_hand / seconds < COUNTED:
                continue
            yield make_drill(
                "time of a prefill", f"{name}-{accelerator.name}-{tokens}",
                f"{name} has {size_of(shape)}. How many ms does the prefill of {tokens:,} tokens take on "
                f"{fact(accelerator, 'flops')}, at that peak?",
                seconds * 1e3, "ms", COUNTED,
                f"2 × {size_of(shape)} × {tokens:,} tokens ÷ {accelerator.flops.words} = "
                f"{three_figures(by_hand * 1e3)} ms by hand; "
                f"the roofline model, operator by operator, says {three_figures(seconds * 1e3)} ms. That is how long "
                "every "
                "decode waits if the prompt runs alone.",
            )  # fmt: skip


def _decode(shape: ModelShape, accelerator: Accelerator, batch: int, context: int) -> float:
    """Seconds of one modelled step of `batch` decodes, each with `context` tokens of KV."""
    totals = Totals(positions=batch, rectangle=batch * context, context=batch * context, sampled=batch)
    model = StepModel(shape, accelerator.ceilings())
    return float(model.seconds(operators(totals, shape), batch, batch))


def _prefill(tokens: int) -> Totals:
    return Totals(positions=tokens, rectangle=tokens * tokens, context=tokens, sampled=1)
