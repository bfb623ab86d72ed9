"""`run`: serve under one policy and stream the text as it is generated."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from minibatch.commands import options as shared
from minibatch.recording.storage import check_writable, save
from minibatch.scheduling import POLICIES, find_policy


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("run", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("--policy", default="chunked", help=f"one of {', '.join(POLICIES)} (default: chunked)")
    shared.add_workload(parser)
    shared.add_machine(parser)
    shared.add_knobs(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the recording to this file")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    from minibatch.commands.terminal import metrics_table, stop_on_interrupt
    from minibatch.engine.job import Job
    from minibatch.engine.session import Session
    from minibatch.model.text import TextStream

    policy = find_policy(options.policy)
    if options.out is not None:
        check_writable(options.out)
    session = Session(Job(policies=(policy.name,), **shared.job_settings(options)))
    session.warm_up()
    engine = session.engine(policy)
    console = Console(highlight=False, soft_wrap=True)
    streams: dict[int, TextStream] = {}
    lines: dict[int, str] = {}

    def write(engine: Any, plan: Any) -> None:
        """Show each request's line when it breaks or ends: texts are generated side by side."""
        for seq in plan.seqs:
            state = seq.request
            if not seq.samples or session.tokenizer is None or engine.executor.clock == "modelled":
                continue
            stream = streams.setdefault(state.request_id, TextStream(session.tokenizer))
            line = lines.pop(state.request_id, "") + stream.push(state.output_token_ids[-1])
            done = state.finish_reason is not None
            if done:
                line += stream.flush()
            if done or len(line) > 72:
                console.print(Text(f"{engine.state.now_ns / 1e9:7.3f} s  r{state.request_id:<3} {line!r}"))
            else:
                lines[state.request_id] = line

    with stop_on_interrupt() as stopped:
        engine.run(write, stopped)
        cut_short = stopped()
    recording = session.record(engine)
    if options.out is not None:
        save(options.out, [recording])
    console.print(metrics_table([recording]))
    return 130 if cut_short else 0
