"""Modelled runs of one workload at many loads, under many policies and knobs: the points of a sweep.

Points know nothing of each other, so they run side by side in any `concurrent.futures.Executor`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import get_context
from typing import Any, Literal

from minibatch.engine.headers import header_of
from minibatch.engine.loop import Engine
from minibatch.engine.recorder import Recorder
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.engine.summary_recorder import SummaryRecorder
from minibatch.recording.run_summary import RunSummary
from minibatch.recording.schema import Recording
from minibatch.roofline.ceilings import Ceilings, check_memory
from minibatch.roofline.costs import ModelShape
from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.demand import Demand, Load

Backend = Literal["processes", "dask", "ray"]
BACKENDS: tuple[Backend, ...] = ("processes", "dask", "ray")
_AHEAD = 2  # points handed out for each worker: so few that a sweep can be cancelled, enough to keep all busy


@dataclass(frozen=True, slots=True)
class SweepSpec:
    """What all points of a sweep share.

    Raises:
        ValueError: the model can't be on that device, or has no room for a request.
    """

    demand: Demand
    shape: ModelShape
    ceilings: Ceilings
    model: str
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a sweep."""

    policy: str
    load: Load
    config: SchedulerConfig

    def check(self, spec: SweepSpec) -> None:
        """ValueError, with what to do, where the point can't be run."""
        find_policy(self.policy)
        if self.config.max_model_len > spec.shape.n_positions:
            raise ValueError(
                f'max_model_len is {self.config.max_model_len} and model "{spec.model}" reads at most '
                f"{spec.shape.n_positions} tokens: use {spec.shape.n_positions} or less"
            )
        check_memory(spec.ceilings, spec.shape, self.config, spec.model)
        RooflineExecutor(spec.shape, spec.ceilings)


def run_point(spec: SweepSpec, point: Point) -> RunSummary:
    """What the run comes to; the same bit for bit wherever and whenever it runs."""
    tally = SummaryRecorder(point.config.num_kv_blocks, spec.ceilings.ridge)
    with _no_collector():
        engine = engine_of(spec, point, tally)
        engine.run()
    return tally.outcome(engine.is_done)


@contextmanager
def _no_collector() -> Iterator[None]:
    """Without the garbage collector: a run leaves no cycles, and looking for them among its requests takes time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def record_point(spec: SweepSpec, point: Point) -> Recording:
    """The same run with all its iterations, for the player."""
    recorder = Recorder()
    engine = engine_of(spec, point, recorder)
    engine.run()
    header = header_of(
        engine,
        spec.ceilings,
        model=spec.model,
        scenario=spec.demand.words_at(point.load),
        seed=spec.seed,
        loop=point.load.closed_loop,
    )
    return engine.recording(header)


def run_points(
    spec: SweepSpec,
    points: Iterable[Point],
    executor: Executor,
    num_workers: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Point, RunSummary]]:
    """Every point with its outcome, in the order in which they are done.

    After `should_stop()` no more points are begun, and those that have begun are waited for.
    """
    waiting = iter(points)
    running: dict[Future[RunSummary], Point] = {}
    while True:
        if not should_stop():
            for point in islice(waiting, _AHEAD * num_workers - len(running)):
                running[executor.submit(run_point, spec, point)] = point
        if not running:
            return
        done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
        for future in [each for each in running if each in done]:  # as they began: `done` has no order
            yield running.pop(future), future.result()


@contextmanager
def executor_of(backend: Backend, num_workers: int) -> Iterator[Executor]:
    """Something that runs points: processes of this machine, or a local cluster of Dask or Ray.

    Raises:
        ValueError: Dask or Ray is not installed.
    """
    if backend == "processes":
        # Not forked: the caller may hold threads, of Streamlit or of torch.
        with ProcessPoolExecutor(num_workers, mp_context=get_context("spawn")) as executor:
            yield executor
    elif backend == "dask":
        with _dask(num_workers) as executor:
            yield executor
    else:
        with _ray(num_workers) as executor:
            yield executor


@contextmanager
def _dask(num_workers: int) -> Iterator[Executor]:
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        raise ValueError('Dask is not installed: pip install "distributed"') from None
    with (
        LocalCluster(n_workers=num_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor()


@contextmanager
def _ray(num_workers: int) -> Iterator[Executor]:
    try:
        import ray
        from ray.util.multiprocessing import Pool
    except ModuleNotFoundError:
        raise ValueError('Ray is not installed: pip install "ray"') from None
    ray.init(num_cpus=num_workers, include_dashboard=False, log_to_driver=False)
    try:
        yield _PoolExecutor(Pool(num_workers))
    finally:
        ray.shutdown()


class _PoolExecutor(Executor):
    """A pool with the interface of multiprocessing's, as an executor of `concurrent.futures`."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        self._pool.apply_async(fn, args, kwargs, callback=future.set_result, error_callback=future.set_exception)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.close()


def engine_of(spec: SweepSpec, point: Point, recorder: Recorder | SummaryRecorder, fast_forward: bool = True) -> Engine:
    """An engine about to run a point."""
    return Engine(
        arrival_source(spec.demand.requests(point.load, spec.seed), point.load.closed_loop),
        find_policy(point.policy),
        RooflineExecutor(spec.shape, spec.ceilings, block_size=point.config.block_size),
        point.config,
        spec.shape,
        check=False,
        fast_forward=fast_forward,
        recorder=recorder,
    )


def knob_value(name: str, text: str) -> Any:
    """The value of a knob as typed; ValueError says what it must be."""
    default = getattr(SchedulerConfig(), name)
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise ValueError(f"{name} is {text!r}: use true or false")
        return text == "true"
    try:
        return type(default)(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}: use a number") from None


def with_knob(point: Point, name: str, value: Any) -> Point:
    """The point with one knob turned; ValueError as `SchedulerConfig`."""
    return replace(point, config=replace(point.config, **{name: value}))
