"""The metrics of a comparison: a row a metric in plain words, a column a policy, the best one marked."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd

from minibatch.analysis.metrics import compute_metrics
from minibatch.analysis.summary import ROWS, best_of_row
from minibatch.recording.schema import Recording


def metrics_frame(recordings: Sequence[Recording]) -> pd.DataFrame:
    """The whole table as data, indexed by metric key, in the order of ROWS.

    Columns `group`, `words`, `brief`, `unit`; then for each policy its number as shown, and under
    "best <policy>" whether it is the best of the row, ties included.
    """
    metrics = [compute_metrics(recording) for recording in recordings]
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
        line |= dict(zip(policies, shown, strict=True))
        best = best_of_row(row, metrics, shown)
        line |= {f"best {policy}": mark for policy, mark in zip(policies, best, strict=True)}
        lines.append(line)
    return pd.DataFrame(lines).set_index("key")


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
        unit = f"<span class='mb-unit'>{escape(line['unit'])}</span>" if line["unit"] else ""
        cells = "".join(_cell(line[policy], bool(line[f"best {policy}"])) for policy in policies)
        name = f"{escape(line['words' if grouped else 'brief'])} {unit}<code>{escape(str(key))}</code>"
        body.append(f"<tr><th scope='row'>{name}</th>{cells}</tr>")
    return (
        f"<div class='mb-scroll'><table class='mb-metrics'><caption>{escape(caption)}</caption>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(text: str, best: bool) -> str:
    if not best:
        return f"<td>{escape(text)}</td>"
    return f"<td class='mb-best'><span title='best of the row'>●</span>{escape(text)}</td>"
