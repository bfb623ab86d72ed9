"""Results of a benchmark: each a line on stdout as it comes, progress on stderr, and all as JSON in the end."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import minibatch
from minibatch.analysis.formats import three_figures
from minibatch.recording.storage import check_writable, write_atomically

SCHEMA = """\
the file of --json is one object:
  benchmark     the command
  complete      false where it was stopped; the file then holds what was measured until then
  quick         whether --quick was given
  date          of its end, UTC, ISO 8601
  machine       system, processor, cores, load_average over the last minute
  versions      of minibatch, python and the packages that were measured, by name
  settings      the command's options, by name
  measurements  a list of {name, of, unit, median, low, high, count}; ratios have the unit "x"
"""
_PACKAGES = ("torch", "transformers", "numpy", "streamlit", "altair", "playwright")


@dataclass(frozen=True, slots=True)
class Spread:
    """A median and the range around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Measured:
    """Values of one quantity, in order; `unit` "x" is a ratio."""

    name: str
    values: Sequence[float]
    unit: str = ""

    def __str__(self) -> str:
        spread = Spread.of(self.values)
        unit = "×" if self.unit == "x" else f" {self.unit}" if self.unit else ""
        around = f" ({three_figures(spread.low)}–{three_figures(spread.high)})" if len(self.values) > 1 else ""
        return f"{self.name} {three_figures(spread.median)}{unit}{around}".strip()


class Report:
    """What a benchmark has measured until now.

    Attributes:
        complete: false until the benchmark has come to its end.
    """

    def __init__(self) -> None:
        self.complete = False
        self.measurements: list[dict[str, Any]] = []

    def add(self, of: str, *measured: Measured) -> None:
        """Print what was measured of something, in one line, and keep it."""
        print(f"{of}: {', '.join(map(str, measured))}", flush=True)
        for each in measured:
            found = {"name": each.name or of, "of": of, "unit": each.unit, **asdict(Spread.of(each.values))}
            self.measurements.append({**found, "count": len(each.values)})

    def note(self, text: str) -> None:
        """Print what belongs to no number."""
        print(text, flush=True)

    def progress(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def to_json(self, benchmark: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """As `SCHEMA` says."""
        return {
            "benchmark": benchmark,
            "complete": self.complete,
            "quick": bool(settings.get("quick")),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": {
                "system": platform.platform(),
                "processor": platform.processor() or platform.machine(),
                "cores": os.cpu_count(),
                "load_average": os.getloadavg()[0],
            },
            "versions": {"minibatch": minibatch.__version__, "python": platform.python_version(), **_versions()},
            "settings": {name: value for name, value in settings.items() if name not in ("quick", "json", "execute")},
            "measurements": self.measurements,
        }


@contextmanager
def reporting(benchmark: str, settings: Mapping[str, Any], out: Path | None) -> Iterator[Report]:
    """A report to fill. Ctrl-C ends the benchmark and keeps what was measured; `complete` then stays false.

    Raises:
        OSError: `out` can't be written; said before anything is measured.
    """
    if out is not None:
        check_writable(out)
    report = Report()
    try:
        yield report
        report.complete = True
    except KeyboardInterrupt:
        report.progress("\nstopped: what was measured until now is above" + (f" and in {out}" if out else ""))
    finally:
        if out is not None:
            text = json.dumps(report.to_json(benchmark, settings), indent=1, default=str)
            write_atomically(out, text.encode() + b"\n")


def _versions() -> dict[str, str]:
    installed = {}
    for name in _PACKAGES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return installed
