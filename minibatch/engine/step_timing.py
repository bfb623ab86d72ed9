"""Times real steps of a model, as the engine runs them, and fits the step model to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from minibatch.decisions.phase import Phase
from minibatch.engine.torch_executor import TorchExecutor
from minibatch.model.gpt2 import GPT2
from minibatch.model.weights import load_model
from minibatch.roofline.calibration_store import Calibration
from minibatch.roofline.ceilings import Progress
from minibatch.roofline.devices import choose_dtype, to_device
from minibatch.roofline.fit import FEWEST_STEPS, fit_model
from minibatch.roofline.step_samples import Sample, Step, draw_steps
from minibatch.roofline.this_machine import load_or_measure
from minibatch.scheduling.plan import Plan, ScheduledSeq, plan_of
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.request import Request

BLOCK_SIZE = 16
NUM_STEPS = 150
ROUNDS = 7
"""Together about a minute for the bundled model on two cores."""

_MOST_KV_BYTES = 3 * 2**30
_CEILINGS_SHARE = 0.1
"""Of the progress: how long measuring the ceilings takes."""


def calibrate(
    name: str = "bundled",
    dtype: str = "auto",
    device: torch.device | str = "auto",
    *,
    num_steps: int = NUM_STEPS,
    rounds: int = ROUNDS,
    seed: int = 0,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Calibration | None:
    """Measure this machine's ceilings anew, time steps of a model, and fit its efficiencies.

    Returns what `fitted.save_calibration` remembers, or None if `should_stop` said so before the end.

    Raises:
        ValueError: there is no such model, device or dtype, or too few steps or rounds.
    """
    if num_steps < FEWEST_STEPS:
        raise ValueError(f"the number of steps is {num_steps}: use at least {FEWEST_STEPS}")
    if rounds < 1:
        raise ValueError(f"the number of rounds is {rounds}: use at least 1")
    report = progress or (lambda done: None)
    where = to_device(device)
    dtype = choose_dtype(dtype, where)
    model = load_model(name, dtype, where)
    steps = draw_steps(num_steps, model.config.n_positions, seed, most_context(model))
    ceilings = load_or_measure(where, dtype, lambda done: report(_CEILINGS_SHARE * done), anew=True)
    samples = time_steps(
        model,
        steps,
        rounds=rounds,
        seed=seed,
        progress=lambda done: report(_CEILINGS_SHARE + (1 - _CEILINGS_SHARE) * done),
        should_stop=should_stop,
    )
    return fit_model(name, model.shape, ceilings, samples) if samples else None


def most_context(model: GPT2) -> int:
    """Tokens of context that a step may have in all, so that the KV pool stays below 3 GiB."""
    return _MOST_KV_BYTES // model.shape.kv_bytes_per_token


def time_steps(
    model: GPT2,
    steps: Sequence[Step],
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> list[Sample]:
    """The median of `rounds` runs of each step; nothing if `should_stop` says so before the end.

    Every round runs all the steps in another order, so that a machine that is busy for a while
    disturbs none of them in all its runs. Right before it is timed a step runs once untimed: in a
    real run its KV was in use an iteration ago as well.
    """
    rng = np.random.default_rng(seed)
    executor, plans = _prepare(model, steps, rng)
    taken: list[list[int]] = [[] for _ in steps]
    for number in range(rounds):
        for done, k in enumerate(rng.permutation(len(steps)).tolist()):
            if should_stop is not None and should_stop():
                return []
            executor.execute(plans[k])
            taken[k].append(executor.execute(plans[k]).duration_ns)
            if progress is not None:
                progress((number * len(steps) + done + 1) / (rounds * len(steps)))
    return [_sample(step, times) for step, times in zip(steps, taken, strict=True)]


def _sample(step: Step, times: Sequence[int]) -> Sample:
    low, median, high = np.quantile(times, (0.25, 0.5, 0.75)).tolist()
    return Sample(step.kind, step.totals, len(step.parts), round(median), spread=(high - low) / 2 / median)


def _prepare(model: GPT2, steps: Sequence[Step], rng: np.random.Generator) -> tuple[TorchExecutor, list[Plan]]:
    """An executor whose pool holds the largest step, and the steps as plans for it."""
    num_blocks = max(sum(_blocks(part.start + part.num_tokens) for part in step.parts) for step in steps)
    executor = TorchExecutor(model, num_kv_blocks=num_blocks, block_size=BLOCK_SIZE)
    # Memory that was never written is one page of zeros, which is in every cache.
    executor.cache.data.normal_()
    return executor, [_plan(step, num_blocks, model.config.vocab_size, rng) for step in steps]


def _plan(step: Step, num_blocks: int, vocab_size: int, rng: np.random.Generator) -> Plan:
    free = rng.permutation(num_blocks).tolist()  # as in a pool that has been in use for a while
    seqs = []
    for slot, part in enumerate(step.parts):
        context = part.start + part.num_tokens
        table = tuple(free.pop() for _ in range(_blocks(context)))
        tokens = tuple(rng.integers(0, vocab_size, context).tolist())
        phase = Phase.DECODE if step.kind == "decode" or (step.kind == "mixed" and slot) else Phase.PREFILL
        request = RequestState(Request(slot, tokens), block_table=list(table))
        seqs.append(
            ScheduledSeq(request, slot, phase, part.start, part.num_tokens, block_table=table, samples=part.samples)
        )
    return plan_of(seqs)


def _blocks(context: int) -> int:
    return -(-context // BLOCK_SIZE)
