"""Requests by times and lengths as widgets: drawn from distributions, or read from a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import streamlit as st

from minibatch.ui.shared.begins import choose, count, number
from minibatch.ui.shared.choices import MOST_REQUESTS
from minibatch.ui.shared.kept_file import kept_file
from minibatch.ui.shared.uploads import MOST_BYTES, Upload, upload_of
from minibatch.workload.arrivals import ARRIVALS, MOST_USERS
from minibatch.workload.lengths import LENGTHS
from minibatch.workload.traces import FORMATS, FormatChoice, sniff_format
from minibatch.workload.traces.formats import OF_CONVERSATIONS, has_time_unit

USERS = "users"
"""In place of an arrival process: users in a closed loop."""

_ARRIVAL_TITLES = {
    "at-once": "All at once", "poisson": "Poisson", "gamma": "Gamma: burstier or more regular",
    "onoff": "Bursts, on and off", USERS: "Users in a closed loop",
}  # fmt: skip
_LENGTH_TITLES = {
    "lognormal": "Lognormal", "exponential": "Exponential, capped", "uniform": "Uniform", "fixed": "All the same",
}  # fmt: skip
_NUMBER_TITLES = {
    "rate": "requests/s", "burstiness": "burstiness", "on_s": "seconds on", "off_s": "seconds off",
    "tokens": "tokens", "low": "from, tokens", "high": "to, tokens", "mean": "mean, tokens", "sigma": "sigma",
    "cap": "cap, tokens",
}  # fmt: skip
_NUMBERS = {
    "poisson": (20,), "gamma": (20, 0.5), "onoff": (60, 0.5, 1), "fixed": (64,), "uniform": (16, 128),
    "lognormal": (64, 1), "exponential": (64, 256),
}  # fmt: skip
"""What the numbers of each spec begin with: some seconds of work for the bundled model."""

_AS_IT_LOOKS = "as it looks"
_TIME_UNITS = {"auto": "auto", "s": "seconds", "ms": "milliseconds"}
_CONVERSATIONS = {"first": "The first question and answer", "whole": "Whole, a request for every answered turn"}
_TRACE_HELP = (
    "Azure (CSV), Mooncake (JSON lines), BurstGPT (CSV), ShareGPT (JSON), vLLM's timed_trace (JSON lines), or CSV with "
    "the columns arrival_s,prompt_tokens,output_tokens; plain or gzipped. It is read and never run, and is forgotten "
    "with this page."
)


@dataclass(frozen=True, slots=True)
class TrafficChoice:
    """What these widgets say.

    Attributes:
        traffic: fields of `Traffic`, but its `trace`; not yet checked.
        upload: the trace; None where there is none (yet).
        problem: why there is none, "" where none was uploaded.
    """

    traffic: Mapping[str, Any] = field(default_factory=dict)
    upload: Upload | None = None
    problem: str = ""


def drawn_form() -> TrafficChoice:
    """Requests drawn at random."""
    num_requests = count("Requests", "num_requests", 32, MOST_REQUESTS)
    arrivals = choose("Arrivals", list(_ARRIVAL_TITLES), "arrivals", _ARRIVAL_TITLES.__getitem__, "poisson")
    traffic: dict[str, Any] = {"num_requests": num_requests}
    if arrivals == USERS:
        left, right = st.columns(2)
        with left:
            traffic["num_users"] = count("users", "num_users", 8, MOST_USERS)
        with right:
            traffic["think_s"] = number("think time, s", "think_s", 0.5, "From an answer to the next request.")
    else:
        traffic["arrivals"] = _spec("arrivals", arrivals, ARRIVALS[arrivals][1])
    for name, label, first in (
        ("prompt_lengths", "Prompt lengths", "lognormal"), ("output_lengths", "Output lengths", "exponential"),
    ):  # fmt: skip
        word = choose(label, list(_LENGTH_TITLES), name, _LENGTH_TITLES.__getitem__, first)
        traffic[name] = _spec(name, word, LENGTHS[word][1])
    return TrafficChoice(traffic)


def spec_values(name: str, spec: str) -> dict[str, Any]:
    """Values of the widgets that say `spec`, by their keys; it must be a sound one."""
    word, *numbers = spec.split(":")
    names = (ARRIVALS if name == "arrivals" else LENGTHS)[word][1]
    return {name: word} | {
        _number_key(name, word, part): float(text) for part, text in zip(names, numbers, strict=True)
    }


def _spec(name: str, word: str, parts: tuple[str, ...]) -> str:
    """The spec that begins with `word`, with its numbers from widgets."""
    numbers = []
    for column, part, first in zip(st.columns(max(1, len(parts))), parts, _NUMBERS.get(word, ()), strict=False):
        with column:
            numbers.append(number(_NUMBER_TITLES[part], _number_key(name, word, part), first))
    return ":".join([word, *(f"{value:.15g}" for value in numbers)])


def _number_key(name: str, word: str, part: str) -> str:
    return f"{name} {word} {part}"


def trace_file(key: str, format_key: str) -> tuple[Upload | None, str, FormatChoice]:
    """An uploaded trace: the file or what is wrong with it, and how it is written."""
    file = kept_file("Trace", key, help=_TRACE_HELP, max_upload_size=MOST_BYTES >> 20)
    upload, problem = None, ""
    if file is not None:
        try:
            upload = upload_of(*file)
        except ValueError as error:
            problem = str(error)
    titles = {_AS_IT_LOOKS: "As it looks"} | {name: known.title for name, known in FORMATS.items()}
    known = choose("Format", list(titles), format_key, titles.__getitem__)
    trace_format = None if known == _AS_IT_LOOKS else known
    name = trace_format or (_looks(upload.digest, upload) if upload else "")
    if has_time_unit(name):
        unit = choose("Unit of times", list(_TIME_UNITS), f"{format_key} unit", _TIME_UNITS.__getitem__)
        return upload, problem, FormatChoice(trace_format, time_unit=None if unit == "auto" else unit)
    if name == OF_CONVERSATIONS:
        taken = choose("Conversations", list(_CONVERSATIONS), f"{format_key} taken", _CONVERSATIONS.__getitem__)
        return upload, problem, FormatChoice(trace_format, conversations=taken)
    return upload, problem, FormatChoice(trace_format)


@st.cache_data(max_entries=8, show_spinner=False)
def _looks(digest: str, _upload: Upload) -> str:
    """The format that a file begins like; "" where the reader will say what is wrong with it."""
    try:
        with _upload.as_file() as path:
            return sniff_format(path)
    except ValueError:
        return ""


def trace_form() -> TrafficChoice:
    """An uploaded trace, what part of it, and how it is changed."""
    upload, problem, choice = trace_file("trace", "trace_format")
    left, right = st.columns(2)
    with left:
        num_requests = count("requests", "trace_requests", 50, MOST_REQUESTS, "At most this many, from the start.")
        speed = number("speed", "trace_speed", 1, "How many times faster requests arrive than recorded.")
    with right:
        start_s = number("start, s", "start_s", 0, "Seconds to leave out at the beginning.")
        scale = number("length scale", "length_scale", 1, "Factor of all prompts and outputs.")
    traffic: dict[str, Any] = {"num_requests": num_requests, "speed": speed, "start_s": start_s, "length_scale": scale}
    traffic |= {name: value for name, value in asdict(choice).items() if value is not None}
    return TrafficChoice(traffic, upload, problem)
