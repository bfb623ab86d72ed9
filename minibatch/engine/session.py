"""From "these requests, these policies, this model" to recordings: what the CLI and the app call."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from minibatch.engine.executor import Executor
from minibatch.engine.headers import header_of
from minibatch.engine.job import Job, check_fit, requests_of
from minibatch.engine.loop import Engine
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.engine.torch_executor import TorchExecutor
from minibatch.engine.watch import RunWatch
from minibatch.model.weights import BUNDLED, load_model, load_tokenizer, read_config
from minibatch.recording.part import RecordingPart
from minibatch.recording.schema import Header, Recording
from minibatch.roofline.calibration_store import with_calibration
from minibatch.roofline.ceilings import Ceilings, check_memory
from minibatch.roofline.costs import ModelShape
from minibatch.roofline.devices import choose_dtype, parse_dtype, to_device
from minibatch.roofline.this_machine import load_or_measure
from minibatch.scheduling import find_policy
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.policy import Policy
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.arrivals import ClosedLoop
from minibatch.workload.request import Request, SamplingParams


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
Take = Callable[[], list[RecordingPart]]
OnSnapshot = Callable[[Take], None]
"""Offered, after every plan, a function that takes what was recorded since it was last called; that is optional."""


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
        self.requests, self.scenario = requests_of(job, self.tokenizer, self.shape.vocab_size)
        self.loop: ClosedLoop | None = job.traffic.closed_loop if job.traffic else None
        check_fit(
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
        return engine.recording(self.header(engine), tokenizer)

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

    def header(self, engine: Engine) -> Header:
        """The header of what `engine` records."""
        return header_of(
            engine,
            self.ceilings,
            model=self.job.model,
            scenario=self.scenario,
            seed=self.job.seed,
            dtype=self.dtype,
            loop=self.loop,
            versions={"torch": torch.__version__, "python": platform.python_version()},
        )

    def watch(self, engine: Engine) -> RunWatch:
        """A watcher of `engine`."""
        return RunWatch(engine, None if self._model is None else self.tokenizer)


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
    left: list[RecordingPart] = []
    for index, policy in enumerate(session.policies):
        engine = session.engine(policy)
        watch = session.watch(engine)

        def take(
            engine: Engine = engine, watch: RunWatch = watch, left: list[RecordingPart] = left
        ) -> list[RecordingPart]:
            parts = [*left, watch.take(replace(session.header(engine), complete=engine.is_done))]
            left.clear()
            return parts

        def report(engine: Engine, plan: Plan, policy: Policy = policy, index: int = index, take: Take = take) -> None:
            if on_progress is not None:
                done = engine.num_finished
                on_progress(JobProgress(policy.name, index, len(session.policies), done, engine.num_requests))
            if on_snapshot is not None and engine.recorder.num_iterations:
                on_snapshot(take)

        finished = engine.run(report, should_stop)
        if on_snapshot is not None:
            left += take()  # goes with the first snapshot of the next run
        if engine.recorder.num_iterations or finished:
            recordings.append(session.record(engine))
        if not finished:
            break
    return recordings
