"""Scores as a function of the number of distractors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import pandas as pd

from harness.runs import Run, RunError, StepRecord
from harness.tables import mean_note
from parsers import declaration_of
from reports.about import about_runs
from reports.analyses.steps import (
    HEADS,
    METRICS,
    difference,
    measured,
    model_of,
    only_differ,
    rate,
    rate_fields,
    scored,
    task_of,
    variant_of,
)
from reports.grid import Field, described
from reports.kinds import suited
from reports.load import RunLike, open_runs

MODEL = ("model", "base_url", "adapter_options")
FIELDS = (
    Field("model", "str", "text", "model", "the model or policy"),
    Field("run", "str", "text", "run", "the run"),
    Field("distractors", "Int64", "count", "distractors", "wrong elements asked for"),
    Field("tasks", "Int64", "count", "tasks", "tasks of the steps that all runs have in common"),
    Field("steps", "Int64", "count", "steps", "steps with scores in all runs of the model"),
    Field("chance", "float64", "percent", "chance", "element accuracy of a random choice"),
    *(field for name in METRICS for field in rate_fields(name, HEADS[name], HEADS[name])),
    *rate_fields("change", "Step SR, change", "step success minus that of the run above", True),
)


def distractor_curve(runs: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return a row per run with the scores on the steps shared by all runs of its model.

    Each model makes a curve; its runs may differ only in the number of distractors. `change` is the
    paired difference from the run with the next smaller number. A note says whether the choices of
    each run are a subset of the next run's. Raises `RunError` for runs that differ in anything
    else, and where no run lists choices.
    """
    opened, others = suited(open_runs(runs), "distractors")
    only_differ(opened, ("distractors", *MODEL), "model and number of distractors")
    models: dict[str, dict[str, Run]] = {}
    for label, run in opened.items():
        models.setdefault(model_of(run), {})[label] = run
    records: list[dict[str, Any]] = []
    notes = list(others)
    for model, model_runs in models.items():
        only_differ(model_runs, ("distractors",), "the number of distractors")
        curve = _Curve(model, model_runs)
        records += curve.records()
        notes += curve.notes
    macro = mean_note("macro", declaration_of(None))
    return described(
        records,
        FIELDS,
        title="Scores by number of distractors",
        about=about_runs(opened),
        notes=(
            f"Per cent; {macro}; 95 % intervals with tasks as clusters. Changes are in "
            "points, paired by step, against the next smaller number.",
            *notes,
        ),
    )


class _Curve:
    """The runs of one model by increasing number of distractors."""

    def __init__(self, model: str, runs: Mapping[str, Run]) -> None:
        self.model = model
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
                yield f"{extra} steps of {label} are left out: they have no scores elsewhere."
        labels = list(self.steps)
        nested = True
        for small, large in pairwise(labels):
            inside = sum(_nested(self.steps[small][k], self.steps[large][k]) for k in self.common)
            if inside < len(self.common):
                nested = False
                yield (
                    f"NOT nested: in {len(self.common) - inside} of {len(self.common)} steps the "
                    f"choices of {small} are not among those of {large}."
                )
        if nested and len(labels) > 1:
            yield f"{self.model}: the choices of each run are among those of the next one."

    def records(self) -> Iterator[dict[str, Any]]:
        tasks = [task_of(record) for record in self.common.values()]
        before: list[float] | None = None
        for label, run in self.runs.items():
            shared_steps = [self.steps[label][key] for key in self.common]
            variant = variant_of(run)
            values = {m: [measured(record, m, variant) for record in shared_steps] for m in METRICS}
            record: dict[str, Any] = {
                "model": self.model,
                "run": label,
                "distractors": _number(label, run),
                "tasks": len(set(tasks)),
                "steps": len(shared_steps),
                "chance": _chance(shared_steps),
            }
            for metric in METRICS:
                record |= rate(metric, values[metric], tasks)
            success = values["step_success"]
            if before is not None:
                changes = [new - old for new, old in zip(success, before, strict=True)]
                record |= difference("change", changes, tasks)
            before = success
            yield record


def _number(label: str, run: Run) -> int:
    number = run.manifest.config.get("distractors")
    if not isinstance(number, int):
        raise RunError(f"{label} does not say how many distractors it has")
    return number


def _nested(small: StepRecord, large: StepRecord) -> bool:
    listed = {choice.id for choice in large.detail.choices}
    return all(choice.id in listed for choice in small.detail.choices)


def _chance(records: Iterable[StepRecord]) -> float | None:
    shares = [
        sum(choice.positive for choice in record.detail.choices) / len(record.detail.choices)
        for record in records
        if record.detail.choices
    ]
    return sum(shares) / len(shares) if shares else None
