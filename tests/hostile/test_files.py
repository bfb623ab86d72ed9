"""Ten thousand hostile files: each is used or ends in one sentence, in 2 s of CPU time and 500 MB; see `worker`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minibatch.__main__ import main
from minibatch.learning.check import check_lessons
from minibatch.reading.files import read_file
from minibatch.recording.storage import load
from minibatch.workload.traces import read_trace
from tests.hostile.kinds import KINDS

ROOT = Path(__file__).parents[2]
COUNTS = {"recordings": 1200, "lessons": 500, "traces": 5000, "requests": 3300}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_file_is_used_or_ends_in_one_sentence(kind: str, tmp_path: Path) -> None:
    count = COUNTS[kind]
    command = [sys.executable, "-m", "tests.hostile.worker", kind, str(count), str(count), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert lines[:-1] == [], "\n".join(lines[:5])
    assert 0 < json.loads(lines[-1])["used"] < count


@pytest.mark.parametrize("place", ["/dev/zero", "a pipe", "a folder"])
def test_what_is_no_file_is_neither_waited_for_nor_read(place: str, tmp_path: Path) -> None:
    path = tmp_path / "tiny" / "lesson.md"
    path.parent.mkdir()
    if place == "a pipe":
        import os

        os.mkfifo(path)
    elif place == "a folder":
        path.mkdir()
    else:
        path.symlink_to(place)
    for read in (load, lambda path: read_file(path, 10), read_trace):
        with pytest.raises((OSError, ValueError), match=r"folder|device or a pipe|directory"):
            read(path)
    ((_, problems),) = check_lessons(tmp_path)
    assert [("folder" in each.expected) or ("pipe" in each.expected) for each in problems] == [True]


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate", "FILE"],
        ["show", "FILE"],
        ["export", "FILE", "--to", "perfetto"],
        ["compare", "--trace", "FILE", "--clock", "modelled"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("content", [b"[" * 10**6, b"\x00" * 10**6, b"MINIBATCH-RECORDING 2\nx", b""])
def test_commands_end_with_one_sentence(
    arguments: list[str], content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(content)
    assert main([str(path) if argument == "FILE" else argument for argument in arguments]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("minibatch: error: ")
