"""`compare`: serve the same requests under several policies and compare the metrics."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from minibatch.analysis.metrics import compute_metrics
from minibatch.commands import options as shared
from minibatch.recording.schema import Recording
from minibatch.recording.storage import check_writable, save
from minibatch.scheduling import DEFAULTS, POLICIES, find_policy


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("compare", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("--policies", nargs="+", default=list(DEFAULTS), metavar="POLICY",
                        help=f"any of {', '.join(POLICIES)} (default: {' '.join(DEFAULTS)})")  # fmt: skip
    shared.add_workload(parser)
    shared.add_machine(parser)
    shared.add_knobs(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the recordings to this file")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--all", action="store_true", help="print every metric, not only the main ones")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from minibatch.commands.terminal import job_progress, metrics_table, stop_on_interrupt
    from minibatch.engine.job import Job
    from minibatch.engine.session import run_job

    names = shared.policy_names(options.policies)
    for name in names:
        find_policy(name)
    if options.out is not None:
        check_writable(options.out)
    job = Job(policies=tuple(names), **shared.job_settings(options))
    with job_progress(show=not options.json) as on_progress, stop_on_interrupt() as stopped:
        recordings = run_job(job, on_progress, stopped)
        cut_short = stopped()
    if options.out is not None and recordings:
        save(options.out, recordings)
    if options.json:
        print(json.dumps(as_json(recordings), indent=1, allow_nan=False))
    elif recordings:
        Console().print(metrics_table(recordings, everything=options.all))
    return 130 if cut_short else 0


def as_json(recordings: Sequence[Recording]) -> dict[str, Any]:
    """The numbers of `recordings` for machines."""
    return {
        "runs": [
            {
                "policy": recording.header.policy,
                "clock": recording.header.clock,
                "device": recording.header.device,
                "model": recording.header.model,
                "scenario": recording.header.scenario,
                "seed": recording.header.seed,
                "complete": recording.header.complete,
                "config": dict(recording.header.config),
                "metrics": compute_metrics(recording),
            }
            for recording in recordings
        ]
    }
