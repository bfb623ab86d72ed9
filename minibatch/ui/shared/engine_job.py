"""From what the sidebar says to the engine's job, on the thread that runs it: this imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from minibatch.analysis.registry.modelled import elsewhere
from minibatch.engine.job import Job
from minibatch.ui.shared.expected import checked


@contextmanager
def engine_job(fields: Mapping[str, Any]) -> Iterator[Job]:
    """The job of `RunForm.job` and its config; the trace that it reads lies on disk for as long as this lasts."""
    given = dict(fields)
    accelerator, num_devices, choice = (given.pop(name) for name in ("accelerator", "num_devices", "traffic"))
    if given["clock"] == "modelled":
        given |= elsewhere(given["model"], accelerator, num_devices)
    with ExitStack() as stack:
        if choice is not None:
            trace = None if choice.upload is None else stack.enter_context(choice.upload.as_file())
            given["traffic"] = checked(choice, trace)
        yield Job(**given)
