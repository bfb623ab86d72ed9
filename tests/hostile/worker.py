"""Reads hostile files of one kind in a process of its own: python -m tests.hostile.worker KIND COUNT SEED FOLDER.

Prints a line of JSON for each file that came to something else than use or one sentence, and then the totals.
"""

from __future__ import annotations

import json
import math
import random
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

from tests.hostile.kinds import KINDS

MOST_S = 2.0
"""CPU time of a file."""
MOST_BYTES = 500_000_000
"""Memory of all files beyond that of the program."""


class TooLong(BaseException):
    """A file that takes more CPU time than it may; no reader catches it."""


def main(name: str, count: int, seed: int, folder: Path) -> None:
    kind, rng = KINDS[name](), random.Random(seed)
    path = folder / f"hostile{kind.suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGVTALRM, _too_long)
    for data in kind.seeds():
        outcome, _ = _try(kind, path, data, math.inf)  # whatever is loaded at first use
        if outcome != "used":
            raise SystemExit(f"a sound file of {name} is not used: {outcome}")
    before = _memory()
    resource.setrlimit(resource.RLIMIT_DATA, (before + MOST_BYTES, resource.RLIM_INFINITY))
    used, slowest = 0, (0.0, "")
    for what, data in _files(kind, count, rng):
        outcome, seconds = _try(kind, path, data)
        used += outcome == "used"
        slowest = max(slowest, (seconds, what))
        if outcome not in ("used", "sentence"):
            print(json.dumps({"file": what, "begins": repr(data[:200]), "outcome": outcome}), flush=True)
    print(json.dumps({"used": used, "slowest": slowest}), flush=True)


def _files(kind: Any, count: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    for number, data in enumerate(kind.nasty()):
        yield f"shape {number}", data
    for number in range(count):
        yield f"mutation {number}", kind.mutated(rng)


def _try(kind: Any, path: Path, data: bytes, most_s: float = MOST_S) -> tuple[str, float]:
    """What reading a file came to: "used", "sentence", or what is wrong; and the CPU time."""
    path.write_bytes(data)
    start = process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0 if most_s == math.inf else most_s)
        try:
            kind.use(path)
            outcome = "used"
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except (ValueError, OSError) as error:
        sentence = str(error)
        is_one = 0 < len(sentence) < 1000 and "Traceback" not in sentence and isinstance(error, kind.errors)
        outcome = "sentence" if is_one else f"no sentence: {type(error).__name__} {sentence[:300]}"
    except TooLong:
        outcome = f"more than {MOST_S} s: {traceback.format_exc()[-600:]}"
    except BaseException:
        outcome = traceback.format_exc()[-900:]
    return outcome, process_time() - start


def _too_long(number: int, frame: Any) -> None:
    raise TooLong


def _memory() -> int:
    """Bytes of data that this process has, as RLIMIT_DATA counts them."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.partition("VmData:")[2].split()[0])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
