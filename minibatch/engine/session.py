"""From "these requests, these policies, this model" to recordings: what the CLI and the app call."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

import minibatch
from minibatch.engine.executor import Executor
from minibatch.engine.loop import Engine
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.engine.torch_executor import TorchExecutor
from minibatch.model.text import Tokenizer
from minibatch.model.weights import BUNDLED, load_model, load_tokenizer, read_config
from minibatch.recording.schema import Clock, Header, Recording
from minibatch.roofline.calibration_store import with_calibration
from minibatch.roofline.ceilings import Ceilings, check_memory
from minibatch.roofline.costs import ModelShape
from minibatch.roofline.devices import choose_dtype, parse_dtype, to_device
from minibatch.roofline.this_machine import load_or_measure
from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.policy import Policy
from minibatch.scheduling.state import SchedulerState
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.arrivals import ClosedLoop
from minibatch.workload.request import Request, SamplingParams
from minibatch.workload.requests_file import read_requests
from minibatch.workload.scenarios import find_scenario, scenario_requests, typed_requests
from minibatch.workload.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Job:
    """One workload to serve under several policies.

    Attributes:
        policies: names, in the order in which they run.
        scenario: a scenario's name, or None where `prompts`, `requests_file` or `traffic` give the requests.
        prompts: typed prompts, all arriving at once, each writing at most `max_tokens`.
        model: as `load_model` takes it.
        device: "auto", "cpu" or "cuda".
        dtype: "auto", or as `load_model` takes it.
        clock: "measured" runs the model; "modelled" computes durations from the device's ceilings.
        shape: of a model whose weights are not here, for the modelled clock alone. `model` is then
            only its name, `dtype` that of `shape`, and prompts are tokenised as for the bundled
            model: only their lengths matter.
        ceilings: of a device that is not here, for the modelled clock alone; its dtype is the job's.
    """

    policies: tuple[str, ...]
    config: SchedulerConfig
    scenario: str | None = None
    prompts: tuple[str, ...] = ()
    requests_file: Path | None = None
    traffic: Traffic | None = None
    max_tokens: int = 64
    model: str = "bundled"
    device: str = "auto"
    clock: Clock = "measured"
    dtype: str = "auto"
    seed: int = 0
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    shape: ModelShape | None = None
    ceilings: Ceilings | None = None


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job has come."""

    policy: str
    policy_index: int
    num_policies: int
    num_finished: int
    num_requests: int


OnProgress = Callable[[JobProgress], None]
ShouldStop = Callable[[], bool]
OnSnapshot = Callable[[Callable[[], list[Recording]]], None]
"""Offered, after every plan, a function that records what there is so far; calling it is optional."""


