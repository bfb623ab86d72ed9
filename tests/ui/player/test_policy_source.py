"""The lines of a policy that produce each reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from minibatch.decisions.reasons import PREEMPTIONS, Code
from minibatch.scheduling import Policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.plan import Plan
from minibatch.scheduling.plan_builder import PlanBuilder
from minibatch.scheduling.policies.continuous import Continuous
from minibatch.scheduling.state import SchedulerState
from minibatch.ui.player.policy_source import policy_sources

BUILT_IN = ("static", "dynamic", "continuous", "chunked")


def marked(policy: str, code: str) -> list[str]:
    """The marked lines of a code, without their indentation."""
    source = policy_sources({policy})[policy]
    file, numbers = source["lines"][code]
    lines = source["files"][file]["text"].splitlines()
    return [lines[number - 1].strip() for number in numbers]


def test_every_policy_with_its_files() -> None:
    sources = policy_sources({*BUILT_IN, "nobody's"})
    assert sorted(sources) == sorted(BUILT_IN)
    names = {policy: [file["name"] for file in source["files"]] for policy, source in sources.items()}
    assert names == {
        "static": ["static.py"], "dynamic": ["dynamic.py", "static.py"],
        "continuous": ["continuous.py"], "chunked": ["chunked.py"],
    }  # fmt: skip
    assert "class Chunked:" in sources["chunked"]["files"][0]["text"]


@pytest.mark.parametrize("policy", BUILT_IN)
def test_the_calls_that_decide(policy: str) -> None:
    for code in (Code.WAITS_SLOT, Code.WAITS_BLOCKS, Code.WAITS_BUDGET, Code.WAITS_PREEMPTION, Code.WAITS_SWAPPED):
        assert all("can_admit(" in line for line in marked(policy, code))
    assert all(".admit(" in line for line in marked(policy, Code.ADMITTED))
    assert all("resume()" in line for line in marked(policy, Code.RESUMED))
    assert all("decode(" in line for line in marked(policy, "decode"))
    for code in PREEMPTIONS:
        assert all("decode(" in line or "prefill(" in line for line in marked(policy, code))


def test_the_decisions_of_one_policy_alone() -> None:
    assert marked("chunked", Code.CHUNK)[-1].startswith("builder.prefill(request, min(")
    assert marked("continuous", Code.STALLED_BY_PREFILL) == ["elif not self._admit(builder):", "self._decode(builder)"]
    assert marked("static", Code.WAITS_BATCH) == ["builder.wait(Code.WAITS_BATCH, running=len(state.running))"]
    assert marked("static", "padding") == ["builder.pad(slot)", "hold_slots = True"]
    window = marked("dynamic", Code.WAITS_WINDOW)
    assert window[:2] == ["builder.wait(", "Code.WAITS_WINDOW,"]
    assert window[-1] == ")"
    assert marked("dynamic", Code.WAITS_BATCH) == marked("static", Code.WAITS_BATCH)


class Mine(Policy):
    """Somebody's own policy, of the protocol's class."""

    name = "mine"
    summary = "for this test"
    hold_slots = False

    def token_budget(self, config: SchedulerConfig) -> int:
        return config.max_num_batched_tokens

    def schedule(self, state: SchedulerState) -> Plan:
        builder = PlanBuilder(state, self.token_budget(state.config))
        if builder.can_admit():
            builder.admit()
        return builder.plan()


def test_somebodys_own_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minibatch.ui.player.policy_source.POLICIES", {"mine": Mine()})
    source = policy_sources({"mine"})["mine"]
    assert [file["name"] for file in source["files"]] == [Path(__file__).name]
    assert marked("mine", Code.ADMITTED) == ["builder.admit()"]


def test_a_policy_without_source(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = type("Typed", (), {"name": "typed", "__module__": "nowhere"})
    heir = type("Heir", (Continuous,), {"name": "heir", "__module__": "nowhere"})
    monkeypatch.setattr("minibatch.ui.player.policy_source.POLICIES", {"typed": typed(), "heir": heir()})
    sources = policy_sources({"typed", "heir"})
    assert sources["typed"] == {"files": [], "lines": {}}
    assert [file["name"] for file in sources["heir"]["files"]] == ["continuous.py"]
