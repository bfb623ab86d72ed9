"""What all points of a sweep share, as its file holds it, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from minibatch.engine.ceilings import Ceilings
from minibatch.engine.costs import ModelShape
from minibatch.engine.study import Study
from minibatch.workload.demand import Demand


def described(study: Study) -> dict[str, Any]:
    """What makes a study the same, as JSON can hold it."""
    demand = study.demand
    return {
        "model": study.model,
        "shape": asdict(study.shape),
        "device": asdict(study.ceilings),
        "requests": demand.words,
        "num_requests": len(demand.prompt_tokens),
        "prompt_tokens": list(demand.prompt_tokens),
        "output_tokens": list(demand.output_tokens),
        "seed": study.seed,
        **({"times": list(demand.times)} if demand.times else {}),
    }


def study_of(found: Mapping[str, Any]) -> Study:
    """What `described` wrote, the other way round; ValueError, TypeError or KeyError where it is no study."""
    prompts, outputs = (tuple(found[name]) for name in ("prompt_tokens", "output_tokens"))
    if len(prompts) != len(outputs) or not all(isinstance(n, int) and n > 0 for n in (*prompts, *outputs)):
        raise ValueError("lengths are whole numbers, as many of prompts as of outputs")
    times = tuple(map(float, found.get("times", ())))
    if len(times) not in (0, len(prompts)) or list(times) != sorted(times) or not all(map(math.isfinite, times)):
        raise ValueError("times are in order, as many as requests")
    words, model = str(found["requests"]), str(found["model"])
    shape, ceilings = ModelShape(**found["shape"]), Ceilings.from_dict(found["device"])
    return Study(Demand(prompts, outputs, words, times), shape, ceilings, model, int(found["seed"]))