class Session:
    """A loaded model and its workload, ready to be served under any policy.

    Raises:
        ValueError: there is no such policy, scenario, model or device, or the requests can't be
            served with these knobs; one sentence says which and what to do.
    """

    def __init__(self, job: Job) -> None:
        if job.seed < 0:
            raise ValueError(f"seed is {job.seed}: use 0 or a positive whole number")
        self.job = job
        self.policies: list[Policy] = [find_policy(name) for name in job.policies]
        if not self.policies:
            raise ValueError("no policy is chosen: choose at least one")
        if job.clock != "modelled" and (job.shape or job.ceilings):
            raise ValueError("a model or a device that is not here can't be measured: use the modelled clock")
        device = to_device(job.device)
        self.dtype = job.ceilings.dtype if job.ceilings else choose_dtype(job.dtype, device)
        self.shape: ModelShape = job.shape or read_config(job.model).shape(parse_dtype(self.dtype).itemsize)
        self.tokenizer = load_tokenizer(BUNDLED if job.shape else job.model)
        self.requests, self.scenario = _requests(job, self.tokenizer, self.shape.vocab_size)
        self.loop: ClosedLoop | None = job.traffic.closed_loop if job.traffic else None
        _check_fit(
            self.requests, job.config, job.model, self.shape.n_positions, self.shape.vocab_size, job.traffic is not None
        )
        if job.ceilings:
            check_memory(job.ceilings, self.shape, job.config, job.model)
        self.ceilings: Ceilings = job.ceilings or with_calibration(load_or_measure(device, self.dtype), self.shape)
        self._model = None if job.clock == "modelled" else load_model(job.model, self.dtype, device)

    def engine(self, policy: Policy, requests: Sequence[Request] | None = None) -> Engine:
        """An engine about to serve the workload, or other `requests`, under `policy`."""
        return Engine(
            arrival_source(self.requests, self.loop) if requests is None else arrival_source(requests),
            policy,
            self._executor(),
            self.job.config,
            self.shape,
            eos_token_id=None if self._model is None else self._model.config.eos_token_id,
            fast_forward=self._model is None,
        )

    def record(self, engine: Engine) -> Recording:
        """What `engine` has done so far."""
        tokenizer = None if self._model is None else self.tokenizer
        return engine.recording(self._header(engine), tokenizer)

    def warm_up(self, should_stop: ShouldStop | None = None) -> None:
        """Run a little of everything once, so that no policy pays for first-time set-up."""
        if self.job.clock == "measured":
            length = max(1, min(64, self.job.config.max_model_len - 8))
            sampling = SamplingParams(max_tokens=6, ignore_eos=True)
            requests = [Request(i, (1,) * length, sampling) for i in range(self._batch_size)]
            for policy in self.policies:
                self.engine(policy, requests).run(should_stop=should_stop)

    @property
    def _batch_size(self) -> int:
        return min(self.job.config.max_num_seqs, len(self.requests))

    def _executor(self) -> Executor:
        config = self.job.config
        if self._model is None:
            return RooflineExecutor(self.shape, self.ceilings, block_size=config.block_size)
        return TorchExecutor(self._model, num_kv_blocks=config.num_kv_blocks, block_size=config.block_size)

    def _header(self, engine: Engine) -> Header:
        job = self.job
        ceilings = {key: value for key, value in asdict(self.ceilings).items() if key != "device"}
        return Header(
            policy=engine.policy.name,
            clock=engine.executor.clock,
            device=self.ceilings.device,
            model=job.model,
            dtype=self.dtype,
            scenario=self.scenario,
            seed=job.seed,
            token_budget=engine.policy.token_budget(job.config),
            config=asdict(job.config),
            shape=asdict(self.shape),
            ceilings=ceilings,
            versions={
                "minibatch": minibatch.__version__,
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
            closed_loop=None if self.loop is None else asdict(self.loop),
        )


def run_job(
    job: Job,
    on_progress: OnProgress | None = None,
    should_stop: ShouldStop | None = None,
    on_snapshot: OnSnapshot | None = None,
) -> list[Recording]:
    """Serve the job's workload under each of its policies; one recording each.

    `should_stop` is asked between plans, which on the modelled clock may be many iterations apart: a job
    that it stops gives what was recorded so far. The run's clock stands still during `on_progress` and
    `on_snapshot`.

    Raises:
        ValueError: as `Session`.
    """
    session = Session(job)
    session.warm_up(should_stop)
    recordings: list[Recording] = []
    for index, policy in enumerate(session.policies):
        engine = session.engine(policy)

        def report(engine: Engine, plan: Plan, policy: Policy = policy, index: int = index) -> None:
            if on_progress is not None:
                done = engine.num_finished
                on_progress(JobProgress(policy.name, index, len(session.policies), done, engine.num_requests))
            if on_snapshot is not None and engine.recorder.num_iterations:
                on_snapshot(lambda: [*recordings, session.record(engine)])

        finished = engine.run(report, should_stop)
        if engine.recorder.num_iterations or finished:
            recordings.append(session.record(engine))
        if not finished:
            break
    return recordings


def _requests(job: Job, tokenizer: Tokenizer | None, vocab_size: int) -> tuple[list[Request], str]:
    """The requests, and in words what they are."""
    sampling = SamplingParams(job.max_tokens, job.temperature, job.top_k, job.top_p)
    sources = [job.scenario is not None, bool(job.prompts), job.requests_file is not None, job.traffic is not None]
    if sum(sources) != 1:
        raise ValueError("give the requests in one way: a scenario, typed prompts, a requests file, a trace or lengths")
    if job.traffic is not None:
        count_tokens = None if tokenizer is None else lambda text: len(tokenizer.encode(text))
        return job.traffic.load(job.seed, vocab_size, sampling, count_tokens)
    codec = _need(tokenizer, job.model)
    if job.scenario is not None:
        return scenario_requests(find_scenario(job.scenario), codec, job.seed, sampling), job.scenario
    if job.prompts:
        return typed_requests(job.prompts, codec, job.seed, sampling), "typed prompts"
    return read_requests(job.requests_file or Path(), codec, job.seed, sampling), "requests file"


def _need(tokenizer: Tokenizer | None, model: str) -> Tokenizer:
    if tokenizer is None:
        raise ValueError(f'model "{model}" has no tokenizer: put its tokenizer.json beside its weights')
    return tokenizer


def _check_fit(
    requests: Sequence[Request], config: SchedulerConfig, model: str, context: int, vocab_size: int, is_traffic: bool
) -> None:
    """Knobs and prompts that cannot work, as a sentence; requests that merely don't fit are rejected later.

    Of traffic, which nobody wrote by hand, prompts that are too long are rejected later as well.
    """
    if config.max_model_len > context:
        raise ValueError(
            f'max_model_len is {config.max_model_len} and model "{model}" reads at most {context} tokens: '
            f"use {context} or less"
        )
    for request in requests:
        if max(request.prompt_token_ids) >= vocab_size:
            raise ValueError(
                f'the tokenizer of model "{model}" knows more tokens than the model, {vocab_size}: '
                "put the tokenizer.json beside the weights that it was made for"
            )
        if request.num_prompt_tokens >= config.max_model_len and not is_traffic:
            raise ValueError(
                f"request {request.request_id} has a prompt of {request.num_prompt_tokens} tokens, and max_model_len "
                f"leaves room for {config.max_model_len - 1} and one to write: shorten it or raise max_model_len"
            )

    state = SchedulerState(config)
    rejections = [state.why_rejected(request) for request in requests]
    if all(rejections) and (first := rejections[0]):
        raise ValueError(f"no request can be served with these knobs: {first.sentence}")
