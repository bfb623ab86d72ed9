"""`record`: make the recordings that ship with Minibatch, from the real engine on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minibatch.paths import RECORDINGS
from minibatch.recording.storage import save
from minibatch.scheduling import DEFAULTS
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.scenarios import SCENARIOS, find_scenario


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("record", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("--out", type=Path, default=RECORDINGS, metavar="FOLDER", help="default: assets/recordings")
    parser.add_argument("--scenarios", nargs="+", default=list(SCENARIOS), metavar="NAME")
    parser.add_argument("--model", help="default: what the scenario's own recording has")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from minibatch.commands.terminal import job_progress
    from minibatch.engine.job import Job
    from minibatch.engine.session import run_job

    scenarios = [find_scenario(name) for name in options.scenarios]
    options.out.mkdir(parents=True, exist_ok=True)
    for scenario in scenarios:
        model = options.model or scenario.model
        job = Job(
            policies=DEFAULTS,
            config=SchedulerConfig(**scenario.knobs),
            scenario=scenario.name,
            model=model,
            device=options.device,
            # Random weights write noise all the same, and drawing from a flat distribution means sorting all of it.
            temperature=0.0 if model.startswith("random:") else 0.6,
            top_p=0.9,
        )
        with job_progress() as on_progress:
            recordings = run_job(job, on_progress)
        suffix = "-" + options.model.replace(":", "-").replace("/", "-") if options.model else ""
        path = options.out / f"{scenario.name}{suffix}.mbr"
        save(path, recordings)
        print(f"{path}  {path.stat().st_size / 1000:.0f} kB")
    return 0
