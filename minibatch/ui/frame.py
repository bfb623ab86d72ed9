"""What all charts have in common: how they take data, and how they look around their marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from minibatch.ui.palette import Theme

FONT = '"Source Sans", system-ui, sans-serif'

_SVG = {"embedOptions": {"renderer": "svg"}}
# SVG text takes the page's tabular figures and stays sharp on a projector.


def table(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart of rows, to be given a mark.

    The rows go in as they are: Altair's own way through a data frame may lose them while another
    thread draws, because Streamlit swaps its global data transformer.
    """
    return alt.Chart(alt.Data(values=list(rows)))


def framed(layers: Sequence[alt.Chart | alt.LayerChart], height: float, theme: Theme) -> alt.LayerChart:
    """Layers as one chart, as wide as its place, in the page's type and colours."""
    chart = alt.LayerChart(layer=list(layers)).properties(height=height, usermeta=_SVG)
    return chart.configure(**_config(theme))


def _config(theme: Theme) -> dict[str, Any]:
    """Vega's settings for a theme: one typeface, quiet axes, no frame."""
    axis = {
        "labelColor": theme.muted,
        "titleColor": theme.muted,
        "gridColor": theme.faint,
        "domainColor": theme.faint,
        "tickColor": theme.faint,
        "labelFontSize": theme.px(12),
        "titleFontSize": theme.px(12),
        "titleFontWeight": "normal",
        "labelPadding": 4,
        "titlePadding": 8,
    }
    return {
        "font": FONT,
        "background": "transparent",
        "padding": {"left": 0, "right": 2, "top": 2, "bottom": 2},
        "view": {"stroke": None},
        "axis": axis,
        "text": {"color": theme.ink, "fontSize": theme.px(12)},
        "title": {"color": theme.ink, "fontSize": theme.px(14), "fontWeight": 600, "anchor": "start"},
        "legend": {"labelColor": theme.muted, "titleColor": theme.muted, "labelFontSize": theme.px(12)},
    }
