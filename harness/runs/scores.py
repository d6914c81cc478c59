"""The headline scores of a run as attributes: `run.scores.success.value`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.decoding import convert_to
from harness.errors import suggestion
from parsers.declaration import Declaration, Measure
from parsers.estimates import PARENTS
from parsers.rates import Interval


@dataclass(frozen=True, slots=True)
class _Score:
    """A headline score.

    Attributes:
        name: its name in tables of results.
        value: a share between 0 and 1; None if there is none.
        interval: its confidence interval; None without a value.
        n: number of the things it averages, or of complete parents (task success); repeats
            do not add to it.
        over: these things, in words (`tasks`).
        reason: why the value is missing; "" with one.
    """

    name: str
    value: float | None
    interval: Interval | None
    n: int
    over: str
    reason: str = ""

    def __repr__(self) -> str:
        return f"<{self.name}: {self._text}>"

    @property
    def _text(self) -> str:
        if self.value is None:
            return f"none, {self.reason}"
        text = f"{100 * self.value:.1f} %"
        if self.interval is not None:
            text += f" [{100 * self.interval.low:.1f}, {100 * self.interval.high:.1f}]"
        return f"{text}, n = {self.n:,} {self.over}"


@dataclass(frozen=True, repr=False)
class RunScores(Mapping[str, _Score]):
    """The headline scores of a run by name (`task_success`), as items and as attributes.

    Measures without a value are there, too, with the reason. An unknown name raises `KeyError` or
    `AttributeError` with the known ones.
    """

    _scores: Mapping[str, _Score]
    _title: str

    def __getitem__(self, name: str) -> _Score:
        if name not in self._scores:
            raise KeyError(f"no score '{name}'; {suggestion(name, self)}")
        return self._scores[name]

    def __getattr__(self, name: str) -> _Score:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._scores]

    def __repr__(self) -> str:
        width = max(map(len, self._scores), default=0)
        lines = (f"  {name:{width}}  {score._text}" for name, score in self._scores.items())
        return "\n".join([f"{self._title}:", *lines])


Row = Mapping[str, Any]
"""A number as `summary.json` has it (`parsers.estimates.Estimate`)."""


def headline_of(summary: Mapping[str, Any], measure: Measure) -> Row | None:
    """Return the headline of a measure over all units of a summary, None where it has none."""
    average = PARENTS if measure.all_of else next(iter(measure.averages), "")
    rule = "strict" if summary.get("rules", {}).get("invalid") == "fail" else "valid"
    wanted = ("", measure.name, average, rule)
    for row in summary.get("estimates", ()):
        if (row["group"], row["measure"], row["average"], row["rule"]) == wanted:
            return dict(row)
    return None


def scores_of(summary: Mapping[str, Any], declared: Declaration, title: str) -> RunScores:
    """Return the headline scores that a summary holds, those of the main measure first."""
    variants = {f"{m.name}.{one}" for m in declared.measures for one in declared.variants(m.name)}
    measures = [one for one in declared.of_units if one.head or one.name not in variants]
    measures += declared.of_parents
    measures.sort(key=lambda one: not one.main)
    found = {}
    for measure in measures:
        row = headline_of(summary, measure)
        make = _of_parents if measure.all_of else _of_units
        found[measure.name] = make(row, measure, declared, summary)
    return RunScores(found, title)


def _of_units(
    row: Row | None, measure: Measure, declared: Declaration, summary: Mapping[str, Any]
) -> _Score:
    average, row = measure.averages[0], row or {"number": None, "n": 0}
    cells = " x ".join(measure.cells) + " cells"
    many = declared.level(measure.over).many
    over = {"macro": many, "micro": declared.units, "cells": cells}[average]
    reason = ""
    if row["number"] is None:
        settled = summary["counts"][0]["n_settled"]
        none = f"no {declared.unit} has {'this score' if settled else 'been scored'}"
        reason = (row["n"] and _why_open(measure, declared)) or none
    n = row["n"] // summary["repeats"] if average == "micro" else row["n"]
    return _score(measure, row, summary, n, over, reason)


def _of_parents(
    row: Row | None, measure: Measure, declared: Declaration, summary: Mapping[str, Any]
) -> _Score:
    level = declared.level(measure.over)
    if row is None:
        reason = _why_open(measure, declared) or "not measured"
        return _Score(measure.name, None, None, 0, level.many, reason)
    complete, total = (row[name] // summary["repeats"] for name in ("complete", "n"))
    reason = ""
    if row["number"] is None:
        reason = f"no {level.one} has been scored"
        if row["complete"] < row["n"]:
            reason = f"withheld until every {level.one} is complete ({complete:,} of {total:,})"
    return _score(measure, row, summary, complete, level.many, reason)


def _why_open(measure: Measure, declared: Declaration) -> str:
    return dict(declared.flags).get(measure.unmeasured, "")


def _score(
    measure: Measure, row: Row, summary: Mapping[str, Any], n: int, over: str, reason: str
) -> _Score:
    ends = {name: row.get(name) for name in ("low", "high", "method", "clusters", "few")}
    level = summary["rules"]["level"]
    interval = None if ends["low"] is None else convert_to({**ends, "level": level}, Interval)
    return _Score(measure.name, row["number"], interval, n, over, reason)
