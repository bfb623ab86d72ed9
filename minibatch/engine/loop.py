"""The loop: schedule, execute, record, commit, until every request has finished."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import perf_counter_ns

from minibatch.engine.aborts import AbortQueue, Aborts
from minibatch.engine.executor import Executor, Result, RunResult
from minibatch.engine.recorder import Recorder
from minibatch.engine.roofline_executor import PLACEHOLDER_TOKEN, RooflineExecutor
from minibatch.engine.run_clock import JumpingClock, RunClock
from minibatch.engine.summary_recorder import SummaryRecorder
from minibatch.model.text import Tokenizer, pieces
from minibatch.recording.schema import Header, Recording
from minibatch.roofline.costs import ModelShape, count
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.decode_fast_forward import decode_run
from minibatch.scheduling.invariants import check_plan, check_state
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PolicyError
from minibatch.scheduling.policy import Policy, rules_of
from minibatch.scheduling.policy_switch import switch_policy
from minibatch.scheduling.request_state import RequestState
from minibatch.scheduling.state import SchedulerState
from minibatch.workload.arrival_source import ArrivalSource
from minibatch.workload.request import Request

Finished = Sequence[tuple[RequestState, list[int]]]
"""The requests that finished with an iteration, and the KV blocks that each gave back."""


class Engine:
    """Serves what a source sends under one policy and records it.

    On a `JumpingClock` the time advances by each iteration's duration and jumps over that in which
    nothing can run, so a replay never sleeps. With an executor that measures, an iteration lasts as
    long as the executor and the scheduler really took; time spent in the caller between two steps is
    not counted. On a `WallClock` it is, and idle time passes until a request arrives.

    One thread steps the engine. Others may call `abort`, and fill a source that allows it.

    Attributes:
        num_arrived: requests that have arrived.
        num_finished: requests that have finished, rejected ones included.
        fast_forward: on the roofline model, take iterations that repeat at once; what is recorded
            is the same. Not on the wall clock, where iterations end when they end.
        check: verify the scheduler's invariants at every iteration; the clock doesn't run meanwhile.
    """

    def __init__(
        self,
        source: ArrivalSource,
        policy: Policy,
        executor: Executor,
        config: SchedulerConfig,
        shape: ModelShape,
        eos_token_id: int | None = None,
        check: bool = True,
        fast_forward: bool = False,
        recorder: Recorder | SummaryRecorder | None = None,
        clock: RunClock | None = None,
        aborts: Aborts | None = None,
    ) -> None:
        self.policy = policy
        self.executor = executor
        self.shape = shape
        self.check = check
        self.state = SchedulerState(config, policy.hold_slots, eos_token_id, rules_of(policy))
        self.clock = JumpingClock() if clock is None else clock
        self.fast_forward = fast_forward and not self.clock.is_wall
        self.recorder = Recorder() if recorder is None else recorder
        self.num_arrived = 0
        self.num_finished = 0
        self._source = source
        self._aborts = AbortQueue() if aborts is None else aborts
        self._host_ns = 0

    @property
    def requests(self) -> Sequence[RequestState]:
        """Progress of every request that has arrived, in order of id; empty with a summary recorder."""
        return self.recorder.requests

    @property
    def pending(self) -> Sequence[Request]:
        """Requests known and still to arrive, in order."""
        return self._source.pending

    @property
    def num_requests(self) -> int:
        """Requests known so far, arrived or not."""
        return self._source.num_requests

    def step(self) -> Plan | None:
        """Run one iteration, or with `fast_forward` those that repeat it as well, and return its plan.

        None when all requests have finished.

        A plan with an empty batch ran nothing: the clock jumped to when something may run.
        """
        entered = perf_counter_ns()
        self._arrive()
        self._leave()
        while not self.state.has_work:
            if self.is_done:
                return None
            self._wait(None)
            self._arrive()
            self._leave()
        plan = self.policy.schedule(self.state)
        for reason in plan.reasons:
            self.recorder.note(reason)
        if plan.num_seqs:
            self._host_ns += perf_counter_ns() - entered
            if self.check:
                check_plan(plan, self.state)
            result = self.executor.execute(plan)
            resumed = perf_counter_ns()
            finished: Finished | None = self._finish_iteration(plan, result)
            self._host_ns += perf_counter_ns() - resumed
            while finished is not None:
                if self.check:
                    gone = [request for request, _ in finished]
                    check_state(self.state, [*self.state.running, *self.state.swapped, *gone])
                finished = self._repeat(plan) if self.fast_forward else None
        else:
            self._jump(plan)
        return plan

    def run(
        self,
        on_step: Callable[[Engine, Plan], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> bool:
        """Step to the end, or until `should_stop()`, asked between steps. Returns whether all requests finished.

        Idle on the wall clock, the end comes when the source is closed.
        """
        while should_stop is None or not should_stop():
            plan = self.step()
            if plan is None:
                return True
            if on_step is not None:
                on_step(self, plan)
        return self.is_done

    def abort(self, request_id: int) -> None:
        """Let a request go between two iterations: its client has left. Any thread may call this.

        It gives back its blocks and its slot. One that the source has yet to hand out goes when it
        arrives; without effect where there is no such request, or it has finished.
        """
        if 0 <= request_id < self._source.num_requests:
            self._aborts.put(request_id)
            self.clock.wake()

    def change(
        self, policy: Policy | None = None, config: SchedulerConfig | None = None, executor: Executor | None = None
    ) -> None:
        """Go on from here under another policy, with other knobs or on another executor; None keeps what there is.

        Raises:
            ValueError: as `SchedulerState.change`.
        """
        chosen = self.policy if policy is None else switch_policy(policy, self.state)
        self.state.change(self.state.config if config is None else config, chosen.hold_slots, rules_of(chosen))
        self.policy = chosen
        self.executor = self.executor if executor is None else executor

    def recording(self, header: Header, tokenizer: Tokenizer | None = None) -> Recording:
        """Everything recorded so far; with a tokenizer, the generated text as well."""
        if not isinstance(self.recorder, Recorder):
            raise TypeError("this run's iterations are not recorded: ask its tally for the outcome")
        states = [*self.requests, *(RequestState(request) for request in self._source.pending)]
        texts = [pieces(tokenizer, r.output_token_ids) if tokenizer else [] for r in states]
        return self.recorder.recording(header, states, texts, self.is_done)

    @property
    def is_done(self) -> bool:
        # In this order: a source that is closed has nothing more to come behind what is pending.
        return not self.state.has_work and not self._source.is_open and not self._source.pending

    def _arrive(self) -> None:
        while (arrived := self._source.pop_arrived(self.state.now_ns)) is not None:
            request, reason = self.state.arrive(arrived)
            self.recorder.arrive(request)
            self.num_arrived += 1
            if request.finish_reason is not None:
                self.num_finished += 1
                self._source.on_finished(arrived.arrival_ns)
            self.recorder.note(reason)

    def _leave(self) -> None:
        """Let those go whose clients have left."""
        while self._aborts.has_any() and (due := self._aborts.take(self.num_arrived)):
            for request_id in due:
                if (gone := self.state.abort(request_id)) is None:
                    continue
                request, blocks = gone
                self.executor.forget(request_id)
                self.recorder.abort(request, blocks, self.state.now_ns)
                self.num_finished += 1
                self._source.on_finished(self.state.now_ns)
                if self.check:
                    check_state(self.state, [*self.state.running, *self.state.swapped, request])

    def _finish_iteration(self, plan: Plan, result: Result) -> Finished:
        """Record and commit."""
        duration_ns = result.duration_ns + result.host_ns
        if self.executor.clock == "measured":
            duration_ns += self._host_ns
            self._host_ns = 0
        if self.clock.is_wall:
            duration_ns = self.clock.end_of(self.state.now_ns, result.duration_ns) - self.state.now_ns
        costs = result.costs or count(plan.seqs, self.shape)
        self.recorder.append(plan, result, self.state.now_ns, duration_ns, costs)
        finished = self.state.commit(plan, result.token_ids)
        self._let_go(finished, self.state.now_ns + duration_ns)
        return finished

    def _repeat(self, latest: Plan) -> Finished | None:
        """Fast-forward the iterations after `latest` that the policy would decide alike; None where there are none.

        scheduling/decode_fast_forward.py explains it.
        """
        if self._aborts.has_any():
            return None
        exact = self.recorder.is_exact
        # An arrival behind a queue changes nothing before its head does, but what is noted.
        next_ns = self._source.next_ns if exact or not self.state.waiting else None
        if next_ns is not None and next_ns <= self.state.now_ns:
            return None
        run = decode_run(self.policy, self.state, latest, exact)
        if run is None or not isinstance(self.executor, RooflineExecutor):
            return None
        kind = self.executor.decode_cost_of(run.num_seqs, len(run.decodes), run.num_seqs)
        contexts = run.contexts()
        # An iteration that has begun before a request arrives is not disturbed.
        durations, starts = kind.run(contexts, self.state.now_ns, math.inf if next_ns is None else next_ns)
        run.cut(len(durations), told=latest if exact else None)
        num_steps = run.num_steps
        if not num_steps:
            return None
        del durations[num_steps:], starts[num_steps:]
        end_ns = starts[-1] + durations[-1]
        result = RunResult(durations, starts, end_ns, kind, contexts[:num_steps], PLACEHOLDER_TOKEN)
        self.recorder.append_run(run, result)
        taken, finished = run.commit(PLACEHOLDER_TOKEN)
        self.recorder.take(run, result, taken)
        self._let_go(finished, end_ns)
        return finished

    def _let_go(self, finished: Finished, end_ns: int) -> None:
        """Record the requests that finished with the iteration that ends at `end_ns`, and go there."""
        for request, blocks in finished:
            self.recorder.finish(request, blocks)
        self.num_finished += len(finished)
        self.state.now_ns = end_ns
        for _ in finished:
            self._source.on_finished(end_ns)

    def _jump(self, plan: Plan) -> None:
        """Move the clock to the next time at which the policy may decide otherwise."""
        next_ns, now_ns = self._source.next_ns, self.state.now_ns
        is_late = plan.wake_ns is not None and plan.wake_ns <= now_ns
        # On the wall clock it may have come since the policy was asked.
        is_overlooked = next_ns is not None and next_ns <= now_ns and not self.clock.is_wall
        is_stuck = next_ns is None and plan.wake_ns is None and not self._source.is_open
        if plan.admitted or plan.preempted or is_late or is_overlooked or is_stuck:
            raise PolicyError(
                f"policy {self.policy.name!r} runs nothing at {self.state.now_ns} ns although "
                f"{len(self.state.waiting)} requests wait, and would never run anything again"
            )
        self._leave()
        # Who leaves meanwhile is no reason to ask the policy again.
        while self.state.has_work and not self._wait(plan.wake_ns):
            self._leave()

    def _wait(self, wake_ns: int | None) -> bool:
        """Let the time pass until the next arrival or `wake_ns`; False if woken before.

        What is served then was begun at that time, not when the thread woke up to see it.
        """
        self.clock.wait(self._next_ns(wake_ns))
        next_ns = self._next_ns(wake_ns)
        if next_ns is not None and self.clock.has_reached(next_ns):
            self.state.now_ns = max(self.state.now_ns, next_ns)
            return True
        return False

    def _next_ns(self, wake_ns: int | None) -> int | None:
        return min((time for time in (self._source.next_ns, wake_ns) if time is not None), default=None)
