"""What a reproduction comes to: published and modelled figures side by side, and why they differ where they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from minibatch.analysis.formats import three_figures
from minibatch.analysis.registry.claims import Claim, find_claim

OFF = 0.3
"""A modelled figure that differs from the published one by more than this share of it is off."""
OFF_EXPLAINED = "off: modelled and published are more than 30\N{NO-BREAK SPACE}% apart"
"""What the word, and the mark in its place, stand for."""


@dataclass(frozen=True, slots=True)
class Published:
    """A published figure: one claim, or the quotient of two of one unit.

    Raises:
        ValueError: not one claim or two, or two that can't be divided.
    """

    claims: tuple[Claim, ...]

    def __post_init__(self) -> None:
        if len(self.claims) not in (1, 2) or len({claim.unit for claim in self.claims}) > 1:
            raise ValueError(f"{[claim.id for claim in self.claims]}: use one claim, or two of one unit")
        if len(self.claims) == 2 and not self.claims[1].value:
            raise ValueError(f"{self.claims[1].id} is 0: nothing can be compared with it")

    @property
    def value(self) -> float:
        """In `unit`."""
        first, *rest = (claim.value for claim in self.claims)
        return first / rest[0] if rest else first

    @property
    def unit(self) -> str:
        return self.claims[0].unit if len(self.claims) == 1 else "x"

    @property
    def words(self) -> str:
        """The figure with its unit, how it was made of two, and the word that must stand beside it."""
        notes = list(dict.fromkeys(claim.standing for claim in self.claims if claim.standing))
        if len(self.claims) == 2:
            notes.insert(0, " / ".join(claim.words for claim in self.claims))
        figure = self.claims[0].words if len(self.claims) == 1 else f"{three_figures(self.value)} x"
        return f"{figure} ({', '.join(notes)})" if notes else figure

    @property
    def source(self) -> str:
        """What the figure is of, its source, and when that was checked."""
        return " / ".join(
            f"{claim.of}: {claim.words}, {claim.source_in_words}, checked {claim.checked.isoformat()}"
            for claim in self.claims
        )


def published(*claim_ids: str) -> Published:
    """The figure of a claim, or the quotient of two; ValueError as `find_claim` and `Published`."""
    return Published(tuple(map(find_claim, claim_ids)))


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One comparison.

    Attributes:
        what: what both figures are of.
        modelled: in `unit`; None where the model can't say, and `why` tells the reason.
        published: None where it has not been published and the modelled figure stands beside the others.
        why: what explains a difference; shown where the figures are more than `OFF` apart.

    Raises:
        ValueError: the units differ, there is no figure at all, or a published one has no `why`.
    """

    what: str
    modelled: float | None
    unit: str
    published: Published | None = None
    why: str = ""

    def __post_init__(self) -> None:
        if self.published is not None and self.published.unit != self.unit:
            raise ValueError(f"{self.what}: published in {self.published.unit}, modelled in {self.unit}")
        if not self.why and (self.published is not None or self.modelled is None):
            raise ValueError(f"{self.what}: say why the figures may differ, or why one is missing")

    @property
    def ratio(self) -> float | None:
        """Modelled / published; None where one is missing."""
        if self.modelled is None or self.published is None:
            return None
        return self.modelled / self.published.value

    @property
    def is_off(self) -> bool:
        """Whether the figures differ by more than 30 % of the published one."""
        # Rounded: a quotient that is 1.3 on paper must not be off by its last bit.
        return self.ratio is not None and round(abs(self.ratio - 1), 9) > OFF

    @property
    def verdict(self) -> str:
        """How far the modelled figure is off and why, or why there is none; empty where neither holds."""
        if self.modelled is None:
            return f"Not modelled: {self.why}"
        if self.ratio is None or not self.is_off:
            return ""
        side = "above" if self.ratio > 1 else "below"
        return f"Modelled is {100 * abs(self.ratio - 1):.0f} % {side} what was published. {self.why}"

    @property
    def modelled_words(self) -> str:
        """The modelled figure with its unit."""
        return "–" if self.modelled is None else f"{three_figures(self.modelled)} {self.unit}"

    @property
    def published_words(self) -> str:
        """The published figure with its unit."""
        return "–" if self.published is None else self.published.words


@dataclass(frozen=True, slots=True)
class PlottedCurve:
    """A line of a chart, or single points where they are published; points are (x, y)."""

    name: str
    standing: Literal["published", "modelled"]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """The shape of a result: titles of the axes with their units, and curves. Both scales are logarithmic."""

    x: str
    y: str
    curves: tuple[PlottedCurve, ...]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One experiment, published and modelled.

    Attributes:
        name: what the command takes.
        compared: in a sentence, what was run and what is compared.
        machine: what the modelled runs ran on, in words.
        assumptions: what was not published or is done otherwise, a sentence each.
        chart: None where bars of the rows show the shape.
    """

    name: str
    title: str
    compared: str
    machine: str
    rows: tuple[ResultRow, ...]
    assumptions: tuple[str, ...]
    chart: Chart | None = None


class StoppedError(Exception):
    """The experiment was asked to stop; nothing is known of it."""


class Watch:
    """Passes progress on, and stops an experiment between two of its runs.

    Args:
        on_progress: told the share that is done, 0 to 1.
        should_stop: asked before every run.
    """

    def __init__(
        self,
        on_progress: Callable[[float], None] = lambda share: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._on_progress = on_progress
        self._should_stop = should_stop

    def at(self, done: float, total: float) -> None:
        """About to begin the run after `done` of about `total`; StoppedError where it must not."""
        if self._should_stop():
            raise StoppedError
        self._on_progress(min(1.0, done / total))
