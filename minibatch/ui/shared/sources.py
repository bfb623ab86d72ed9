"""Where the recordings on a page come from: bundled files, an uploaded file, a run on this machine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from minibatch.paths import RECORDINGS
from minibatch.recording.schema import Recording
from minibatch.recording.storage import RecordingError, load, loads
from minibatch.scheduling import POLICIES
from minibatch.workload.scenarios import SCENARIOS

FOLDER_VARIABLE = "MINIBATCH_RECORDINGS"
"""Environment variable that names another folder of recordings."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Recordings to compare.

    Attributes:
        key: stays the same while they do.
        name: stays the same whichever of their policies are shown, and tells a browser nothing of this machine.
    """

    key: str
    recordings: tuple[Recording, ...]
    name: str

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(recording.header.policy for recording in self.recordings)

    def only(self, policies: Sequence[str]) -> Shown:
        """The same, of some policies."""
        kept = tuple(recording for recording in self.recordings if recording.header.policy in policies)
        return Shown(f"{self.key}:{tuple(policies)}", kept, self.name)


def recordings_folder() -> Path:
    return Path(os.environ.get(FOLDER_VARIABLE) or RECORDINGS)


def bundled_files(folder: Path) -> list[Path]:
    """The recordings of a folder, those of the first scenario first."""
    order = list(SCENARIOS)
    stems = {path: path.stem for path in folder.glob("*.mbr")}

    def rank(path: Path) -> tuple[int, str]:
        places = [place for place, name in enumerate(order) if name in stems[path]]
        return (places[0] if places else len(order), stems[path])

    return sorted(stems, key=rank)


def open_file(path: Path) -> Shown:
    """A recording file. OSError or RecordingError if it can't be read."""
    modified = path.stat().st_mtime_ns
    key = f"{path}@{modified}"
    return Shown(key, _load(str(path), modified), hashlib.sha256(key.encode()).hexdigest())


def open_upload(data: bytes, name: str) -> Shown:
    """An uploaded file. RecordingError says what is wrong with it."""
    digest = hashlib.sha256(data).hexdigest()
    return Shown(digest, _parse(digest, data, name), digest)


@st.cache_resource(max_entries=32, show_spinner=False)
def _load(path: str, modified: int) -> tuple[Recording, ...]:
    return _in_order(load(Path(path)))


@st.cache_resource(max_entries=8, show_spinner=False)
def _parse(digest: str, _data: bytes, name: str) -> tuple[Recording, ...]:
    return _in_order(loads(_data, name))


def _in_order(recordings: Sequence[Recording]) -> tuple[Recording, ...]:
    """By the order of the policies; those that this program doesn't know come last.

    RecordingError if a policy comes twice: a comparison names its columns by policy.
    """
    names = [recording.header.policy for recording in recordings]
    if twice := [name for name in names if names.count(name) > 1]:
        raise RecordingError(f"it holds several runs of the policy {twice[0]!r}: this page compares one of each")
    order = list(POLICIES)

    def rank(recording: Recording) -> int:
        policy = recording.header.policy
        return order.index(policy) if policy in order else len(order)

    return tuple(sorted(recordings, key=rank))


def from_run(key: str, recordings: Sequence[Recording]) -> Shown:
    """What a run on this machine recorded."""
    return Shown(key, _in_order(recordings), key)
