"""The words around the charts: what was run on what, and each policy's key numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from minibatch.analysis.formats import plural
from minibatch.analysis.provenance import machine_in_words
from minibatch.recording.schema import Header, Recording
from minibatch.workload.scenarios import SCENARIOS
from minibatch.workload.traces import FORMATS

_DRAWN = "prompts "
_TRACES = tuple(f"{known.title} " for known in FORMATS.values())
"""How the words of drawn requests and of traces begin (`Traffic.load`)."""
_OTHER_TITLES = {"typed prompts": "Your own prompts", "requests file": "Requests from a file"}


def title(header: Header) -> str:
    """What was run, in a few words."""
    if header.scenario in SCENARIOS:
        return SCENARIOS[header.scenario].title
    if header.scenario.startswith(_DRAWN):
        return "Requests drawn at random"
    if header.scenario.startswith(_TRACES):
        return sentence_case(header.scenario.partition(", ")[0])
    return _OTHER_TITLES.get(header.scenario, header.scenario)


def watch(header: Header) -> str:
    """What there is to see, or of traffic what it is and how it was changed; "" where neither is known."""
    if header.scenario in SCENARIOS:
        return SCENARIOS[header.scenario].watch
    said = header.scenario
    if said.startswith(_TRACES):
        said = said.partition(", ")[2]
    elif not said.startswith(_DRAWN):
        return ""
    return f"{sentence_case(said)}." if said else ""


def sentence_case(text: str) -> str:
    """`text` as a sentence begins."""
    return text[:1].upper() + text[1:]


def rejected_in_words(recordings: Sequence[Recording]) -> str:
    """A sentence where requests were rejected: what is counted in means, and what is not; else ""."""
    counts = {
        recording.header.policy: sum(request.finish_reason == "rejected" for request in recording.requests)
        for recording in recordings
    }
    if not any(counts.values()):
        return ""
    of = plural(len(recordings[0].requests), "request")
    if len(set(counts.values())) == 1:
        words = f"{next(iter(counts.values())):,} of {of} rejected"
    else:
        words = f"Of {of} rejected: {', '.join(f'{number:,} by {policy}' for policy, number in counts.items())}"
    return f"{words}; latencies are of those that were served."


def provenance(header: Header) -> str:
    """Where the numbers come from, in the words that captions use."""
    return f"{machine_in_words(header)}, model {header.model} in {header.dtype}"


def provenances(recordings: Sequence[Recording]) -> str:
    """Where the numbers of several recordings come from: said once, or by policy where they differ."""
    words = {recording.header.policy: provenance(recording.header) for recording in recordings}
    if len(set(words.values())) == 1:
        return next(iter(words.values()))
    return "; ".join(f"{policy} {where}" for policy, where in words.items())


def clocks(recordings: Sequence[Recording]) -> str:
    """Measured, modelled, or both: the word that an axis carries."""
    return " and ".join(dict.fromkeys(recording.header.clock for recording in recordings))


def intro_html(heading: str, sentence: str) -> str:
    """The head of a page that has no recording to show."""
    return f"<div class='mb-head'><h2>{escape(heading)}</h2><p class='mb-watch'>{escape(sentence)}</p></div>"


def ledger_legend_html(columns: Sequence[tuple[str, str]]) -> str:
    """(name, colour) of each part of a ledger's bars."""
    keys = "".join(
        f"<span><i class='mb-key' style='background:{colour}'></i>{escape(name)}</span>" for name, colour in columns
    )
    return f"<div class='mb-legend'>{keys}</div>"


def progress_words(policy: str, finished: int, total: int) -> str:
    return f"{policy}: {finished:,} of {plural(total, 'request')}"
