"""What lessons and the interview room show of runs, computed beforehand and shipped with the product.

`python -m minibatch lesson values` runs everything that they show and writes `VALUES`: metrics as JSON, and the
recordings that players show. A run that is not there, such as that of a lesson being written, is computed when it
is shown. Entries are found by what a run follows from; a test runs all of them again and compares.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

from minibatch.analysis.metrics import Metrics, compute_metrics
from minibatch.learning.run_spec import Spec, Work, bundled_file, recording_of, without_policies
from minibatch.paths import VALUES
from minibatch.recording.schema import Recording
from minibatch.recording.storage import RecordingError, dumps, load, write_atomically

METRICS = "metrics.json"
_KEY = 16

Entry = tuple[str, Metrics]
"""The word for a run's clock, and its metrics by name."""


@dataclass(slots=True)
class Asked:
    """What was asked of runs: metrics by the keys of run and policy, recordings by those of run, and policy."""

    metrics: dict[str, dict[str, Entry]] = field(default_factory=dict)
    recordings: dict[str, dict[str, Recording]] = field(default_factory=dict)

    def files(self) -> dict[str, bytes]:
        """The files of `VALUES`, by name."""
        names = list(
            dict.fromkeys(name for of in self.metrics.values() for _, metrics in of.values() for name in metrics)
        )
        rows = [
            f"{json.dumps(key)}: "
            + json.dumps({policy: [clock, *map(metrics.get, names)] for policy, (clock, metrics) in sorted(of.items())})
            for key, of in sorted(self.metrics.items())
        ]
        text = f'{{"metrics": {json.dumps(names)},\n"runs": {{\n' + ",\n".join(rows) + "\n}}\n"
        found = {
            f"{key}.mbr": dumps([_without_prompts(of[policy]) for policy in sorted(of)])
            for key, of in self.recordings.items()
        }
        return {METRICS: text.encode(), **found}


_ASKED: ContextVar[Asked | None] = ContextVar("asked", default=None)


@contextmanager
def computing() -> Iterator[Asked]:
    """Within, everything is computed anew, and kept in what this gives."""
    asked = Asked()
    token = _ASKED.set(asked)
    try:
        yield asked
    finally:
        _ASKED.reset(token)


def metrics(spec: Spec, policy: str, work: Work | None = None) -> tuple[Metrics, str]:
    """Every metric of a run under one of its policies, and the word for its clock.

    Args:
        work: counts what a run takes that is not there yet.

    Raises:
        ValueError: the engine rejects the run, or it is more work than a lesson may ask for.
    """
    key, asked = _key(spec), _ASKED.get()
    found = _shipped().get(key, {}).get(policy) if asked is None else None
    if found is None:
        recording_of(spec, policy, work)  # counts, and is kept for what follows
        found = _computed(without_policies(spec), policy)
    clock, values = found
    if asked is not None:
        asked.metrics.setdefault(key, {})[policy] = clock, values
    return values, clock


def recording(spec: Spec, policy: str, work: Work | None = None) -> Recording:
    """A run under one of its policies. Raises ValueError, as `metrics`."""
    asked, key = _ASKED.get(), _key(spec)
    if "recording" in spec:
        return recording_of(spec, policy, work)
    if asked is None:
        return _shipped_recordings(key).get(policy) or recording_of(spec, policy, work)
    return asked.recordings.setdefault(key, {}).setdefault(policy, recording_of(spec, policy, work))


def write_values(asked: Asked, folder: Path = VALUES) -> int:
    """Write what was asked, remove the recordings of an earlier time, and return how many bytes there are."""
    folder.mkdir(parents=True, exist_ok=True)
    files = asked.files()
    for name, data in files.items():
        write_atomically(folder / name, data)
    for path in folder.glob("*.mbr"):
        if path.name not in files:
            path.unlink()
    return sum(map(len, files.values()))


def _without_prompts(run: Recording) -> Recording:
    """The run with zeros for its prompts' tokens: they are random, nothing shows them, and they fill the file."""
    requests = (replace(each, prompt_token_ids=(0,) * len(each.prompt_token_ids)) for each in run.requests)
    return replace(run, requests=tuple(requests))


@lru_cache(maxsize=512)
def _computed(spec_text: str, policy: str) -> Entry:
    run = recording_of(json.loads(spec_text), policy)
    return run.header.clock, {**compute_metrics(run), "num_iterations": run.num_iterations}


def _key(spec: Spec) -> str:
    """Of what a run follows from: its spec, or the file that holds it."""
    given = bundled_file(spec["recording"]).read_bytes() if "recording" in spec else without_policies(spec).encode()
    return hashlib.sha256(given).hexdigest()[:_KEY]


def read_metrics(folder: Path) -> dict[str, dict[str, Entry]]:
    """The metrics of a folder, by key and policy; none where it holds no file of them."""
    try:
        stored = json.loads((folder / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not shipped: everything is computed
        return {}
    names = stored["metrics"]
    return {
        key: {policy: (clock, dict(zip(names, values, strict=True))) for policy, (clock, *values) in of.items()}
        for key, of in stored["runs"].items()
    }


@cache
def _shipped() -> dict[str, dict[str, Entry]]:
    return read_metrics(VALUES)


@lru_cache(maxsize=128)
def _shipped_recordings(key: str) -> dict[str, Recording]:
    try:
        return {run.header.policy: run for run in load(VALUES / f"{key}.mbr")}
    except (OSError, RecordingError):
        return {}
