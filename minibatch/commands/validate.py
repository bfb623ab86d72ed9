"""`validate`: check that recordings are whole and consistent."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from minibatch.analysis.counted_work import check_counted_work, check_modelled_times
from minibatch.analysis.ledger import request_ledger, slot_ledger
from minibatch.analysis.timeline import Timeline
from minibatch.recording.schema import Recording
from minibatch.recording.storage import RecordingError, load


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("validate", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    status = 0
    for path in options.files:
        try:
            recordings = load(path)
            for recording in recordings:
                _recount(path, recording)
        except (ValueError, OSError) as error:
            from minibatch.commands.terminal import fail

            status = fail(error)
            continue
        runs = ", ".join(f"{r.header.policy} ({r.num_iterations} iterations, {r.header.clock})" for r in recordings)
        print(f"{path}: whole, {path.stat().st_size / 1000:.0f} kB: {runs}", file=sys.stdout)
    return status


def _recount(path: Path, recording: Recording) -> None:
    try:
        check_ledgers(recording)
        check_counted_work(recording)
        check_modelled_times(recording)
    except ValueError as error:
        raise RecordingError(f"{path}: {recording.header.policy}: {error}") from error


def check_ledgers(recording: Recording) -> None:
    """Whether the ledgers of `recording` sum as they must; RecordingError if they don't."""
    timeline = Timeline(recording)
    done = timeline.completed
    total = np.sum(list(request_ledger(timeline).values()), axis=0)
    if (total[done] != (timeline.last_token_ns - timeline.arrival_ns)[done]).any():
        raise RecordingError("the ledger of a request does not sum to its E2E")
    if (np.sum(list(slot_ledger(timeline).values()), axis=0) != recording.end_ns).any():
        raise RecordingError("the ledger of a slot does not sum to the makespan")
