"""What a policy is, and the register of those there are."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.rules import TEACHING, Rules
from minibatch.scheduling.state import SchedulerState


class Policy(Protocol):
    """A pure decision: which requests run in the next iteration, and how many tokens each.

    Attributes:
        name: what people type and see.
        summary: a few words under the name.
        hold_slots: a finished request keeps its slot until its whole batch has finished.

    A policy may also say `repeats_decodes = True`. It promises two things: with an empty queue and no
    unfinished prompt it decodes all running requests in order, and pads finished slots that it holds if
    the knobs ask for it; and what it decided while all decoded and others waited, it decides again until a
    request arrives, finishes or finds no free KV block. Modelled runs then fast-forward such iterations.

    Where its `rules` are not the teaching ones, it says so in an attribute of that name.
    """

    name: str
    summary: str
    hold_slots: bool

    def token_budget(self, config: SchedulerConfig) -> int:
        """Most tokens that one iteration may compute."""
        ...

    def schedule(self, state: SchedulerState) -> Plan:
        """The next iteration; changes nothing. With an empty batch nothing can run before `wake_ns`."""
        ...


@runtime_checkable
class Remembers(Protocol):
    """A policy whose decisions depend on more than the queue, slots and blocks, and that repeats decodes."""

    def decodes_again(self, state: SchedulerState, latest: Plan, exact: bool) -> bool:
        """Whether it goes on as in `latest`, which was committed, until a request arrives, finishes or lacks a block.

        Args:
            exact: with the same numbers in every reason.
        """
        ...

    def memory_after(self, state: SchedulerState, num_steps: int) -> object:
        """What it remembers after so many more iterations in which all that run decode."""
        ...


POLICIES: dict[str, Policy] = {}
"""Every registered policy by name, in the order in which views show them."""


def register(policy: Policy) -> None:
    """Make a policy known to the command line and the app."""
    POLICIES[policy.name] = policy


def rules_of(policy: Policy) -> Rules:
    """The rules that a policy is put together from."""
    rules: Rules = getattr(policy, "rules", TEACHING)
    return rules


def find_policy(name: str) -> Policy:
    """The policy called `name`; ValueError names those there are."""
    if name not in POLICIES:
        raise ValueError(f"unknown policy {name!r}: choose from {', '.join(POLICIES)}")
    return POLICIES[name]
