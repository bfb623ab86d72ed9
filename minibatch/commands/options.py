"""Options that several commands share: the workload, the model, and every knob under vLLM's name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from minibatch.analysis.registry.modelled import elsewhere
from minibatch.analysis.registry.models import known_model
from minibatch.commands.traffic import add_traffic, traffic_of
from minibatch.recording.schema import Clock
from minibatch.roofline.costs import ModelShape
from minibatch.scheduling.config import CHOICES, KNOB_HELP, SchedulerConfig
from minibatch.workload.scenarios import SCENARIOS, find_scenario

DTYPE_HELP = (
    "auto, float32, float64, bfloat16 or float16; of accelerators that have it also float8 (fp8, float8_e4m3fn) or "
    "float4: weights of that size and all matrix products at that peak, KV in 16 bits. auto is what a config.json "
    "says, where the accelerator has it"
)
_DEFAULTS = SchedulerConfig()
_CHOICES = {name: get_args(kind) for name, kind in CHOICES.items()}


def policy_names(given: Sequence[str]) -> list[str]:
    """Names of `--policies`, with spaces or commas between them; ValueError where one is given twice."""
    names = [name for text in given for name in text.split(",") if name]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"policy {name!r} is given {names.count(name)} times: name each policy once")
    return names


def add_workload(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("requests")
    group.add_argument("--scenario", metavar="NAME", help=f"one of {', '.join(SCENARIOS)} (default: chat)")
    group.add_argument("--requests", type=Path, metavar="FILE", help="JSON lines: prompt or prompt_tokens, "
                       "max_tokens, arrival_s")  # fmt: skip
    group.add_argument("--prompt", nargs="+", action="extend", metavar="TEXT", help="your own prompts")
    group.add_argument("--max-tokens", type=int, default=64, help="most tokens to generate for each --prompt")
    group.add_argument("--seed", type=int, default=0)
    group.add_argument("--temperature", type=float, default=0.0, help="0 is greedy")
    group.add_argument("--top-k", type=int, default=0, help="0 keeps all tokens")
    group.add_argument("--top-p", type=float, default=1.0)
    add_traffic(parser)


def add_machine(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model and machine")
    group.add_argument("--model", default="bundled", help="bundled; random:gpt2, -medium, -large, -xl; a GPT-2 "
                       "checkpoint by hub name or folder; or, with --clock modelled, one that `hardware` "
                       "lists, or any model's config.json or the folder that holds it")  # fmt: skip
    group.add_argument("--device", default="auto", help="auto, cpu or cuda")
    group.add_argument("--dtype", default="auto", help=DTYPE_HELP)
    group.add_argument("--clock", choices=get_args(Clock), default="measured")
    group.add_argument("--accelerator", metavar="NAME", help="with --clock modelled: instead of this machine, one "
                       "that `hardware` lists, as its data sheet has it")  # fmt: skip
    group.add_argument("--tensor-parallel", type=int, metavar="N", help="with --accelerator: N of them share the "
                       "model (default: 1)")  # fmt: skip


def add_knobs(parser: argparse.ArgumentParser, other_defaults: Mapping[str, str] = MappingProxyType({})) -> None:
    """Every knob; `other_defaults` are in words, by name."""
    group = parser.add_argument_group("knobs, as vLLM names them")
    for field in fields(SchedulerConfig):
        flag, default = "--" + field.name.replace("_", "-"), getattr(_DEFAULTS, field.name)
        shown = f"{default}, or the model's context if shorter" if field.name == "max_model_len" else default
        shown = other_defaults.get(field.name, shown)
        text = f"{KNOB_HELP[field.name]} (default: {shown})"
        if isinstance(default, bool):
            group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=text)
        elif field.name in _CHOICES:
            group.add_argument(flag, choices=_CHOICES[field.name], help=text)
        else:
            group.add_argument(flag, type=type(default), metavar="N", help=text)


def job_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Fields of `session.Job` from parsed options; the scenario's knobs give way to typed ones."""
    scenario, traffic = options.scenario, traffic_of(options)
    if scenario is None and not options.prompt and options.requests is None and traffic is None:
        scenario = "chat"
    knobs: dict[str, Any] = dict(find_scenario(scenario).knobs) if scenario is not None else {}
    knobs |= knobs_of(options)
    not_here = _elsewhere(options)
    if "max_model_len" not in knobs:
        knobs["max_model_len"] = _default_length(options.model, not_here.get("shape"))
    return not_here | {
        "config": SchedulerConfig(**knobs),
        "scenario": scenario,
        "prompts": tuple(options.prompt or ()),
        "requests_file": options.requests,
        "traffic": traffic,
        "max_tokens": options.max_tokens,
        "model": options.model,
        "device": options.device,
        "clock": options.clock,
        "dtype": options.dtype,
        "seed": options.seed,
        "temperature": options.temperature,
        "top_k": options.top_k,
        "top_p": options.top_p,
    }


def knobs_of(options: argparse.Namespace) -> dict[str, Any]:
    """The knobs that were given."""
    return {
        field.name: value for field in fields(SchedulerConfig) if (value := getattr(options, field.name)) is not None
    }


def _elsewhere(options: argparse.Namespace) -> dict[str, Any]:
    """`shape` of a model and `ceilings` of accelerators that are not here; neither for what is."""
    if options.tensor_parallel is not None and options.accelerator is None:
        raise ValueError("--tensor-parallel shares a model among accelerators: give --accelerator as well")
    if options.accelerator is not None and options.device != "auto":
        raise ValueError("--device is of this machine and --accelerator of another one: give one of them")
    if options.clock != "modelled":
        if options.accelerator is not None:
            raise ValueError(
                "an accelerator that is not here can't be measured: use --accelerator with --clock modelled"
            )
        known = known_model(options.model)
        if known is not None and known.config["model_type"] != "gpt2":
            raise ValueError(
                f"{options.model} is known by its sizes alone, without weights: use it with --clock modelled"
            )
        return {}
    num_devices = 1 if options.tensor_parallel is None else options.tensor_parallel
    return elsewhere(options.model, options.accelerator, num_devices, options.dtype, options.device)


def _default_length(model: str, shape: ModelShape | None) -> int:
    """The default max_model_len, cut to what the model can read."""
    from minibatch.model.weights import read_config

    return min(_DEFAULTS.max_model_len, (shape or read_config(model)).n_positions)
