"""Numbers to do in the head before an interview, made from the registries of models and accelerators.

Answers come from the code that the simulations use. Where that counts more finely than anybody does in the
head (activations; an embedding that is looked up, not multiplied), the tolerance covers the estimate by hand.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from minibatch.analysis.accelerators import Accelerator, load_accelerators
from minibatch.analysis.formats import three_figures
from minibatch.analysis.models import load_models
from minibatch.engine.ceilings import kv_blocks_beside_weights
from minibatch.engine.costs import ModelShape, Totals, operators, sum_of
from minibatch.engine.step_model import StepModel

_EXACT, _ROUNDED, _ESTIMATED, _COUNTED = 1.02, 1.1, 1.2, 1.35
"""Tolerances: of a sum, of one with rounded inputs, of a step's time, of a prefill's FLOPs."""
_LARGE = 6e9
"""Parameters from which the embedding is a small part of a model."""
_GB, _KIB = 1e9, 1024.0


@dataclass(frozen=True, slots=True)
class Drill:
    """One number to work out.

    Attributes:
        id: says what is asked, so that it is the same for the same question however the drills are drawn.
        ask: the question, with every figure that it takes.
        answer: in `unit`.
        answer_words: the answer to three figures, with its unit.
        tolerance: a factor: right from answer / tolerance to answer * tolerance.
        explain: the way there.
    """

    id: str
    topic: str
    ask: str
    answer: float
    answer_words: str
    unit: str
    tolerance: float
    explain: str


def make_drills(seed: int = 0, count: int | None = 120) -> list[Drill]:
    """`count` different drills (None: all), of every topic about as many; the same for the same seed.

    Raises:
        ValueError: the registries don't give as many.
    """
    rng = random.Random(seed)
    topics = [list(make()) for make in _TOPICS]
    for drills in topics:
        rng.shuffle(drills)
    total = sum(map(len, topics))
    count = total if count is None else count
    if not 1 <= count <= total:
        raise ValueError(f"count is {count}: the registries give 1 to {total} drills")
    chosen: list[Drill] = []
    while len(chosen) < count:
        for drills in topics:
            if drills and len(chosen) < count:
                chosen.append(drills.pop())
    return chosen


def _drill(topic: str, key: str, ask: str, answer: float, unit: str, tolerance: float, explain: str) -> Drill:
    words = f"{answer:,} {unit}" if isinstance(answer, int) else f"{three_figures(answer)} {unit}"
    return Drill(_id(f"{topic}-{key}"), topic, ask, answer, words, unit, tolerance, explain)


def _id(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower())


# -- what the questions are about ------------------------------------------------------------------


def _shapes(weight_dtype: str = "bfloat16", kv_dtype: str | None = None) -> Iterator[tuple[str, ModelShape]]:
    for name, model in load_models().items():
        yield name, model.shape(weight_dtype, kv_dtype)


def _pairs(weight_dtype: str = "bfloat16") -> Iterator[tuple[str, ModelShape, Accelerator]]:
    """Large models on accelerators whose memory holds them with a tenth to spare."""
    for name, shape in _shapes(weight_dtype):
        for accelerator in load_accelerators().values():
            if shape.num_parameters > _LARGE and shape.weight_bytes < 0.9 * accelerator.memory_bytes:
                yield name, shape, accelerator


def _fact(accelerator: Accelerator, *fields: str) -> str:
    """An accelerator with some figures of its data sheet in brackets after its title."""
    claims = [getattr(accelerator, field) for field in fields]
    words = [f"{claim.words} ({claim.standing})" if claim.standing else claim.words for claim in claims]
    return f"{_article(accelerator.title)} {accelerator.title} with {' and '.join(words)}"


def _article(name: str) -> str:
    """By how the first letter is said: an H100, a T4."""
    return "an" if name[0] in "AEFHILMNORSX" else "a"


def _count(number: float, noun: str) -> str:
    return f"{number:g} {noun}{'' if number == 1 else 's'}"


def _size(shape: ModelShape) -> str:
    return f"{three_figures(shape.num_parameters / 1e9)} billion parameters"


def _decode(shape: ModelShape, accelerator: Accelerator, batch: int, context: int) -> float:
    """Seconds of one modelled step of `batch` decodes, each with `context` tokens of KV."""
    totals = Totals(positions=batch, rectangle=batch * context, context=batch * context, sampled=batch)
    model = StepModel(shape, accelerator.ceilings())
    return float(model.seconds(operators(totals, shape), batch, batch))


def _prefill(tokens: int) -> Totals:
    return Totals(positions=tokens, rectangle=tokens * tokens, context=tokens, sampled=1)


# -- one function a topic --------------------------------------------------------------------------


def _kv_bytes() -> Iterator[Drill]:
    for dtype in ("bfloat16", "float8"):
        for name, shape in _shapes(kv_dtype=dtype):
            size = _count(shape.bytes_per_kv, "byte")
            head_dim = shape.kv_dim // shape.n_kv_head
            yield _drill(
                "KV bytes a token", f"{name}-{dtype}",
                f"{name} has {shape.n_layer} layers, {shape.n_kv_head} KV heads and a head dimension of {head_dim}. "
                f"How many KiB of KV cache does a token take at {size} an element ({dtype})?",
                shape.kv_bytes_per_token / _KIB, "KiB", _EXACT,
                f"2 (keys and values) × {shape.n_layer} layers × {shape.n_kv_head} KV heads × {head_dim} × {size} "
                f"= {shape.kv_bytes_per_token:,} bytes.",
            )  # fmt: skip


def _kv_sequence() -> Iterator[Drill]:
    for name, shape in _shapes():
        for context in (1_000, 4_000, 32_000):
            if shape.num_parameters < _LARGE or context > shape.n_positions:
                continue
            per_token = shape.kv_bytes_per_token
            yield _drill(
                "KV of a sequence", f"{name}-{context}",
                f"A token's KV takes {per_token:,} bytes in {name}. How many GB does a sequence of {context:,} "
                "tokens hold?",
                context * per_token / _GB, "GB", _ROUNDED,
                f"{context:,} tokens × {per_token:,} bytes = {three_figures(context * per_token / _GB)} GB. "
                "Every decode step of this sequence reads all of it, and no other sequence shares the read.",
            )  # fmt: skip


def _weights() -> Iterator[Drill]:
    for dtype in ("bfloat16", "int8", "int4"):
        for name, shape in _shapes(dtype):
            each = _count(shape.bytes_per_weight, "byte")
            yield _drill(
                "bytes of weights", f"{name}-{dtype}",
                f"{name} has {_size(shape)}. How many GB are its weights in {dtype}?",
                shape.weight_bytes / _GB, "GB", _ROUNDED,
                f"{_size(shape)} × {each} = {three_figures(shape.weight_bytes / _GB)} GB. "
                "Scales of a quantised format come on top.",
            )  # fmt: skip


def _read_weights() -> Iterator[Drill]:
    for name, shape, accelerator in _pairs():
        seconds = shape.weight_bytes / accelerator.bytes_per_s
        gigabytes = three_figures(shape.weight_bytes / _GB)
        yield _drill(
            "time to read the weights", f"{name}-{accelerator.name}",
            f"{name} has {gigabytes} GB of weights. How many ms does one read of them take on "
            f"{_fact(accelerator, 'bandwidth')}?",
            seconds * 1e3, "ms", _ROUNDED,
            f"{gigabytes} GB ÷ {accelerator.bandwidth.words} = {three_figures(seconds * 1e3)} ms: about the "
            "shortest decode step, whatever the batch (a little less is read where the embedding is only looked up).",
        )  # fmt: skip


def _single_stream() -> Iterator[Drill]:
    for name, shape, accelerator in _pairs():
        bound = accelerator.bytes_per_s / shape.weight_bytes
        gigabytes = three_figures(shape.weight_bytes / _GB)
        yield _drill(
            "bound on tokens/s", f"{name}-{accelerator.name}-1",
            f"At most how many tokens/s can one sequence write with {name} ({gigabytes} GB of weights) on "
            f"{_fact(accelerator, 'bandwidth')}?",
            bound, "tok/s", _ROUNDED,
            f"Each token reads all weights: {accelerator.bandwidth.words} ÷ {gigabytes} GB = "
            f"{three_figures(bound)} tokens/s. KV and overhead only take from that.",
        )  # fmt: skip


def _fit() -> Iterator[Drill]:
    for name, shape, accelerator in _pairs():
        for context in (2_000, 8_000):
            most = accelerator.sequences_that_fit(shape, context)
            if most < 2 or context > shape.n_positions:
                continue
            weights, per_token = three_figures(shape.weight_bytes / _GB), shape.kv_bytes_per_token
            one = three_figures(context * per_token / _GB)
            yield _drill(
                "sequences that fit", f"{name}-{accelerator.name}-{context}",
                f"{name} has {weights} GB of weights and {per_token:,} bytes of KV a token. How many sequences of "
                f"{context:,} tokens fit on {_fact(accelerator, 'memory')}, activations left out?",
                most, "sequences", _ESTIMATED,
                f"({accelerator.memory.words} - {weights} GB) ÷ ({context:,} × {per_token:,} bytes = {one} GB), "
                "rounded "
                f"down: {most:,}. In practice fewer: activations and the runtime take their part.",
            )  # fmt: skip


def _blocks() -> Iterator[Drill]:
    for name, shape, accelerator in _pairs():
        size = 16
        blocks = kv_blocks_beside_weights(accelerator.memory_bytes, shape, size)
        weights, per_token = three_figures(shape.weight_bytes / _GB), shape.kv_bytes_per_token
        yield _drill(
            "KV blocks", f"{name}-{accelerator.name}",
            f"{name} has {weights} GB of weights and {per_token:,} bytes of KV a token. How many KV blocks of {size} "
            "tokens "
            f"fit beside the weights on {_fact(accelerator, 'memory')}?",
            blocks, "blocks", _ESTIMATED,
            f"A block takes {size} × {per_token:,} = {size * per_token:,} bytes; ({accelerator.memory.words} - "
            f"{weights} GB) "
            f"÷ that, rounded down, is {blocks:,}.",
        )  # fmt: skip


def _ridge() -> Iterator[Drill]:
    for accelerator in load_accelerators().values():
        yield _drill(
            "ridge point", accelerator.name,
            f"Where is the ridge of {_fact(accelerator, 'flops', 'bandwidth')}, in FLOP/byte?",
            accelerator.ridge, "FLOP/byte", _ROUNDED,
            f"{accelerator.flops.words} ÷ {accelerator.bandwidth.words} = {three_figures(accelerator.ridge)} "
            "FLOP/byte: "
            "with fewer FLOPs a byte the device waits for memory.",
        )  # fmt: skip


def _ridge_batch() -> Iterator[Drill]:
    shape = next(shape for _, shape in _shapes())
    for dtype in ("bfloat16", "int8", "int4"):
        each = next(shape for _, shape in _shapes(dtype)).bytes_per_weight
        size = _count(each, "byte")
        for accelerator in load_accelerators().values():
            batch = accelerator.ridge * each / 2
            yield _drill(
                "batch at the ridge", f"{accelerator.name}-{dtype}",
                f"From which batch are decode's matrix products bound by compute on an accelerator whose ridge is "
                f"{three_figures(accelerator.ridge)} FLOP/byte ({accelerator.title}), with weights in {dtype} "
                "computed in "
                f"{8 * shape.bytes_per_activation:g} bits? Count the weights alone.",
                batch, "sequences", _ROUNDED,
                f"A weight of {size} serves B tokens with 2 FLOPs each: 2 B ÷ {each:g} = the ridge at "
                f"B = {three_figures(batch)}. KV reads come on top and never amortise, so in practice it takes more.",
            )  # fmt: skip


def _step() -> Iterator[Drill]:
    for name, shape, accelerator in _pairs():
        for batch, context in ((8, 1_000), (32, 1_000), (32, 4_000), (64, 2_000)):
            kv = batch * context * shape.kv_bytes_per_token
            if shape.weight_bytes + kv > accelerator.memory_bytes or context > shape.n_positions:
                continue
            by_hand = (shape.weight_bytes + kv) / accelerator.bytes_per_s
            seconds = _decode(shape, accelerator, batch, context)
            if not 1 / _ESTIMATED < by_hand / seconds < _ESTIMATED:
                continue  # bound by compute, or by activations
            weights, read = three_figures(shape.weight_bytes / _GB), three_figures(kv / _GB)
            facts = f"{name} ({weights} GB of weights, {shape.kv_bytes_per_token:,} bytes of KV a token)"
            explain = (
                f"({weights} GB of weights + {batch} × {context:,} × {shape.kv_bytes_per_token:,} bytes = {read} GB "
                "of KV) ÷ "
                f"{accelerator.bandwidth.words} = {three_figures(by_hand * 1e3)} ms by hand. The roofline model, "
                "which also "
                f"counts activations and leaves out embedding rows that nobody looks up, says "
                f"{three_figures(seconds * 1e3)} ms."
            )
            where = f"on {_fact(accelerator, 'bandwidth')}"
            key = f"{name}-{accelerator.name}-{batch}-{context}"
            yield _drill(
                "time of a decode step", key,
                f"{facts} decodes {batch} sequences of {context:,} tokens {where}. How many ms does a step take?",
                seconds * 1e3, "ms", _ESTIMATED, explain,
            )  # fmt: skip
            yield _drill(
                "tokens/s of a batch", key,
                f"{facts} decodes {batch} sequences of {context:,} tokens {where}. At most how many tokens/s in all?",
                batch / seconds, "tok/s", _ESTIMATED, f"{explain} {batch} tokens a step make "
                f"{three_figures(batch / seconds)} tokens/s.",
            )  # fmt: skip


def _step_time() -> Iterator[Drill]:
    return (drill for drill in _step() if drill.unit == "ms")


def _step_rate() -> Iterator[Drill]:
    return (drill for drill in _step() if drill.unit == "tok/s")


def _prefill_flops() -> Iterator[Drill]:
    for name, shape in _shapes():
        for tokens in (512, 2_000):
            by_hand = 2 * shape.num_parameters * tokens
            flops = sum_of(operators(_prefill(tokens), shape)).flops
            if shape.num_parameters > _LARGE and tokens <= shape.n_positions:
                yield _drill(
                    "FLOPs of a prefill", f"{name}-{tokens}",
                    f"{name} has {_size(shape)}. How many TFLOP does the prefill of a prompt of {tokens:,} tokens "
                    "take?",
                    flops / 1e12, "TFLOP", _COUNTED,
                    f"2 FLOPs a parameter and token: 2 × {_size(shape)} × {tokens:,} = "
                    f"{three_figures(by_hand / 1e12)} TFLOP by "
                    f"hand. Counted exactly it is {three_figures(flops / 1e12)}: attention comes on top, the "
                    "embedding is only "
                    "looked up, and the last matrix runs for one position.",
                )  # fmt: skip


def _prefill_time() -> Iterator[Drill]:
    for name, shape, accelerator in _pairs():
        for tokens in (2_000, 4_000):
            totals = _prefill(tokens)
            seconds = float(StepModel(shape, accelerator.ceilings()).seconds(operators(totals, shape), tokens, 1))
            by_hand = 2 * shape.num_parameters * tokens / accelerator.flops_per_s
            if tokens > shape.n_positions or not 1 / _COUNTED < by_hand / seconds < _COUNTED:
                continue
            yield _drill(
                "time of a prefill", f"{name}-{accelerator.name}-{tokens}",
                f"{name} has {_size(shape)}. How many ms does the prefill of {tokens:,} tokens take on "
                f"{_fact(accelerator, 'flops')}, at that peak?",
                seconds * 1e3, "ms", _COUNTED,
                f"2 × {_size(shape)} × {tokens:,} tokens ÷ {accelerator.flops.words} = "
                f"{three_figures(by_hand * 1e3)} ms by hand; "
                f"the roofline model, operator by operator, says {three_figures(seconds * 1e3)} ms. That is how long "
                "every "
                "decode waits if the prompt runs alone.",
            )  # fmt: skip


_TOPICS: tuple[Callable[[], Iterator[Drill]], ...] = (
    _kv_bytes, _kv_sequence, _weights, _read_weights, _single_stream, _fit, _blocks, _ridge, _ridge_batch,
    _step_time, _step_rate, _prefill_flops, _prefill_time,
)  # fmt: skip
