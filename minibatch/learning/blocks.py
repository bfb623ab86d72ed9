"""Blocks of a lesson with their values: what a page shows, what a learner is asked, and what is right."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from minibatch.analysis.registry.claims import find_claim
from minibatch.analysis.shown_metrics import MetricRow
from minibatch.learning.expressions import METRIC_ROWS, Figures, metric_words
from minibatch.learning.fields import Fields, short
from minibatch.learning.markup import Piece
from minibatch.learning.quiz import quiz_block
from minibatch.learning.run_spec import Spec, check_spec
from minibatch.learning.text import Href, to_html
from minibatch.learning.words import in_unit, localised
from minibatch.scheduling import DEFAULTS, POLICIES
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.scenarios import SCENARIOS

Block = dict[str, Any]
_MOST_SETTINGS = 24
_KNOBS = SchedulerConfig.__slots__


class Blocks:
    """Turns the pieces of one lesson into blocks.

    Args:
        runs: specs by name; blocks that state a run of their own add to them.
        href: where a lesson stands.
        language: in which figures are shown.
    """

    def __init__(self, runs: dict[str, Spec], href: Href, language: str = "en") -> None:
        self.runs = runs
        self.figures = Figures(runs, language)
        self.words = self.figures.words
        self._href = href
        self._makers: Mapping[str, Callable[[Fields], Block]] = {
            "player": self._player, "chart": self._chart, "explore": self._explore, "predict": self._predict,
            "quiz": self._quiz, "source": self._source, "claim": self._claim,
        }  # fmt: skip

    def block(self, piece: Piece) -> Block:
        """Raises ValueError: something in it is wrong; the sentence says what was expected."""
        if piece.kind in ("text", "notes"):
            return {"kind": piece.kind, "html": self.html(piece.text)}
        fields = Fields(piece.kind, piece.fields)
        block = {"kind": piece.kind, **self._makers[piece.kind](fields)}
        fields.end()
        return block

    def html(self, text: str, inline: bool = False) -> str:
        return to_html(text, self.figures, self._href, inline)

    def _run(self, fields: Fields) -> str:
        name = fields.text("run")
        if name not in self.runs:
            raise ValueError(f"there is no run {name!r}: the front matter has {', '.join(self.runs) or 'none'}")
        return name

    def _player(self, fields: Fields) -> Block:
        run = self._run(fields)
        options: Block = {}
        if fields.has("policies"):
            options["policies"] = fields.items("policies", among=tuple(POLICIES))
        for name, choices in (("focus", tuple(POLICIES)), ("view", ("whole", "close")), ("controls", ("all", "none"))):
            if fields.has(name):
                options[name] = fields.one_of(name, choices)
        if fields.has("start_s"):
            options["start_s"] = fields.number("start_s")
        if fields.has("loop_s"):
            options["loop_s"] = fields.numbers("loop_s", 2)
        again = self._again(run, options) if fields.flag("run_here") else None
        caption = self.html(fields.text("caption", ""), True)
        return {"run": run, "options": options, "again": again, "caption_html": caption}

    def _again(self, run: str, options: Block) -> dict[str, str]:
        """What of a recorded scenario runs it again, on the reader's machine; parameters of a link."""
        scenario = SCENARIOS.get(str(self.runs[run].get("recording")))
        if scenario is None:
            raise ValueError(f"run_here is set and run {run!r} is no recording of a scenario: expected one of them")
        policies = options.get("policies") or self.runs[run].get("policies") or list(DEFAULTS)
        again = {"scenario": scenario.name, "model": scenario.model, "policies": ",".join(policies)}
        return again | ({"temperature": "0"} if scenario.model.startswith("random:") else {})

    def _chart(self, fields: Fields) -> Block:
        kind = fields.one_of("type", ("bars", "lines", "points"), "bars")
        series = []
        for given in fields.items("series"):
            part = Fields("a series", given if isinstance(given, dict) else {})
            points = [_pair(point) for point in part.items("points")]
            where = [x if kind == "bars" else self.figures.number(x) for x, _ in points]
            values = [self.figures.number(y) for _, y in points]
            series.append({"name": part.text("name", " "), "points": list(zip(where, values, strict=True))})
            part.end()
        log = fields.items("log", 0, ())
        if not all(each in ("x", "y") for each in log):
            raise ValueError(f"log of chart is {log}: expected some of x, y")
        return {
            "type": kind, "title": self.html(fields.text("title"), True), "x": fields.text("x", ""),
            "y": fields.text("y"), "log": log, "series": series, "lies": fields.flag("lies"),
            "caption_html": self.html(fields.text("caption", ""), True),
        }  # fmt: skip

    def _explore(self, fields: Fields) -> Block:
        run, knobs = self._run(fields), fields.mapping("knobs")
        shown = [_metric_row(key) for key in fields.items("show", among=tuple(METRIC_ROWS))]
        policy = "" if "policy" in knobs else fields.one_of("policy", tuple(POLICIES))
        lists = [value if isinstance(value, list) else [value] for value in knobs.values()]
        choices = list(product(*lists))
        if not 2 <= len(choices) <= _MOST_SETTINGS:
            raise ValueError(f"the knobs of explore make {len(choices)} settings: expected 2 to {_MOST_SETTINGS}")
        find, settings = fields.text("find"), []
        for values in choices:
            setting = dict(zip(knobs, values, strict=True))
            metrics, clock = self._setting(run, setting, policy)
            kept = {row.key: metrics[row.key] for row in shown}
            words = {key: localised(metric_words(key, value), self.words) for key, value in kept.items()}
            found = self.figures.holds(find, metrics)
            settings.append({"values": setting, "metrics": kept, "words": words, "found": found, "run": None})
        if not any(setting["found"] for setting in settings):
            raise ValueError(f"no setting of explore meets `{find}`: expected at least one")
        if all(setting["found"] for setting in settings):
            raise ValueError(f"every setting of explore meets `{find}`: expected one that does not")
        return {
            "ask_html": self.html(fields.text("ask")), "clock": clock, "settings": settings,
            "labels": _labels(fields.mapping("labels") if fields.has("labels") else {}, lists),
            "knobs": [{"name": name, "label": name, "values": each} for name, each in zip(knobs, lists, strict=True)],
            "show": [{"key": row.key, "label": self.words[f"metric_{row.key}"], "unit": row.unit, "better": row.better}
                     for row in shown],
            "reveal_html": self.html(fields.text("reveal", "")),
        }  # fmt: skip

    def _setting(self, run: str, setting: Mapping[str, Any], policy: str) -> tuple[Mapping[str, Any], str]:
        """The metrics of `run` with some things set otherwise."""
        spec = varied(self.runs[run], {name: value for name, value in setting.items() if name != "policy"})
        return Figures({run: spec}, work=self.figures.work).metrics(run, str(setting.get("policy", policy)))

    def _predict(self, fields: Fields) -> Block:
        return {"ask_html": self.html(fields.text("ask")), **answer(fields, self.figures),
                "reveal_html": self.html(fields.text("reveal", ""))}  # fmt: skip

    def _quiz(self, fields: Fields) -> Block:
        return quiz_block(fields, self.figures, self.html)

    def _source(self, fields: Fields) -> Block:
        policy = fields.one_of("policy", tuple(POLICIES))
        path = Path(inspect.getsourcefile(type(POLICIES[policy])) or "")
        return {"policy": policy, "file": path.name, "code": path.read_text(encoding="utf-8"),
                "caption_html": self.html(fields.text("caption", ""), True)}  # fmt: skip

    def _claim(self, fields: Fields) -> Block:
        claim = find_claim(fields.text("id"))
        standing = self.words[claim.standing] if claim.standing else ""
        return {"id": claim.id, "words": localised(claim.words, self.words), "of": claim.of, "source": claim.source,
                "standing": standing, "checked": claim.checked.strftime(self.words["date_format"])}  # fmt: skip


