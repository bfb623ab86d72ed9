"""What all points of a sweep share, as its file holds it, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from minibatch.engine.sweep import SweepSpec
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape
from minibatch.workload.demand import Demand


def described(spec: SweepSpec) -> dict[str, Any]:
    """What makes a spec the same, as JSON can hold it."""
    demand = spec.demand
    return {
        "model": spec.model,
        "shape": asdict(spec.shape),
        "device": asdict(spec.ceilings),
        "requests": demand.words,
        "num_requests": len(demand.prompt_tokens),
        "prompt_tokens": list(demand.prompt_tokens),
        "output_tokens": list(demand.output_tokens),
        "seed": spec.seed,
        **({"times": list(demand.times)} if demand.times else {}),
    }


def spec_of(found: Mapping[str, Any]) -> SweepSpec:
    """The reverse of `described`; ValueError, TypeError or KeyError where it is no spec."""
    prompts, outputs = (tuple(found[name]) for name in ("prompt_tokens", "output_tokens"))
    if len(prompts) != len(outputs) or not all(isinstance(n, int) and n > 0 for n in (*prompts, *outputs)):
        raise ValueError("lengths are whole numbers, as many of prompts as of outputs")
    times = tuple(map(float, found.get("times", ())))
    if len(times) not in (0, len(prompts)) or list(times) != sorted(times) or not all(map(math.isfinite, times)):
        raise ValueError("times are in order, as many as requests")
    words, model = str(found["requests"]), str(found["model"])
    shape, ceilings = ModelShape(**found["shape"]), Ceilings.from_dict(found["device"])
    return SweepSpec(Demand(prompts, outputs, words, times), shape, ceilings, model, int(found["seed"]))
