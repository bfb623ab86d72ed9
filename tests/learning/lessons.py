"""Small lessons for tests."""

from __future__ import annotations

from pathlib import Path

FRONT = """---
id: tiny
title: A tiny lesson
minutes: 3
goals: [Say who is done first]
runs:
  two:
    requests: [[0, 64, 4], [0, 64, 16], [0, 64, 4]]
    policies: [static, continuous]
    knobs: {max_num_seqs: 2}
---
"""


def write_lesson(root: Path, body: str, name: str = "tiny", front: str = FRONT) -> Path:
    """A lesson's file below `root`."""
    path = root / name / "lesson.md"
    path.parent.mkdir(parents=True)
    path.write_text(front + body, encoding="utf-8")
    return path
