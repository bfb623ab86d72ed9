"""The metrics of a comparison: a row a metric in plain words, a column a policy, the best one marked."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd

from minibatch.analysis.load_advice import too_little_load
from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.shown_metrics import COUNTS, HEADLINES, ROWS, best_of_row
from minibatch.recording.schema import Recording


def metrics_frame(recordings: Sequence[Recording]) -> pd.DataFrame:
    """The whole table as data, indexed by metric key, in the order of ROWS.

    Columns `group`, `words`, `brief`, `unit`; then for each policy under "shown <policy>" its number,
    and under "best <policy>" whether it is the best of the row, ties included.
    None is the best where the load is too little to tell policies apart.
    """
    metrics, idle = [compute_metrics(recording) for recording in recordings], bool(too_little_load(recordings))
    policies = [recording.header.policy for recording in recordings]
    lines = []
    for row in ROWS:
        shown = [row.show(values[row.key]) for values in metrics]
        line: dict[str, str | bool] = {
            "key": row.key,
            "group": row.group,
            "words": row.words,
            "brief": row.brief or row.words,
            "unit": row.unit,
        }
        line |= {f"shown {policy}": text for policy, text in zip(policies, shown, strict=True)}
        best = best_of_row(row, metrics, shown)
        line |= {f"best {policy}": mark and not idle for policy, mark in zip(policies, best, strict=True)}
        lines.append(line)
    return pd.DataFrame(lines).set_index("key")


def shown_first(frame: pd.DataFrame, policies: Sequence[str]) -> list[str]:
    """The keys of the few rows that stand above all; how many requests were served where some were rejected."""
    rejected = frame.loc["num_rejected", [f"shown {policy}" for policy in policies]]
    return list(HEADLINES if (rejected == "0").all() else (*COUNTS, *HEADLINES))


def metrics_html(frame: pd.DataFrame, policies: Sequence[str], caption: str, grouped: bool) -> str:
    """The table, or some rows of it, as HTML; `grouped` under the headings of their groups.

    The best of a row is bold and carries a dot. `caption` says measured or modelled.
    """
    head = "".join(f"<th scope='col'>{escape(policy)}</th>" for policy in policies)
    body, group = [], None
    for key, line in frame.iterrows():
        if grouped and line["group"] != group:
            group = line["group"]
            body.append(f"<tr class='mb-group'><th colspan='{len(policies) + 1}'>{escape(group)}</th></tr>")
        cells = "".join(_cell(line[f"shown {policy}"], bool(line[f"best {policy}"])) for policy in policies)
        name = f"{_name(line['words' if grouped else 'brief'], line['unit'])}<code>{escape(str(key))}</code>"
        body.append(f"<tr><th scope='row'>{name}</th>{cells}</tr>")
    return (
        f"<div class='mb-scroll' tabindex='0'><table class='mb-metrics'><caption>{escape(caption)}</caption>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _name(words: str, unit: str) -> str:
    """A row's name and unit; the unit never stands alone on a line."""
    if not unit:
        return escape(words)
    first, _, last = words.rpartition(" ")
    tail = f"<span class='mb-tail'>{escape(last)} <span class='mb-unit'>{escape(unit)}</span></span>"
    return f"{escape(first)} {tail}" if first else tail


def _cell(text: str, best: bool) -> str:
    if not best:
        return f"<td>{escape(text)}</td>"
    return f"<td class='mb-best'><span title='best of the row'>●</span>{escape(text)}</td>"
