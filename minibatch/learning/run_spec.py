"""What a lesson serves: a bundled recording, or a modelled run by its requests, policies and knobs."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from minibatch.paths import RECORDINGS
from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.scenarios import find_scenario

SOURCES = ("recording", "scenario", "requests", "traffic")
_SETTINGS = ("policies", "accelerator", "model", "devices", "knobs", "seed")
_TRAFFIC = ("num_requests", "arrivals", "prompt_lengths", "output_lengths", "users", "think_s")
_KNOBS = tuple(knob.name for knob in fields(SchedulerConfig))
_MOST_REQUESTS = 2000
_SLOTS = 16
"""As many as can be told apart on a screen."""
_POOL = 4096
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
    _only(spec.get("knobs", {}), _KNOBS, "knobs")
    _only(spec.get("traffic", {}), _TRAFFIC, "traffic")
    for policy in spec.get("policies", ()):
        if policy not in POLICIES:
            raise ValueError(f"there is no policy {policy!r}: use some of {', '.join(POLICIES)}")
    if "requests" in spec:
        _check_requests(spec["requests"])
    count = spec.get("traffic", {}).get("num_requests", 0)
    if not isinstance(count, int) or count > _MOST_REQUESTS:
        raise ValueError(f"num_requests is {count}: use a whole number up to {_MOST_REQUESTS:,}")


def _only(given: Any, known: tuple[str, ...], what: str) -> None:
    if not isinstance(given, Mapping):
        raise ValueError(f"{what} must be a mapping of some of {', '.join(known)}")
    for name in given:
        if name not in known:
            raise ValueError(f"{what} has no {name!r}: expected some of {', '.join(known)}")


def _check_requests(requests: Any) -> None:
    fits = isinstance(requests, list) and requests and len(requests) <= _MOST_REQUESTS
    if not fits or not all(isinstance(row, list) and len(row) == 3 for row in requests):
        raise ValueError("requests must be a list of [arrival in s, prompt tokens, output tokens]")
    for arrival, prompt, output in requests:
        if not (isinstance(arrival, int | float) and math.isfinite(arrival) and arrival >= 0):
            raise ValueError(f"an arrival is {arrival!r}: use seconds from 0")
        if not all(isinstance(tokens, int) and 0 < tokens <= 1_000_000 for tokens in (prompt, output)):
            raise ValueError(f"a request has {prompt!r} and {output!r} tokens: use whole numbers from 1 to 1,000,000")


def run_of(spec: Spec) -> tuple[Recording, ...]:
    """A recording for each policy, the same for the same spec.

    Raises:
        ValueError: the spec is none, or the engine refuses it.
    """
    check_spec(spec)
    return tuple(_run(without_policies(spec), policy) for policy in policies_of(spec))


def recording_of(spec: Spec, policy: str) -> Recording:
    """The run under one of the policies of `policies_of`."""
    return _run(without_policies(spec), policy)


def policies_of(spec: Spec) -> tuple[str, ...]:
    """The policies of a spec that `check_spec` accepts, in the order in which they are shown."""
    if "recording" in spec:
        recorded = tuple(run.header.policy for run in _bundled(spec["recording"]))
        return tuple(policy for policy in recorded if policy in spec.get("policies", recorded))
    return tuple(spec.get("policies", POLICIES))


def without_policies(spec: Spec) -> str:
    """What a run under any policy follows from, as text."""
    return json.dumps({name: value for name, value in spec.items() if name != "policies"}, sort_keys=True)


@lru_cache(maxsize=512)
def _run(spec_text: str, policy: str) -> Recording:
    spec = json.loads(spec_text)
    if "recording" in spec:
        return next(run for run in _bundled(spec["recording"]) if run.header.policy == policy)
    from minibatch.engine.session import Job, run_job

    with tempfile.TemporaryDirectory() as folder:
        settings = _workload(spec, Path(folder))
        (recording,) = run_job(Job((policy,), **settings, clock="modelled", seed=spec.get("seed", 0)))
    return recording


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
    return traffic, max(request.num_prompt_tokens + request.sampling.max_tokens for request in requests)
