"""A sweep in words and tables: knees and what binds, the goodput frontier, alerts, and every point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from minibatch.analysis.formats import count, percent, plural, three_figures
from minibatch.analysis.slo import Slo
from minibatch.analysis.sweeps.alerts import Alarm, Alert, alerts
from minibatch.analysis.sweeps.curves import Curve
from minibatch.analysis.sweeps.file import SweepRow
from minibatch.analysis.sweeps.search import Search, SearchEnd
from minibatch.ui.load.panels import name_of, preempted, unit_of


def knees_html(curves: Sequence[Curve]) -> str:
    """Each curve's knee and the reason."""
    lines = "".join(
        f"<dt>{escape(curve.policy + curve.knobs_in_words)}</dt><dd>{escape(curve.sentence)}</dd>" for curve in curves
    )
    return f"<dl class='mb-knees'>{lines}</dl>"


def frontier_html(curves: Sequence[Curve], slo: Slo, searches: Mapping[str, Search], share: float) -> str:
    """The highest goodput of each curve and the load where it has it; with a search, the highest load that meets."""
    unit = unit_of(curves[0].rows)
    heads = ["highest goodput, requests/s", f"at {unit}", "met the SLO", "knee"]
    if searches:
        heads.append(f"highest {unit}, {percent(share)} % meet")
    rows = []
    for curve in curves:
        place, knee = curve.best_goodput, curve.knee.index
        cells = ["0", "–", "–"]
        if place is not None:
            cells = [
                three_figures(curve.goodputs[place]),
                three_figures(curve.rows[place].load.value),
                f"{percent(curve.attainments[place])} %",
            ]
        cells.append("–" if knee is None else three_figures(curve.rows[knee].load.value))
        name = name_of(curve)
        if searches:
            cells.append(_found(searches[name]) if name in searches else "–")
        rows.append((name, cells))
    return _table(heads, rows, f"SLO: {slo.words}. All numbers modelled.")


def _found(search: Search) -> str:
    if search.load is None:
        return search.outcome.value
    load = three_figures(search.load)
    return load if search.outcome is SearchEnd.FOUND else f"{load}: {search.outcome.value}"


def alerts_of(curves: Sequence[Curve], slo: Slo | None) -> list[tuple[str, SweepRow, list[Alert]]]:
    """(curve, row, alerts) of the points at which any goes off."""
    found = []
    for curve in curves:
        for row in curve.rows:
            busy = row.metrics["busy"]
            goodput = row.judge(slo) if slo else None
            if off := alerts(row.metrics, busy=None if busy is None else float(busy), goodput=goodput):
                found.append((name_of(curve), row, off))
    return found


def alerts_title(found: Sequence[tuple[str, SweepRow, list[Alert]]], num_points: int) -> str:
    thrashing = sum(alert.alarm is Alarm.THRASHING for _, _, off in found for alert in off)
    words = f"Alerts at {len(found)} of {plural(num_points, 'point')}"
    return f"{words}, thrashing at {thrashing}" if thrashing else words


def alerts_html(found: Sequence[tuple[str, SweepRow, list[Alert]]]) -> str:
    unit = unit_of([found[0][1]])
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{three_figures(row.load.value)}</td>"
        f"<td>{escape(' '.join(_sentences(off)))}</td></tr>"
        for name, row, off in found
    )
    return (
        "<div class='mb-scroll' tabindex='0'><table class='mb-metrics mb-alerts'>"
        "<caption>All numbers modelled.</caption>"
        f"<thead><tr><th></th><th scope='col'>{unit}</th><th scope='col'>alerts</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _sentences(off: Sequence[Alert]) -> list[str]:
    """Thrashing counts the preemptions too."""
    thrashes = any(alert.alarm is Alarm.THRASHING for alert in off)
    return [alert.sentence for alert in off if not (thrashes and alert.alarm is Alarm.PREEMPTIONS)]


def points_html(curves: Sequence[Curve], slo: Slo | None) -> str:
    """Every point: what the charts show, and what they leave out."""
    rejects = any(row.metrics["num_rejected"] for curve in curves for row in curve.rows)
    heads = [
        unit_of(curves[0].rows), "completed/s", *(["rejected"] if rejects else []), "tokens/s", "TTFT p99", "TPOT p99",
        "ITL p99", "queue", "preempted", "KV", *(["goodput/s", "met SLO"] if slo else []), "",
    ]  # fmt: skip
    rows = [
        (name_of(curve) if place == 0 else "", _cells(curve, place, slo is not None, rejects))
        for curve in curves
        for place in range(len(curve.rows))
    ]
    limits = f" SLO: {slo.words}." if slo else ""
    caption = f"Latencies in ms, queue time in the mean; preemptions per request.{limits} All numbers modelled."
    return _table(heads, rows, caption)


def _cells(curve: Curve, place: int, has_slo: bool, rejects: bool) -> list[str]:
    row = curve.rows[place]
    metrics = row.metrics
    names = ("p99_ttft_ms", "p99_tpot_ms", "p99_itl_ms", "mean_queue_time_ms")
    usage = metrics["mean_kv_cache_usage"]
    cells = [
        three_figures(row.load.value),
        three_figures(curve.throughputs[place]),
        *([count(metrics["num_rejected"])] * rejects),
        three_figures(metrics["output_throughput"]),
        *(three_figures(metrics[name]) for name in names),
        three_figures(preempted(row)),
        "–" if usage is None else f"{percent(usage)} %",
    ]
    if has_slo:
        share = curve.attainments[place]
        cells += [three_figures(curve.goodputs[place]), "–" if share is None else f"{percent(share)} %"]
    return [*cells, "knee" if place == curve.knee.index else ""]


def _table(heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], caption: str) -> str:
    head = "".join(f"<th scope='col'>{escape(title)}</th>" for title in heads)
    body = "".join(
        f"<tr><th scope='row'>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
        for name, cells in rows
    )
    return (
        f"<div class='mb-scroll' tabindex='0'><table class='mb-metrics mb-sweep'><caption>{escape(caption)}</caption>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