def answer(fields: Fields, figures: Figures) -> Block:
    """The number that is asked for, in words and in its unit."""
    unit = fields.text("unit", " ").strip()
    figure = figures.figure(fields.text("answer"))
    return {"answer": figure.value, "answer_words": in_unit(figure.words, unit), "unit": unit}


def varied(spec: Spec, changes: Mapping[str, Any]) -> Spec:
    """`spec` with knobs, its own fields or those of its traffic set otherwise.

    Raises:
        ValueError: it can't be changed in that way.
    """
    if not changes:
        return spec
    if "recording" in spec:
        raise ValueError("a recording can't be rerun: only policy can vary; use a modelled run for other knobs")
    changed = {**spec, "knobs": dict(spec.get("knobs", {}))}
    for name, value in changes.items():
        if name in _KNOBS:
            changed["knobs"][name] = value
        elif "traffic" in spec and name in ("arrivals", "prompt_lengths", "output_lengths", "users", "think_s"):
            changed["traffic"] = {**changed["traffic"], name: value}
        else:
            changed[name] = value
    check_spec(changed)
    return changed


def _pair(point: Any) -> Sequence[Any]:
    if not isinstance(point, list | tuple) or len(point) != 2:
        raise ValueError(f"{short(point)} is no point: expected [x, y]")
    if isinstance(point[0], list | dict):
        raise ValueError(f"{short(point[0])} is no place of a point: expected a name or a number")
    return point


def _labels(given: Mapping[Any, Any], lists: Sequence[Sequence[Any]]) -> dict[str, str]:
    """What values of knobs are called on the page."""
    values = {str(value) for each in lists for value in each}
    for value in given:
        if str(value) not in values:
            raise ValueError(f"labels of explore name {value!r}: expected some of {', '.join(sorted(values))}")
    return {str(value): str(label) for value, label in given.items()}


def _metric_row(key: Any) -> MetricRow:
    if key not in METRIC_ROWS:
        raise ValueError(f"there is no metric {key!r} to show: expected some of {', '.join(METRIC_ROWS)}")
    return METRIC_ROWS[key]
