"""The header of a recording: who served what, on what, with which knobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import minibatch
from minibatch.engine.loop import Engine
from minibatch.recording.schema import Header
from minibatch.roofline.ceilings import Ceilings
from minibatch.workload.arrivals import ClosedLoop


def header_of(
    engine: Engine,
    ceilings: Ceilings,
    *,
    model: str,
    scenario: str,
    seed: int,
    dtype: str | None = None,
    loop: ClosedLoop | None = None,
    versions: Mapping[str, str] | None = None,
) -> Header:
    """The header of what `engine` records.

    Args:
        scenario: in words, what is served.
        dtype: of the model; None: that of the ceilings.
        versions: of other programs that had a part in it.
    """
    config = engine.state.config
    return Header(
        policy=engine.policy.name,
        clock=engine.executor.clock,
        device=ceilings.device,
        model=model,
        dtype=ceilings.dtype if dtype is None else dtype,
        scenario=scenario,
        seed=seed,
        token_budget=engine.policy.token_budget(config),
        config=asdict(config),
        shape=asdict(engine.shape),
        ceilings={key: value for key, value in asdict(ceilings).items() if key != "device"},
        versions={"minibatch": minibatch.__version__, **(versions or {})},
        closed_loop=None if loop is None else asdict(loop),
    )


def forked_header(engine: Engine, base: Header, fork: Mapping[str, Any]) -> Header:
    """The header of a run that `engine` repeated and went on with: `base` until the fork, and its own knobs since."""
    config = engine.state.config
    return replace(
        base,
        policy=engine.policy.name,
        clock="modelled",
        token_budget=engine.policy.token_budget(config),
        config=asdict(config),
        fork={**fork, "clock": base.clock, "earlier": base.fork},
    )
