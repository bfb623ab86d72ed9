"""Device and model as widgets, with the figures that modelled durations follow from."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import get_args

import streamlit as st

from minibatch.analysis.registry.accelerators import load_accelerators
from minibatch.analysis.registry.claims import Claim, scaled, standings_explained
from minibatch.recording.schema import Clock
from minibatch.ui.shared.begins import begins, choose
from minibatch.ui.shared.choices import models_offered
from minibatch.ui.shared.kept_file import kept_file
from minibatch.ui.shared.machine import MachineChoice, devices_key, fewest_devices, numbers_of_devices
from minibatch.ui.shared.uploads import kept_config

ANOTHER = "another one"
HERE_NAME = "this machine"
_CLOCK_HELP = "Measured: the model runs here. Modelled: durations follow from a roofline, and nothing is computed."
_DEVICES_HELP = "Devices that share the model (tensor parallel). Only numbers that divide its heads evenly are offered."

Figure = tuple[str, str, str, str]
"""What it is, the figure in words, the word of how sure it is (or ""), and its source."""


def machine_form() -> MachineChoice:
    """The choice, and below it what is published of it."""
    clocks = get_args(Clock)
    clock: Clock = st.radio(
        "Durations", clocks, index=clocks.index(begins("clock", clocks[0])), horizontal=True,
        key="clock", persist_state="session", help=_CLOCK_HELP,
    )  # fmt: skip
    accelerator = _accelerator() if clock == "modelled" else None
    model = choose("Model", [*models_offered(clock), ANOTHER], "model", state_key=f"model {clock}")
    if model == ANOTHER:
        model = another_model("model", clock)
    num_devices = 1 if accelerator is None else _num_devices(accelerator, model)
    machine = MachineChoice(model, clock, accelerator, num_devices)
    if clock == "modelled" and (figures := published(machine)):
        st.html(figures_html(figures, "Of each device, as published" if num_devices > 1 else "As published"))
    return machine


def another_model(key: str, clock: Clock) -> str:
    """A model that is not in the list; durations are modelled from its config.json alone, which may be brought."""
    if clock == "modelled":
        brought = kept_file("The model's config.json", f"{key} config", type="json")
        if brought is not None:
            return str(kept_config(brought[1]))
    label = "Hub name or local folder" if clock == "measured" else "Or a config.json or folder on this machine"
    return st.text_input(label, key=f"{key} name", persist_state="session").strip()


def _accelerator() -> str | None:
    titles = {HERE_NAME: "This machine"} | {name: known.title for name, known in load_accelerators().items()}
    name = choose("Accelerator", list(titles), "accelerator", titles.__getitem__, help=_accelerator_help())
    return None if name == HERE_NAME else name


def _accelerator_help() -> str:
    """Where all the figures are from, for readers without a pointer."""
    sources = "\n".join(
        f"- {known.title}: {'; '.join(part for part in (known.source(), known.note) if part)}"
        for known in load_accelerators().values()
    )
    return f"This machine's ceilings are measured once. Of the others, dense matrix products:\n\n{sources}"


def _num_devices(accelerator: str, model: str) -> int:
    key, fewest = devices_key(accelerator, model), fewest_devices(accelerator, model)
    return choose("Tensor-parallel devices", numbers_of_devices(model), key, otherwise=fewest, help=_DEVICES_HELP)


def published(machine: MachineChoice) -> list[Figure]:
    """The figures of one device, as its data sheet has them, and of the model; none of what is here."""
    figures: list[Figure] = []
    if sheet := machine.sheet:
        figures = [
            ("Matrix products", f"{sheet.flops.words}, dense", *_standing(sheet.flops)),
            ("Bandwidth", sheet.bandwidth.words, *_standing(sheet.bandwidth)),
            ("Memory", sheet.memory.words, *_standing(sheet.memory)),
        ]
        if machine.num_devices > 1:
            link = scaled(sheet.link_bytes_per_s, "B/s")
            figures.append(("Link, one direction", link, *_standing(sheet.link)))
    model, shape = machine.known, machine.shape
    if model and shape:
        standing = "" if model.confidence == "primary" else model.confidence
        source = f"{model.source}, checked {model.checked}"
        figures.append(("Weights", scaled(shape.weight_bytes, "B"), standing, source))
        figures.append(("Context, tokens", f"{shape.n_positions:,}", standing, source))
    return figures


def _standing(claim: Claim) -> tuple[str, str]:
    return claim.standing, f"{claim.of}. {claim.source}, checked {claim.checked}"


def figures_html(figures: Sequence[Figure], caption: str) -> str:
    """A row a figure; its source shows where the pointer rests on it. Below, what the words of how sure it is mean."""
    rows = "".join(
        f"<tr title='{escape(source)}'><th scope='row'>{escape(name)}</th>"
        f"<td>{escape(words)}{f' <em>{escape(standing)}</em>' if standing else ''}</td></tr>"
        for name, words, standing, source in figures
    )
    meant = standings_explained(" ".join(standing for _, _, standing, _ in figures))
    note = f"<p class='mb-note'>{escape(meant)}</p>" if meant else ""
    return f"<table class='mb-figures'><caption>{escape(caption)}</caption>{rows}</table>{note}"
