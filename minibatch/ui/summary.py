"""The words around the charts: what was run on what, and each policy's key numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from minibatch.analysis.formats import percent, plural, three_figures
from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.timeline import Timeline
from minibatch.recording.schema import Header, Recording
from minibatch.scheduling import POLICIES
from minibatch.ui.palette import Theme
from minibatch.workload.scenarios import SCENARIOS

_OTHER_TITLES = {"typed prompts": "Your own prompts", "requests file": "Requests from a file"}


def title(header: Header) -> str:
    """What was run, in a few words."""
    if header.scenario in SCENARIOS:
        return SCENARIOS[header.scenario].title
    return _OTHER_TITLES.get(header.scenario, header.scenario)


def watch(header: Header) -> str:
    """What there is to see, "" where nobody has said."""
    return SCENARIOS[header.scenario].watch if header.scenario in SCENARIOS else ""


def provenance(header: Header) -> str:
    """Where the numbers come from, in the words that captions use."""
    return f"{header.clock} on {header.device}, model {header.model} in {header.dtype}"


def provenances(recordings: Sequence[Recording]) -> str:
    """Where the numbers of several recordings come from: said once, or by policy where they differ."""
    words = {recording.header.policy: provenance(recording.header) for recording in recordings}
    if len(set(words.values())) == 1:
        return next(iter(words.values()))
    return "; ".join(f"{policy} {where}" for policy, where in words.items())


def clocks(recordings: Sequence[Recording]) -> str:
    """Measured, modelled, or both: the word that an axis carries."""
    return " and ".join(dict.fromkeys(recording.header.clock for recording in recordings))


def header_html(recordings: Sequence[Recording]) -> str:
    """Title, what to watch, and a badge for each way in which the recordings were made."""
    header = recordings[0].header
    badges = []
    for words in dict.fromkeys(_badge(recording.header) for recording in recordings):
        badges.append(f"<span class='mb-badge mb-{escape(words[0])}'>{' · '.join(map(escape, words))}</span>")
    if not all(recording.header.complete for recording in recordings):
        badges.append("<span class='mb-badge'>cancelled before the end</span>")
    return intro_html(title(header), watch(header), f"<div>{''.join(badges)}</div>")


def intro_html(heading: str, sentence: str, rest: str = "") -> str:
    """The head of the page. `rest` is HTML, the others are text."""
    said = f"<p class='mb-watch'>{escape(sentence)}</p>" if sentence else ""
    head = f"<div class='mb-brand'>Minibatch</div><h1>{escape(heading)}</h1>{said}"
    return f"<div class='mb-head'>{head}{rest}</div>"


def lane_html(recording: Recording) -> str:
    """A lane's left side: the policy's name and summary, and the numbers that tell it from the others."""
    header, metrics = recording.header, compute_metrics(recording)
    policy = POLICIES.get(header.policy)
    longest = int(Timeline(recording).num_waiting.max(initial=0))
    numbers = (
        (three_figures(metrics["output_throughput"]), "tok/s"),
        (percent(metrics["slot_utilization"]) + " %", "busy"),
    )
    small = (
        ("stalled", f"{three_figures(metrics['stalled_s'])} s"),
        ("longest queue", f"{longest:,}"),
    )
    large = "".join(f"<span><b>{escape(value)}</b> <small>{escape(unit)}</small></span>" for value, unit in numbers)
    rest = "".join(f"<span><small>{escape(name)}</small> <b>{escape(value)}</b></span>" for name, value in small)
    summary = policy.summary if policy else ""
    return (
        f"<div class='mb-lane'><h3>{escape(header.policy)}<em>{escape(header.clock)}</em></h3>"
        f"<p>{escape(summary)}</p><div class='mb-large'>{large}</div><div class='mb-small'>{rest}</div></div>"
    )


def phases_html(theme: Theme) -> str:
    """What the fills of a lane mean."""
    names = (
        ("prefill", "prefill"),
        ("decode", "decode"),
        ("stalled", "stalled: ready, and gets no token"),
        ("padding", "padding: held or computed for nobody"),
        ("idle", "idle slot"),
    )
    keys = "".join(f"<span><i class='mb-key mb-key-{kind}'></i>{escape(words)}</span>" for kind, words in names)
    legend = f"<span>row: a slot</span><span>colour: a request</span>{keys}"
    return f"<div class='mb-legend' style='--mb-idle:{theme.lane}'>{legend}</div>"


def ledger_legend_html(columns: Sequence[tuple[str, str]]) -> str:
    """(name, colour) of each part of a ledger's bars."""
    keys = "".join(
        f"<span><i class='mb-key' style='background:{colour}'></i>{escape(name)}</span>" for name, colour in columns
    )
    return f"<div class='mb-legend'>{keys}</div>"


def progress_words(policy: str, finished: int, total: int) -> str:
    return f"{policy}: {finished:,} of {plural(total, 'request')}"


def _badge(header: Header) -> tuple[str, ...]:
    return (header.clock, header.device, f"model {header.model}", header.dtype)


def roofline_legend_html(recordings: Sequence[Recording]) -> str:
    """What the points of a roofline are, and what of them is counted, measured or modelled."""
    shapes = (("circle", "decode"), ("triangle", "prefill"), ("square", "decode and prefill mixed"))
    keys = "".join(f"<span><i class='mb-shape mb-shape-{kind}'></i>{name}</span>" for kind, name in shapes)
    header = recordings[0].header
    source = f"; ceilings: {header.ceilings['source']}" if header.ceilings else ""
    note = f"One point an iteration. FLOPs and bytes counted, durations {provenances(recordings)}{source}."
    if header.ceilings:
        note += " A small model may fit into the processor's caches: its points can then lie above the memory roof."
    return f"<div class='mb-legend'>{keys}</div><p class='mb-note'>{escape(note)}</p>"
