"""SGLang: a step prefills or decodes, and prefills where it can; admissions bet on how much will be generated.

After `python/sglang/srt/managers/scheduler.py`, `get_next_batch_to_run`, and `schedule_policy.py`, `PrefillAdder`.
A long prompt's chunks run one after the other, and every decode waits for all of them. When the bet is lost, those
that have generated least are retracted, and later admissions are more careful.
"""

from __future__ import annotations

from dataclasses import dataclass

from minibatch.decisions.reasons import Code
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.kv_pool import blocks_for
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.request_state import RequestState
from minibatch.scheduling.rules import Admits, Returns, Rules, Shortage, Step, Victim, Watermark
from minibatch.scheduling.state import SchedulerState

CLIPPED = 4096
"""Most tokens of a request that an estimate counts as still to be generated."""
FIRST_RATIO, LEAST_SHARE, DECAY_STEPS, RETRACT_STEPS = 0.7, 0.14, 600, 20
"""The share of max_tokens that is expected at first, the part of it that is expected least, the decodes in which the
one becomes the other, and the tokens that each running request is given after a retraction."""


@dataclass(frozen=True, slots=True)
class Bet:
    """What SGLang remembers from step to step.

    Attributes:
        ratio: the share of their caps that running requests are expected to generate.
        is_full: nobody enters until a request has finished or was retracted.
        num_running: after the step that this was remembered in.
    """

    ratio: float
    is_full: bool = False
    num_running: int = 0


class SGLang:
    name = "sglang"
    summary = "prefills before decodes, in chunks"
    hold_slots = False
    repeats_decodes = True
    rules = Rules(
        step=Step.EITHER,
        admits=Admits.ESTIMATED,
        shortage=Shortage.NEXT_OF_ALL,
        victim=Victim.FEWEST_OUTPUTS,
        returns=Returns.TAIL,
        watermark=Watermark.NEVER,
        pages_kept=3,  # one of its own, and what rounding costs
    )

    def token_budget(self, config: SchedulerConfig) -> int:
        """Its `chunked_prefill_size`; a batch of decodes has no limit but the slots, which are fewer."""
        return config.max_num_batched_tokens

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        bet = self._bet(state)
        if state.config.mix_prefill:
            bet = self._retract(builder, bet)
            self._decode(builder)
        is_full = self._prefill(builder, bet)
        if not state.config.mix_prefill and builder.budget_left == builder.token_budget:
            bet = self._retract(builder, bet)
            self._decode(builder)
        return builder.plan(memory=Bet(bet.ratio, is_full and bool(builder.running), len(builder.running)))

    def _prefill(self, builder: PlanBuilder, bet: Bet) -> bool:
        """The prompt in progress, then newcomers while the estimate allows; whether memory was full."""
        for request in builder.running:
            if request.is_prefilling:
                builder.run(request)
        if bet.is_full and builder.first_waiting is not None:
            self._wait(builder, builder.first_waiting, bet)
            return True
        while builder.budget_left and builder.first_waiting is not None:
            request, chunk = builder.first_waiting, builder.next_chunk
            free = builder.kv.num_free * builder.config.block_size
            if builder.state.pool.paged and self._needs(builder, request) >= free - self._expected(builder, bet):
                self._wait(builder, request, bet)
                return True
            if chunk < request.num_tokens:
                whole_pages = chunk - chunk % builder.config.block_size
                if not whole_pages and builder.budget_left < builder.token_budget:
                    break
                chunk = whole_pages or chunk
            if not builder.can_admit(chunk):
                break
            builder.prefill(builder.admit(chunk), chunk)
        return False

    def _needs(self, builder: PlanBuilder, request: RequestState) -> int:
        """Tokens that a newcomer counts for: in full."""
        return request.num_tokens + _still(request) + builder.config.block_size

    def _expected(self, builder: PlanBuilder, bet: Bet) -> float:
        """Tokens that the running are expected to generate."""
        return sum(_still(each) for each in builder.running) * bet.ratio

    def _wait(self, builder: PlanBuilder, request: RequestState, bet: Bet) -> None:
        size = builder.config.block_size
        needs, kept = blocks_for(self._needs(builder, request), size), int(self._expected(builder, bet)) // size
        builder.wait(Code.WAITS_RESERVED, needs=needs, free=builder.kv.num_free, kept=kept)

    def decodes_again(self, state: SchedulerState, latest: Plan, exact: bool) -> bool:
        """While nobody waits, or the batch is marked full; what the running are expected to generate changes."""
        is_full = isinstance(state.memory, Bet) and state.memory.is_full and not exact
        return not latest.held and (
            not state.waiting or (is_full and len(latest.decodes.requests) == len(state.running))
        )

    def memory_after(self, state: SchedulerState, num_steps: int) -> Bet:
        bet = self._bet(state)
        for _ in range(num_steps):
            bet = _decayed(bet, state.config)
        return Bet(bet.ratio, bet.is_full and bool(state.waiting), len(state.running))

    def _decode(self, builder: PlanBuilder) -> None:
        for request in list(builder.running):
            if not request.is_prefilling and builder.budget_left:
                builder.decode(request)

    def _retract(self, builder: PlanBuilder, bet: Bet) -> Bet:
        """Retract until the next token of all fits; the bet after this step."""
        decodes = [each for each in builder.running if not each.is_prefilling]
        retracted = False
        while len(decodes) > 1 and sum(_needs_block(builder, each) for each in decodes) > builder.kv.num_free:
            victim = min(decodes, key=lambda each: (len(each.output_token_ids), -each.num_prompt_tokens))
            decodes.remove(victim)
            keeper = next(each for each in decodes if _needs_block(builder, each) or len(decodes) == 1)
            builder.preempt(victim, keeper, keeper.num_computed_tokens + 1)
            retracted = True
        if not retracted:
            return _decayed(bet, builder.config)
        written = sum(len(each.output_token_ids) for each in decodes) + RETRACT_STEPS * len(decodes)
        caps = sum(each.request.sampling.max_tokens for each in decodes) + 1
        return Bet(min(1.0, written / caps))

    def _bet(self, state: SchedulerState) -> Bet:
        """What was remembered; an idle server begins anew, and who has left makes room."""
        if not isinstance(state.memory, Bet) or not state.running:
            return Bet(_first_ratio(state.config))
        is_full = state.memory.is_full and len(state.running) >= state.memory.num_running
        return Bet(state.memory.ratio, is_full)


def _decayed(bet: Bet, config: SchedulerConfig) -> Bet:
    """After a step that decoded and retracted nobody."""
    first = _first_ratio(config)
    decay = first * (1 - LEAST_SHARE) / DECAY_STEPS
    return Bet(max(bet.ratio - decay, first * LEAST_SHARE), bet.is_full, bet.num_running)


def _first_ratio(config: SchedulerConfig) -> float:
    return min(FIRST_RATIO * config.schedule_conservativeness, 1.0)


def _still(request: RequestState) -> int:
    """Tokens that its client still allows it to generate, clipped."""
    return min(request.request.sampling.max_tokens - len(request.output_token_ids), CLIPPED)


def _needs_block(builder: PlanBuilder, request: RequestState) -> bool:
    return builder.kv.missing(len(request.block_table), request.num_computed_tokens + 1) > 0
