"""Scores as a function of the number of distractors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import pandas as pd

from harness.runs import Run, RunError, StepUnit
from parsers import Declaration
from reports.analyses.units import (
    Parents,
    changes,
    difference,
    mean_words,
    measured,
    one_declaration,
    only_differ,
    rate,
    rate_fields,
    scored,
)
from reports.grid import Field, described
from reports.kind import suited
from reports.load import RunLike, open_runs
from reports.settings import about_runs

MODEL = ("model", "base_url", "adapter_options")


def fields(declared: Declaration) -> tuple[Field, ...]:
    """Return the columns for runs of a benchmark."""
    parents, units, main = declared.innermost.many, declared.units, declared.main
    return (
        Field("model", "str", "text", "model", "the model or policy"),
        Field("run", "str", "text", "run", "the run"),
        Field("distractors", "Int64", "count", "distractors", "wrong elements asked for"),
        Field(parents, "Int64", "count", parents, f"{parents} of the {units} in all of the runs"),
        Field(units, "Int64", "count", units, f"{units} with scores in all runs of the model"),
        Field("chance", "float64", "percent", "chance", "share right of a random choice"),
        *(
            field
            for measure in declared.in_tables
            for field in rate_fields(measure.result, measure.head, measure.meaning)
        ),
        *rate_fields(
            "change", f"{main.head}, change", f"{main.meaning} minus that of the run above", True
        ),
    )


def distractor_curve(runs: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return a row per run with the scores on the units shared by all runs of its model.

    Each model makes a curve; its runs may differ only in the number of distractors. `change` is the
    paired difference from the run with the next smaller number. A note says whether the choices of
    each run are a subset of the next run's. Raises `RunError` for runs that differ in anything
    else, and where no run lists choices.
    """
    opened, others = suited(open_runs(runs), "distractors")
    declared = one_declaration(opened)
    only_differ(opened, ("distractors", *MODEL), "model and number of distractors")
    models: dict[str, dict[str, Run]] = {}
    for label, run in opened.items():
        models.setdefault(run.manifest.model_name, {})[label] = run
    records: list[dict[str, Any]] = []
    notes = list(others)
    for model, model_runs in models.items():
        only_differ(model_runs, ("distractors",), "the number of distractors")
        curve = _Curve(model, model_runs, declared)
        records += curve.records()
        notes += curve.notes
    return described(
        records,
        fields(declared),
        title="Scores by number of distractors",
        about=about_runs(opened),
        notes=(
            f"{mean_words(declared)} Changes are in points, paired by {declared.unit}, against the "
            "next smaller number.",
            *notes,
        ),
        declared=declared,
    )


class _Curve:
    """The runs of one model by increasing number of distractors."""

    def __init__(self, model: str, runs: Mapping[str, Run], declared: Declaration) -> None:
        self.model = model
        self.declared = declared
        ordered = sorted(runs, key=lambda label: _number(label, runs[label]))
        self.runs = {label: runs[label] for label in ordered}
        numbers = [_number(label, run) for label, run in self.runs.items()]
        twice = next((n for n in numbers if numbers.count(n) > 1), None)
        if twice is not None:
            raise RunError(f"{model} has several runs with {twice} distractors")
        self.steps = {label: scored(run) for label, run in self.runs.items()}
        shared = set.intersection(*(set(steps) for steps in self.steps.values()))
        first = next(iter(self.steps.values()))
        self.common = {key: record for key, record in first.items() if key in shared}
        self.notes = list(self._checks())

    def _checks(self) -> Iterator[str]:
        for label, steps in self.steps.items():
            if len(steps) > len(self.common):
                extra = len(steps) - len(self.common)
                units = self.declared.units
                yield f"{extra} {units} of {label} are left out: they have no scores elsewhere."
        labels = list(self.steps)
        nested = True
        for small, large in pairwise(labels):
            inside = sum(_nested(self.steps[small][k], self.steps[large][k]) for k in self.common)
            if inside < len(self.common):
                nested = False
                yield (
                    f"NOT nested: in {len(self.common) - inside} of {len(self.common)} "
                    f"{self.declared.units} the choices of {small} are not among those of {large}."
                )
        if nested and len(labels) > 1:
            yield f"{self.model}: the choices of each run are among those of the next one."

    def records(self) -> Iterator[dict[str, Any]]:
        declared = self.declared
        parents = Parents.of(self.common.values(), declared)
        before: list[float | None] | None = None
        for label, run in self.runs.items():
            units = [self.steps[label][key] for key in self.common]
            record: dict[str, Any] = {
                "model": self.model,
                "run": label,
                "distractors": _number(label, run),
                declared.innermost.many: parents.count,
                declared.units: len(units),
                "chance": _chance(units),
            }
            config = run.manifest.config
            reached: list[float | None] = []
            for measure in declared.in_tables:
                values = [measured(unit, measure, config) for unit in units]
                record |= rate(measure.result, *parents.known(values))
                if measure == declared.main_of_units:
                    reached = values
            if before is not None:
                record |= difference("change", *parents.known(changes(before, reached)))
            before = reached
            yield record


def _number(label: str, run: Run) -> int:
    number = run.manifest.config.get("distractors")
    if not isinstance(number, int):
        raise RunError(f"{label} does not say how many distractors it has")
    return number


def _nested(small: StepUnit, large: StepUnit) -> bool:
    listed = {choice.id for choice in large.detail.choices}
    return all(choice.id in listed for choice in small.detail.choices)


def _chance(records: Iterable[StepUnit]) -> float | None:
    shares = [
        len(record.detail.right) / len(record.detail.choices)
        for record in records
        if record.detail.choices
    ]
    return sum(shares) / len(shares) if shares else None
