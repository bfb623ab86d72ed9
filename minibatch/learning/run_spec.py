"""What a lesson serves: a bundled recording, or a modelled run by its requests, policies and knobs."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from minibatch.learning.fields import short
from minibatch.paths import RECORDINGS
from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from minibatch.scheduling import DEFAULTS, POLICIES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.request import LONGEST_S
from minibatch.workload.scenarios import find_scenario

SOURCES = ("recording", "scenario", "requests", "traffic")
_SETTINGS = ("policies", "accelerator", "model", "devices", "knobs", "seed")
_TRAFFIC = ("num_requests", "arrivals", "prompt_lengths", "output_lengths", "users", "think_s")
_KNOBS: Mapping[str, type] = {name: type(value) for name, value in asdict(SchedulerConfig()).items()}
_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("recording", "scenario", "accelerator", "model"), str),
    **dict.fromkeys(("arrivals", "prompt_lengths", "output_lengths"), str),
    **dict.fromkeys(("devices", "seed", "num_requests", "users"), int), "think_s": float, **_KNOBS,
}  # fmt: skip
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_MOST_REQUESTS = 2000
_MOST_PROMPT_TOKENS = 1_000_000
_MOST_ROWS = 100_000
"""Most slots in all iterations of a run, were no request preempted: requests times the longest output."""
_MOST_PLANS = 5_000
"""Most batches that a run may plan under one policy, and a lesson's runs together: half a minute's work."""
_MOST_PLANS_TOGETHER = 60_000
_SLOTS = 16
"""As many as can be told apart on a screen."""
_POOL = 4096
_CHECKED = 2048
"""KV blocks: every plan is checked against all of the pool, so it counts once more for each so many."""
_MOST_BLOCKS = 1 << 16
_BUDGET = 512

Spec = Mapping[str, Any]


def check_spec(spec: Any) -> None:
    """Raises ValueError: `spec` is no run; one sentence says what was expected."""
    if not isinstance(spec, Mapping):
        raise ValueError("a run is a mapping, such as {recording: chat}")
    given = [name for name in SOURCES if name in spec]
    if len(given) != 1:
        raise ValueError(f"a run has exactly one of {', '.join(SOURCES)}")
    known = ("recording", "policies") if given == ["recording"] else (*given, *_SETTINGS)
    _only(spec, known, "a run of this kind")
    _only(spec.get("knobs", {}), tuple(_KNOBS), "knobs")
    _only(spec.get("traffic", {}), _TRAFFIC, "traffic")
    for name, value in {**spec, **spec.get("knobs", {}), **spec.get("traffic", {})}.items():
        if name in _KINDS and value is not None and not _is(value, _KINDS[name]):
            raise ValueError(f"{name} is {short(value)}: use {_WORDS[_KINDS[name]]}")
    policies = spec.get("policies", ["static"])
    if not isinstance(policies, list) or not policies:
        raise ValueError(f"policies are {short(policies)}: use a list of some of {', '.join(POLICIES)}")
    for policy in policies:
        if not isinstance(policy, str) or policy not in POLICIES:
            raise ValueError(f"there is no policy {short(policy)}: use some of {', '.join(POLICIES)}")
    if (blocks := spec.get("knobs", {}).get("num_kv_blocks") or 0) > _MOST_BLOCKS:
        raise ValueError(f"num_kv_blocks is {blocks:,}: use up to {_MOST_BLOCKS:,} in a lesson")
    if "requests" in spec:
        _check_requests(spec["requests"])
    count = spec.get("traffic", {}).get("num_requests") or 0
    if count > _MOST_REQUESTS:
        raise ValueError(f"num_requests is {count}: use a whole number up to {_MOST_REQUESTS:,}")


def _is(value: Any, kind: type) -> bool:
    return type(value) in ((int, float) if kind is float else (kind,))


def _only(given: Any, known: tuple[str, ...], what: str) -> None:
    if not isinstance(given, Mapping):
        raise ValueError(f"{what} must be a mapping of some of {', '.join(known)}")
    for name in given:
        if name not in known:
            raise ValueError(f"{what} has no {short(name)}: expected some of {', '.join(known)}")


def _check_requests(requests: Any) -> None:
    fits = isinstance(requests, list) and requests and len(requests) <= _MOST_REQUESTS
    if not fits or not all(isinstance(row, list) and len(row) == 3 for row in requests):
        raise ValueError("requests must be a list of [arrival in s, prompt tokens, output tokens]")
    for arrival, prompt, output in requests:
        if not (_is(arrival, float) and 0 <= arrival <= LONGEST_S):
            raise ValueError(f"an arrival is {short(arrival)}: use seconds from 0 to {LONGEST_S:,}")
        if not all(type(tokens) is int and 0 < tokens <= 1_000_000 for tokens in (prompt, output)):
            raise ValueError(
                f"a request has {short(prompt)} and {short(output)} tokens: use whole numbers from 1 to 1,000,000"
            )
    if sum(row[1] for row in requests) > _MOST_PROMPT_TOKENS:
        raise ValueError(f"the prompts have more than {_MOST_PROMPT_TOKENS:,} tokens together: use fewer or shorter")


@dataclass(slots=True)
class Work:
    """What the runs of a lesson take together, in batches planned; each run once."""

    left: int = _MOST_PLANS_TOGETHER
    _counted: set[str] = field(default_factory=set)

    def count(self, spec_text: str, plans: int) -> None:
        """ValueError where it is more than a lesson may take."""
        if spec_text not in self._counted:
            self._counted.add(spec_text)
            self.left -= plans
        if self.left < 0:
            raise ValueError(f"the runs of this lesson plan over {_MOST_PLANS_TOGETHER:,} batches: use fewer")


def run_of(spec: Spec, work: Work | None = None) -> tuple[Recording, ...]:
    """A recording for each policy, the same for the same spec.

    Args:
        work: counts what the run takes.

    Raises:
        ValueError: the spec is none, or the engine rejects it, or it is more work than a lesson may ask for.
    """
    check_spec(spec)
    return tuple(recording_of(spec, policy, work) for policy in policies_of(spec))


def recording_of(spec: Spec, policy: str, work: Work | None = None) -> Recording:
    """As `run_of`, under one of the policies of `policies_of`."""
    text = without_policies(spec)
    recording, plans = _run(text, policy)
    if work is not None:
        work.count(f"{policy} {text}", plans)
    return recording


def policies_of(spec: Spec) -> tuple[str, ...]:
    """The policies of a spec that `check_spec` accepts, in the order in which they are shown."""
    if "recording" in spec:
        recorded = tuple(run.header.policy for run in _bundled(spec["recording"]))
        return tuple(policy for policy in recorded if policy in spec.get("policies", recorded))
    return tuple(spec.get("policies", DEFAULTS))


def without_policies(spec: Spec) -> str:
    """What a run under any policy follows from, as text."""
    return json.dumps({name: value for name, value in spec.items() if name != "policies"}, sort_keys=True)


@lru_cache(maxsize=512)
def _run(spec_text: str, policy: str) -> tuple[Recording, int]:
    """The recording, and how many batches were planned."""
    spec = json.loads(spec_text)
    if "recording" in spec:
        return next(run for run in _bundled(spec["recording"]) if run.header.policy == policy), 0
    from minibatch.engine.job import Job
    from minibatch.engine.session import run_job

    left = _MOST_PLANS
    each = 1

    def is_too_long() -> bool:
        nonlocal left
        left -= each
        return left < 0

    with tempfile.TemporaryDirectory() as folder:
        settings = _workload(spec, Path(folder))
        each += settings["config"].num_kv_blocks // _CHECKED
        job = Job((policy,), **settings, clock="modelled", seed=spec.get("seed", 0))
        runs = run_job(job, should_stop=is_too_long)
    if left < 0:
        raise ValueError(f"the run plans over {_MOST_PLANS:,} batches: use fewer or shorter requests, or more slots")
    return runs[0], _MOST_PLANS - left


@lru_cache(maxsize=16)
def _bundled(name: str) -> list[Recording]:
    return load(bundled_file(name))


def bundled_file(name: str) -> Path:
    """The file of a bundled recording. ValueError: there is none of that name."""
    found = sorted(path.stem for path in RECORDINGS.glob("*.mbr"))
    if name not in found:
        raise ValueError(f"there is no recording {name!r}: use one of {', '.join(found)}")
    return RECORDINGS / f"{name}.mbr"


def _workload(spec: Spec, folder: Path) -> dict[str, Any]:
    """The fields of the `Job`, but for its policy."""
    from minibatch.analysis.registry.modelled import elsewhere

    model = spec.get("model", "llama-3.1-8b")
    machine = elsewhere(model, spec.get("accelerator", "H100"), spec.get("devices", 1))
    own: dict[str, Any] = {}
    settings: dict[str, Any] = {"model": model, **machine}
    if "scenario" in spec:
        own = dict(find_scenario(spec["scenario"]).knobs)
        settings["scenario"] = spec["scenario"]
        longest = SchedulerConfig().max_model_len
    else:
        settings["traffic"], longest = _traffic(spec, folder)
        own["max_num_seqs"] = _SLOTS
    return settings | {"config": _config(own | spec.get("knobs", {}), longest)}


def _config(knobs: dict[str, Any], longest: int) -> SchedulerConfig:
    """The knobs given; for the rest a pool that the slots can fill."""
    chosen = {"max_model_len": longest, "max_num_batched_tokens": _BUDGET, **knobs}
    slots = chosen.get("max_num_seqs", SchedulerConfig().max_num_seqs)
    size = chosen.get("block_size", SchedulerConfig().block_size)
    chosen.setdefault("num_kv_blocks", min(_POOL, slots * math.ceil(chosen["max_model_len"] / size)))
    return SchedulerConfig(**chosen)


def _traffic(spec: Spec, folder: Path) -> tuple[Any, int]:
    """The traffic, and the most tokens that one of its requests has."""
    from minibatch.workload.traffic import Traffic

    if "requests" in spec:
        rows = [
            f"{arrival},{prompt},{output}" for arrival, prompt, output in sorted(spec["requests"], key=itemgetter(0))
        ]
        path = folder / "requests.csv"
        path.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n", encoding="utf-8")
        traffic = Traffic(trace=path, num_requests=len(rows))
    else:
        given = dict(spec["traffic"])
        given["num_users"] = given.pop("users", None)
        traffic = Traffic(**given)
    requests, _ = traffic.load(spec.get("seed", 0), 50_000)
    longest, prompts = max(r.sampling.max_tokens for r in requests), sum(r.num_prompt_tokens for r in requests)
    if longest * len(requests) > _MOST_ROWS or prompts > _MOST_PROMPT_TOKENS:
        raise ValueError(
            f"{len(requests):,} requests, of which the longest writes {longest:,} tokens and all read {prompts:,}, are "
            f"too many for a lesson: use up to {_MOST_ROWS:,} (requests x longest) and {_MOST_PROMPT_TOKENS:,}"
        )
    return traffic, max(request.num_prompt_tokens + request.sampling.max_tokens for request in requests)
