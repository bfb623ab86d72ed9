"""Colours: eight for requests that colour-blind people can tell apart, and the greys of each theme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

REQUEST_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7E6BC4", "#8C8C3C")
"""Okabe and Ito's palette without its yellow and black, which vanish on a light or dark ground."""

REQUEST_INKS = ("#FFFFFF", "#1A1A1A", "#FFFFFF", "#1A1A1A", "#1A1A1A", "#FFFFFF", "#FFFFFF", "#FFFFFF")
"""Text that is legible on each of REQUEST_COLOURS."""


@dataclass(frozen=True, slots=True)
class Theme:
    """What charts take from the page: its colours, and how large the type is.

    Attributes:
        ink: text and lines that matter; `muted` text beside it; `faint` lines behind it.
        lane: ground of a slot that no request holds.
        good, bad: text that says right and wrong.
        phases: fill of each column of a ledger, by its name.
        scale: 1, or more for a projector.
    """

    ink: str
    muted: str
    faint: str
    surface: str
    lane: str
    accent: str
    good: str
    bad: str
    phases: tuple[tuple[str, str], ...]
    scale: float = 1.0

    def px(self, size: float) -> float:
        """`size` in pixels, scaled."""
        return round(size * self.scale, 1)

    def phase(self, name: str) -> str:
        return dict(self.phases)[name]


_LIGHT: dict[str, Any] = {
    "ink": "#1F2328",
    "muted": "#5F6670",
    "faint": "#DADDE1",
    "surface": "#FFFFFF",
    "lane": "#F4F5F6",
    "accent": "#0B5CAD",
    "good": "#0A7A50",
    "bad": "#B3261E",
    "phases": (
        ("queue", "#C9CED6"),
        ("prefill", "#12406B"),
        ("decode", "#5C9BD6"),
        ("preempted", "#8B6F9C"),
        ("stalled", "#D1495B"),
        ("padding", "#A9AEB6"),
        ("idle_waiting", "#D9DCE0"),
        ("idle_empty", "#EEEFF1"),
    ),
}

_DARK: dict[str, Any] = {
    "ink": "#ECEEF1",
    "muted": "#A3AAB4",
    "faint": "#3A4048",
    "surface": "#14171B",
    "lane": "#20242A",
    "accent": "#6FB1F2",
    "good": "#58C79A",
    "bad": "#FF8A80",
    "phases": (
        ("queue", "#4A515B"),
        ("prefill", "#A9D0F5"),
        ("decode", "#3F7FBF"),
        ("preempted", "#A88CBB"),
        ("stalled", "#E56A79"),
        ("padding", "#6B727C"),
        ("idle_waiting", "#3A4048"),
        ("idle_empty", "#262A30"),
    ),
}


def theme(kind: str | None, scale: float = 1.0) -> Theme:
    """The theme of a "light" or "dark" page; light while the browser has not said."""
    return Theme(**(_DARK if kind == "dark" else _LIGHT), scale=scale)


def lesson_variables() -> str:
    """The colours as CSS variables of lessons and of the site's pages, by theme; paper has the light ones."""
    light, dark = (_declarations(each) for each in (_LIGHT, _DARK))
    requests = " ".join(f"--request-{index}: {colour};" for index, colour in enumerate(REQUEST_COLOURS))
    return (
        f".mbl-lesson, .mbl-site {{ {light} {requests} color-scheme: light; }}\n"
        f'.mbl-lesson[data-theme="dark"] {{ {dark} color-scheme: dark; }}\n'
        f"@media (prefers-color-scheme: dark) {{ .mbl-site {{ {dark} color-scheme: dark; }} }}\n"
        f"@media print {{ .mbl-lesson.mbl-lesson {{ {light} color-scheme: light; }} }}\n"
    )


def _declarations(colours: dict[str, Any]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in colours.items() if isinstance(value, str))


def request_colour(request_id: int) -> str:
    return REQUEST_COLOURS[request_id % len(REQUEST_COLOURS)]


def request_ink(request_id: int) -> str:
    return REQUEST_INKS[request_id % len(REQUEST_INKS)]
