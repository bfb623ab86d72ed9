"""`sweep`: a modelled workload at increasing load, under several policies and knobs, into one Parquet file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from minibatch.analysis.formats import three_figures
from minibatch.analysis.registry.claims import find_claim
from minibatch.analysis.registry.modelled import sizes_and_ceilings
from minibatch.analysis.slo import parse_slo
from minibatch.analysis.sweeps.curves import Curve, curves_of
from minibatch.analysis.sweeps.definition import described
from minibatch.analysis.sweeps.file import SweepFile, SweepRow, row_of
from minibatch.commands.options import DTYPE_HELP, add_knobs, knobs_of, policy_names
from minibatch.commands.terminal import stop_on_interrupt, wide_console
from minibatch.commands.traffic import add_format, format_of
from minibatch.engine.sweep import BACKENDS, Point, SweepSpec, executor_of, knob_value, run_points, with_knob
from minibatch.model.bundled_tokenizer import count_tokens
from minibatch.recording.storage import check_writable
from minibatch.scheduling import DEFAULTS
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.demand import Demand, Load, drawn_demand, trace_demand
from minibatch.workload.lengths import LENGTH_FORMS
from minibatch.workload.traces import FormatChoice, Scaling

MEMORY_SHARE = find_claim("vllm-memory-share").value / 100
"""Of device memory, for weights and KV: vLLM's default `gpu_memory_utilization`."""
_MOST_BLOCKS = 1_000_000
_DEFAULTS = {
    "max_num_seqs": "256", "max_num_batched_tokens": "2048", "max_model_len": "the longest request",
    "num_kv_blocks": "what the memory holds beside the weights",
}  # fmt: skip
"""In words, where they differ from those of one run: see `default_config`."""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("sweep", help=__doc__.split(": ")[1], description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="Parquet file; an existing sweep "
                        "is resumed")  # fmt: skip
    parser.add_argument("--policies", nargs="+", default=list(DEFAULTS), metavar="NAME")
    parser.add_argument(
        "--accelerator", default="H100", metavar="NAME", help="as `hardware` lists them (default: H100)"
    )
    parser.add_argument("--tensor-parallel", type=int, default=1, metavar="N")
    parser.add_argument("--model", default="llama-3.1-8b", help="as `hardware` lists them, or a config.json or the "
                        "folder that holds it (default: llama-3.1-8b)")  # fmt: skip
    parser.add_argument("--dtype", default="auto", help=DTYPE_HELP)
    parser.add_argument("--seed", type=int, default=0)
    loads = parser.add_argument_group("load, in one of two ways")
    loads.add_argument("--rates", nargs="+", type=float, metavar="R", help="requests/s, whether or not they are served")
    loads.add_argument("--burstiness", type=float, default=1.0, metavar="B", help="of the gaps; 1 is Poisson, less "
                       "is burstier (default: 1)")  # fmt: skip
    loads.add_argument("--users", nargs="+", type=int, metavar="N", help="a closed loop of N users")
    loads.add_argument("--think-s", type=float, default=0.0, metavar="S")
    lengths = parser.add_argument_group("requests")
    lengths.add_argument("--num-requests", type=int, metavar="N", help="(default: 1000; of a trace, at most)")
    lengths.add_argument("--prompt-lengths", metavar="SPEC", help=f"{LENGTH_FORMS} (default: lognormal:512:1.0)")
    lengths.add_argument("--output-lengths", metavar="SPEC", help="likewise (default: lognormal:128:1.0)")
    lengths.add_argument("--trace", type=Path, metavar="FILE", help="its lengths")
    lengths.add_argument("--trace-times", action="store_true", help="its arrivals too, scaled to each of "
                         "the rates")  # fmt: skip
    add_format(lengths)
    lengths.add_argument("--length-scale", type=float, metavar="X", help="factor of all lengths of the trace")
    parser.add_argument("--vary", nargs="+", action="append", default=[], metavar="X", help="a knob and its values: "
                        "--vary max_num_batched_tokens 256 512 2048")  # fmt: skip
    parser.add_argument("--slo", nargs="+", metavar="NAME:MS", help="as vLLM's --goodput: ttft:200 tpot:50 e2el:5000; "
                        "kept in the file (default: the file's own)")  # fmt: skip
    parser.add_argument("--workers", type=int, metavar="N", help="(default: as many as there are cores)")
    parser.add_argument("--executor", choices=BACKENDS, default="processes", help="dask and ray must be installed")
    add_knobs(parser, _DEFAULTS)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    given = parse_slo(options.slo) if options.slo else None
    workers = options.workers if options.workers is not None else os.cpu_count() or 1
    if workers < 1:
        raise ValueError(f"--workers is {workers}: use 1 or more")
    if options.seed < 0:
        raise ValueError(f"seed is {options.seed}: use 0 or a positive whole number")
    check_writable(options.out)
    spec = spec_of(options, demand_of(options))
    points = list(points_of(options, spec))
    for point in points:
        point.check(spec)
    file = SweepFile(options.out, described(spec))
    if given:
        file.judge_by(given)
    console, done = wide_console(), file.done
    missing = [point for point in points if (point.policy, point.load, point.config) not in done]
    if len(missing) < len(points):
        console.print(f"{len(points) - len(missing)} of {len(points)} points are in {options.out} already")
    columns = (TextColumn("points"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    stopped = False
    with stop_on_interrupt() as should_stop, Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        if missing:
            task = bars.add_task("", total=len(points), completed=len(points) - len(missing))
            with executor_of(options.executor, workers) as executor:
                for point, outcome in run_points(spec, missing, executor, workers, should_stop):
                    file.add(row_of(point.policy, point.load, point.config, outcome))
                    bars.advance(task)
            stopped = should_stop()
    wanted = {(point.policy, point.load, point.config) for point in points}
    rows = [row for row in file.rows if row.key in wanted]
    for curve in curves_of(rows, file.slo):
        console.print(_table(curve, spec, file.slo is not None))
    if file.slo:
        where = "" if given else f", from {options.out}; --slo sets another"
        console.print(Text(f"SLO of goodput: {file.slo.words}{where}"))
    if stopped:
        console.print(f"stopped: {len(rows)} of {len(points)} points are in {options.out}; run it again to resume")
        return 130
    return 0


def demand_of(options: argparse.Namespace) -> Demand:
    """The lengths that are asked for."""
    if options.trace is None:
        for name in (*(field.name for field in fields(FormatChoice)), "length_scale", "trace_times"):
            if getattr(options, name) not in (None, False):
                raise ValueError(f"{name} needs a trace: leave it out or give --trace")
        return drawn_demand(
            1000 if options.num_requests is None else options.num_requests,
            options.prompt_lengths or "lognormal:512:1.0",
            options.output_lengths or "lognormal:128:1.0",
            options.seed,
        )
    if options.prompt_lengths or options.output_lengths:
        raise ValueError("a trace has its own lengths: leave out --prompt-lengths and --output-lengths")
    if options.trace_times and (options.users or options.burstiness != 1):
        raise ValueError("the trace's times do not go with --users or --burstiness: leave out --trace-times")
    scaling = Scaling(num_requests=options.num_requests)
    if options.length_scale is not None:
        scaling = replace(scaling, length_scale=options.length_scale)
    return trace_demand(options.trace, format_of(options), scaling, count_tokens, options.trace_times)


def spec_of(options: argparse.Namespace, demand: Demand) -> SweepSpec:
    """What all points share."""
    shape, ceilings = sizes_and_ceilings(options.model, options.accelerator, options.tensor_parallel, options.dtype)
    return SweepSpec(demand, shape, ceilings, options.model, options.seed)


def points_of(options: argparse.Namespace, spec: SweepSpec) -> Iterator[Point]:
    """Every policy at every load with every value of the knobs that vary."""
    config = default_config(spec, knobs_of(options))
    varied = [[(name, knob_value(name, text)) for text in texts] for name, *texts in _checked(options.vary)]
    for policy, load, knobs in product(policy_names(options.policies), loads_of(options), product(*varied)):
        point = Point(policy, load, config)
        for name, value in knobs:
            point = with_knob(point, name, value)
        yield point


def loads_of(options: argparse.Namespace) -> list[Load]:
    """The loads that are asked for, lowest first."""
    if bool(options.rates) == bool(options.users):
        raise ValueError("give the load in one way: --rates in requests/s, or --users of a closed loop")
    if options.rates:
        return [Load("rate", rate, burstiness=options.burstiness) for rate in sorted(set(options.rates))]
    return [Load("users", users, think_s=options.think_s) for users in sorted(set(options.users))]


def default_config(spec: SweepSpec, knobs: dict[str, Any]) -> SchedulerConfig:
    """The knobs given; for the rest vLLM's ways: the whole context that is needed, and all memory that is left."""
    longest = min(spec.shape.n_positions, spec.demand.longest)
    chosen = {"max_num_seqs": 256, "max_num_batched_tokens": 2048, "max_model_len": longest, **knobs}
    if "num_kv_blocks" not in chosen and spec.ceilings.memory_bytes is not None:
        block_size = chosen.get("block_size", SchedulerConfig().block_size)
        left = spec.ceilings.memory_bytes * MEMORY_SHARE - spec.shape.weight_bytes
        fit = int(left // (block_size * spec.shape.kv_bytes_per_token))
        if fit > 0:  # else the check says that the weights don't fit
            chosen["num_kv_blocks"] = min(fit, _MOST_BLOCKS)
    return SchedulerConfig(**chosen)


def _checked(varied: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    known = SchedulerConfig.__dataclass_fields__
    for name, *texts in varied:
        if name not in known:
            raise ValueError(f"--vary {name}: there is no such knob; choose from {', '.join(known)}")
        if not texts:
            raise ValueError(f"--vary {name}: give the values that it takes")
    return varied


def _table(curve: Curve, spec: SweepSpec, has_slo: bool) -> Table:
    title = f"{curve.policy}{curve.knobs_in_words}: modelled on {spec.ceilings.device}, {spec.model}"
    table = Table(box=box.SIMPLE_HEAD, title=Text(title), title_justify="left", caption_justify="left")
    rejects = any(row.metrics["num_rejected"] for row in curve.rows)
    heads = ["completed/s", *(["rejected"] * rejects), "tok/s", "TTFT p99", "TPOT p99", "queue", "preempted", "KV"]
    heads += ["goodput/s"] * has_slo
    for name in (curve.rows[0].load.kind, *heads, ""):
        table.add_column(name, justify="right")
    for place, row in enumerate(curve.rows):
        mark = "knee" if place == curve.knee.index else ""
        table.add_row(f"{row.load.value:g}", *_cells(row, rejects), *([_number(curve.goodputs[place])] * has_slo), mark)
    table.caption = Text(curve.sentence)
    return table


def _cells(row: SweepRow, rejects: bool) -> list[str]:
    metrics = row.metrics
    usage = metrics["mean_kv_cache_usage"]
    return [
        _number(metrics["request_throughput"]),
        *([str(metrics["num_rejected"])] * rejects),
        _number(metrics["output_throughput"]),
        *(f"{_number(metrics[name])} ms" for name in ("p99_ttft_ms", "p99_tpot_ms", "mean_queue_time_ms")),
        str(metrics["num_preemptions"]),
        "–" if usage is None else f"{100 * usage:.0f} %",
    ]


def _number(value: float | int | None) -> str:
    return "–" if value is None else three_figures(value)
