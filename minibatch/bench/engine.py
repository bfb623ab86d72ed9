"""How fast the engine is: against `transformers` on the same weights, and against its own roofline.

Every contestant serves the same ragged workload in turn, round after round in one process, so that
a noisy machine disturbs all of them alike; ratios are taken within a round and reported with their
spread. Useful tokens are those that a request asked for: what a padded batch computes beyond them
doesn't count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import ContinuousBatchingConfig, GenerationConfig, GPT2LMHeadModel

from minibatch.bench.report import Measured, Report
from minibatch.decisions.phase import Phase
from minibatch.engine.loop import Engine
from minibatch.engine.recorder import Recorder
from minibatch.engine.torch_executor import TorchExecutor
from minibatch.model.gpt2 import GPT2
from minibatch.model.reference import reference_model
from minibatch.model.weights import load_weights
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import count
from minibatch.roofline.measurement import measure_ceilings
from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan, ScheduledSeq, plan_of
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.request import Request, SamplingParams

BLOCK_SIZE = 16
MAX_MODEL_LEN = 256
TOKEN_BUDGET = 256
"""Most tokens of an iteration, for our chunked policy and for transformers' manager."""
RATIOS = (
    ("minibatch continuous", "transformers continuous"),
    ("minibatch chunked", "transformers continuous"),
    ("minibatch static", "transformers padded"),
    ("minibatch continuous", "minibatch static"),
)


def ragged_workload(vocab_size: int, num_requests: int, seed: int = 0) -> list[Request]:
    """Prompts of 16 to 128 and outputs of 8 to 128 tokens, all there from the start."""
    rng = np.random.default_rng(seed)
    return [
        Request(
            request_id,
            tuple(rng.integers(0, vocab_size, rng.integers(16, 129)).tolist()),
            SamplingParams(int(rng.integers(8, 129)), ignore_eos=True),
        )
        for request_id in range(num_requests)
    ]


