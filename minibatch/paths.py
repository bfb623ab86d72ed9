"""Where the files that ship with Minibatch lie."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ASSETS = ROOT / "assets"
LESSONS = ROOT / "lessons"
RECORDINGS = ASSETS / "recordings"
REGISTRY = ASSETS / "registry"
VALUES = ASSETS / "values"