class Contest:
    """Our policies, `transformers`' padded `generate` and its continuous-batching manager."""

    def __init__(self, model: GPT2, reference: GPT2LMHeadModel, requests: Sequence[Request], slots: int) -> None:
        self.model, self.reference, self.requests, self.slots = model, reference, requests, slots
        self.contestants: dict[str, Callable[[], float]] = {
            "minibatch static": lambda: self._ours("static"),
            "minibatch continuous": lambda: self._ours("continuous"),
            "minibatch chunked": lambda: self._ours("chunked"),
            "transformers padded": self._padded,
            "transformers continuous": self._manager,
        }
        self._executor = TorchExecutor(model, num_kv_blocks=slots * MAX_MODEL_LEN // BLOCK_SIZE, block_size=BLOCK_SIZE)

    @property
    def useful_tokens(self) -> int:
        return sum(request.sampling.max_tokens for request in self.requests)

    def runs(self, rounds: int) -> Iterator[tuple[int, str, float]]:
        """Round, contestant and useful tokens/s, as they come; round 0 only warms up."""
        for number in range(rounds + 1):
            for name, run in self.contestants.items():
                yield number, name, self.useful_tokens / run()

    def _ours(self, policy: str) -> float:
        config = SchedulerConfig(
            max_num_seqs=self.slots,
            max_num_batched_tokens=max(TOKEN_BUDGET, self.slots),
            max_model_len=MAX_MODEL_LEN,
            block_size=BLOCK_SIZE,
            num_kv_blocks=self._executor.cache.num_kv_blocks,
        )
        engine = Engine(
            arrival_source(self.requests), find_policy(policy), self._executor, config, self.model.shape, check=False
        )
        began = time.perf_counter()
        engine.run()
        return time.perf_counter() - began

    @torch.inference_mode()
    def _padded(self) -> float:
        """Left-padded batches of `slots`, each run to its longest output."""
        device = self.reference.device
        began = time.perf_counter()
        for first in range(0, len(self.requests), self.slots):
            batch = self.requests[first : first + self.slots]
            width = max(request.num_prompt_tokens for request in batch)
            ids = torch.zeros(len(batch), width, dtype=torch.long)
            mask = torch.zeros_like(ids)
            for row, request in enumerate(batch):
                ids[row, width - request.num_prompt_tokens :] = torch.tensor(request.prompt_token_ids)
                mask[row, width - request.num_prompt_tokens :] = 1
            longest = max(request.sampling.max_tokens for request in batch)
            self.reference.generate(
                ids.to(device),
                attention_mask=mask.to(device),
                do_sample=False,
                max_new_tokens=longest,
                min_new_tokens=longest,
            )
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - began

    def _manager(self) -> float:
        """The manager with as many requests at once as we have slots; its start is not timed."""
        settings = ContinuousBatchingConfig(
            page_size=BLOCK_SIZE,
            num_blocks=self._executor.cache.num_kv_blocks,
            max_batch_tokens=max(TOKEN_BUDGET, self.slots),
            max_requests_per_batch=self.slots,
            allow_block_sharing=False,
        )
        generation = GenerationConfig(do_sample=False, eos_token_id=-1, pad_token_id=0, max_new_tokens=128)
        with self.reference.continuous_batching_context_manager(
            generation_config=generation, continuous_batching_config=settings
        ) as manager:
            began = time.perf_counter()
            for request in self.requests:
                manager.add_request(list(request.prompt_token_ids), max_new_tokens=request.sampling.max_tokens)
            done = written = 0
            while done < len(self.requests):
                result = manager.get_result(timeout=60)
                if result is None:
                    raise RuntimeError("transformers' continuous batching gave no result for a minute")
                if result.is_finished():
                    done += 1
                    written += len(result.generated_tokens)
            seconds = time.perf_counter() - began
        if written != self.useful_tokens:
            raise RuntimeError(f"transformers wrote {written} tokens, and {self.useful_tokens} were asked for")
        return seconds


@dataclass(frozen=True, slots=True)
class StepSpeed:
    """Sequences to run again and again: `batch` of them, computing `num_tokens` after `start` others."""

    name: str
    batch: int
    num_tokens: int
    start: int


STEPS = (
    StepSpeed("decode, batch 1", 1, 1, 64),
    StepSpeed("decode, batch 8", 8, 1, 64),
    StepSpeed("decode, batch 32", 32, 1, 64),
    StepSpeed("prefill, 128 tokens", 1, 128, 0),
    StepSpeed("prefill, 512 tokens", 1, 512, 0),
)


@dataclass(frozen=True, slots=True)
class StepTime:
    """One kind of iteration against the roofline of this machine.

    Attributes:
        bound: "memory" or "compute", whichever takes longer on paper.
        share: time that the bound allows / time taken, at most 1 if the ceilings are true.
    """

    name: str
    seconds: float
    bound: str
    share: float


def time_steps(
    model: GPT2, measure: Callable[[], Ceilings], rounds: int, steps: Sequence[StepSpeed] = STEPS
) -> Iterator[StepTime]:
    """Each kind of step in every round, against ceilings that `measure` takes anew in each."""
    context = model.config.n_positions
    plans = [(step, *_plan(model, step)) for step in steps if step.start + step.num_tokens <= context]
    for _ in range(rounds):
        ceilings = measure()
        for step, executor, plan in plans:
            executor.execute(plan)
            taken = min(executor.execute(plan).duration_ns for _ in range(7)) / 1e9
            costs = count(plan.seqs, model.shape)
            moved = costs.bytes_weights + costs.bytes_kv
            compute, memory = costs.flops / ceilings.flops_per_s, moved / ceilings.bytes_per_s
            yield StepTime(step.name, taken, "compute" if compute > memory else "memory", max(compute, memory) / taken)


def _plan(model: GPT2, step: StepSpeed) -> tuple[TorchExecutor, Plan]:
    blocks = -(-(step.start + step.num_tokens) // BLOCK_SIZE)
    executor = TorchExecutor(model, num_kv_blocks=blocks * step.batch, block_size=BLOCK_SIZE)
    rng = np.random.default_rng(0)
    seqs = []
    for i in range(step.batch):
        tokens = tuple(rng.integers(0, model.config.vocab_size, step.start + step.num_tokens).tolist())
        table = list(range(i * blocks, (i + 1) * blocks))
        seqs.append(
            ScheduledSeq(
                RequestState(Request(i, tokens), block_table=table),
                slot=i,
                phase=Phase.DECODE if step.num_tokens == 1 else Phase.PREFILL,
                start=step.start,
                num_tokens=step.num_tokens,
                block_table=table,
                samples=True,
            )
        )
    return executor, plan_of(seqs)


def scheduler_share(model: GPT2, requests: Sequence[Request], slots: int) -> float:
    """Time of scheduler, allocator, recorder and checks / time of the model, over a whole chunked run."""
    config = SchedulerConfig(
        max_num_seqs=slots,
        max_num_batched_tokens=max(64, slots),
        max_model_len=MAX_MODEL_LEN,
        num_kv_blocks=slots * MAX_MODEL_LEN // BLOCK_SIZE,
    )
    executor = TorchExecutor(model, num_kv_blocks=config.num_kv_blocks, block_size=config.block_size)
    recorder = Recorder()
    engine = Engine(arrival_source(requests), find_policy("chunked"), executor, config, model.shape, recorder=recorder)
    began = time.perf_counter_ns()
    engine.run()
    total_ns = time.perf_counter_ns() - began
    model_ns = recorder.executor_ns
    return (total_ns - model_ns) / model_ns


def bench_model(name: str, dtype: str, device: str, num_requests: int, slots: int, rounds: int, report: Report) -> None:
    """Everything about one model; where it is stopped, the rounds that were whole are reported."""
    report.progress(f"{name}: loading")
    weights = load_weights(name, dtype, device)
    model = GPT2(weights.config, weights.tensors)
    reference = reference_model(weights.config, weights.tensors)
    requests = ragged_workload(weights.config.vocab_size, num_requests)
    size = f"{model.shape.num_parameters / 1e6:.1f} M parameters"
    report.note(f"{name}, {size}, {num_requests} requests, {slots} slots")
    speeds: dict[str, list[float]] = {}
    contest = Contest(model, reference, requests, slots)
    try:
        for number, contestant, speed in contest.runs(rounds):
            report.progress(f"{name}: {f'round {number} of {rounds}' if number else 'warm-up'}: {contestant}")
            if number:
                report.note(f"  round {number}, {contestant}: {speed:.0f} useful tokens/s")
                speeds.setdefault(contestant, []).append(speed)
    finally:
        _report_contest(name, speeds, report)
    steps: dict[str, list[StepTime]] = {}
    try:
        for step in time_steps(model, lambda: measure_ceilings(str(model.device), dtype), max(1, rounds // 2)):
            report.progress(f"{name}: {step.name}")
            steps.setdefault(step.name, []).append(step)
    finally:
        for kind, times in steps.items():
            report.add(
                f"{name}, {kind}, bound by {times[-1].bound}",
                Measured("step", [1e3 * each.seconds for each in times], "ms"),
                Measured("share of the measured ceiling", [100 * each.share for each in times], "%"),
            )
    share = scheduler_share(model, requests, slots)
    report.add(
        f"{name}, scheduler, allocator, recorder and checks", Measured("of the model's time", [100 * share], "%")
    )


def _report_contest(name: str, speeds: dict[str, list[float]], report: Report) -> None:
    for contestant, values in speeds.items():
        report.add(f"{name}, {contestant}", Measured("useful tokens/s", values))
    for ours, theirs in RATIOS:
        if ours in speeds and theirs in speeds:
            ratios = [a / b for a, b in zip(speeds[ours], speeds[theirs], strict=False)]
            report.add(f"{name}, {ours} / {theirs}", Measured("", ratios, "x"))
