"""Runs that differ in one thing, paired by unit: the number of distractors, or the picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from harness.runs import Run, RunError, StepUnit, Unit
from parsers import Declaration, Measure
from reports.analyses.units import (
    RUN,
    Analysed,
    Values,
    changes,
    mean_words,
    measured,
    only_differ,
    parents_of,
    rate,
    rate_fields,
    shared_units,
)
from reports.grid import Field
from reports.kind import Place, reports_of
from reports.load import RunLike
from reports.names import name_of

MODEL = ("model", "base_url", "adapter_option")


def fields(declared: Declaration) -> tuple[Field, ...]:
    """Return the columns for runs of a benchmark."""
    parents, units, main = declared.innermost.many, declared.units, declared.main
    return (
        Field("model", "text", "model"),
        RUN,
        Field("distractors", "count", "distractors"),
        Field(parents, "count", parents),
        Field(units, "count", units),
        Field("chance", "percent", "chance"),
        *(
            field
            for measure in declared.in_tables
            for field in rate_fields(name_of(measure, declared), measure.head)
        ),
        *rate_fields("change", f"{main.head}, change", True),
    )


def distractor_curve(runs: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return a row per run with the scores on the units shared by all runs of its model.

    Each model makes a curve; its runs may differ only in the number of distractors. `change` is the
    paired difference from the run with the next smaller number. A note says whether the choices of
    each run are a subset of the next run's. Raises `RunError` for runs that differ in anything
    else, and where no run lists choices.
    """
    analysed = Analysed(runs, "distractors")
    declared = analysed.declared
    only_differ(analysed.runs, ("distractors", *MODEL), "model and number of distractors")
    models: dict[str, list[tuple[int, str, Run]]] = {}
    for label, run in analysed.runs.items():
        models.setdefault(run.manifest.model_name, []).append((_number(label, run), label, run))
    records: list[dict[str, Any]] = []
    for model, numbered in models.items():
        own_runs = {label: run for _, label, run in numbered}
        only_differ(own_runs, ("distractors",), "the number of distractors")
        numbered.sort(key=lambda one: one[0])
        twice = next((n for (n, *_), (other, *_) in pairwise(numbered) if n == other), None)
        if twice is not None:
            raise RunError(f"{model} has several runs with {twice} distractors")
        units, others = shared_units({label: run for _, label, run in numbered})
        analysed.notes += _checks(model, units, others, declared)
        before: Values | None = None
        for number, label, _ in numbered:
            own = units[label]
            record: dict[str, Any] = {
                "model": model,
                "run": label,
                "distractors": number,
                declared.innermost.many: len(set(parents_of(own, declared))),
                declared.units: len(own),
                "chance": _chance(own),
            }
            for measure in declared.in_tables:
                values = [measured(unit, measure) for unit in own]
                record |= rate(name_of(measure, declared), own, values, declared)
            reached = [measured(unit, declared.main_of_units) for unit in own]
            if before is not None:
                record |= rate("change", own, changes(before, reached), declared, differences=True)
            before = reached
            records.append(record)
    return analysed.frame(
        records,
        fields(declared),
        "Scores by number of distractors",
        f"{mean_words(declared)} Changes are in points, paired by {declared.unit}, against the "
        "next smaller number.",
        *analysed.notes,
    )


def _number(label: str, run: Run) -> int:
    number = run.manifest.chosen.get("distractors")
    if not isinstance(number, int):
        raise RunError(f"{label} does not say how many distractors it has")
    return number


def _checks(
    model: str, units: dict[str, list[StepUnit]], others: dict[str, int], declared: Declaration
) -> Iterator[str]:
    for label, extra in others.items():
        if extra:
            left_out = f"{extra} {declared.units} of {label} are left out"
            yield f"{left_out}: they have no scores elsewhere."
    nested = True
    for (small, few), (large, many) in pairwise(units.items()):
        lists = [[{one.id for one in unit.detail.choices} for unit in of] for of in (few, many)]
        if apart := sum(not one <= other for one, other in zip(*lists, strict=True)):
            nested = False
            yield (
                f"NOT nested: in {apart} of {len(few)} {declared.units} the choices of {small} are "
                f"not among those of {large}."
            )
    if nested and len(units) > 1:
        yield f"{model}: the choices of each run are among those of the next one."


def _chance(records: Iterable[StepUnit]) -> float | None:
    details = [record.detail for record in records if record.detail.choices]
    shares = [len(detail.right) / len(detail.choices) for detail in details]
    return sum(shares) / len(shares) if shares else None


ALLOWED = ("image_policy", "pixels", "pictures")

Pair = tuple[Unit[Any], Unit[Any]]


def picture_fields(declared: Declaration) -> tuple[Field, ...]:
    """Return the columns for runs of a benchmark."""
    units, parents = declared.units, declared.innermost.many
    return (
        Field("group", "text", units),
        Field("metric", "text", "metric"),
        Field(parents, "count", parents),
        Field(units, "count", "n"),
        *rate_fields("with_picture", "with picture"),
        *rate_fields("without", "without"),
        *rate_fields("difference", "difference", True),
        Field("gained", "count", "better with"),
        Field("lost", "count", "worse with"),
    )


def picture_effect(one: RunLike, other: RunLike) -> pd.DataFrame:
    """Compare the measures with and without the picture: overall, by label and by position.

    One of the runs must have the image policy `none`; they may differ only in pictures. Units are
    paired. Raises `RunError` for other runs.
    """
    analysed = Analysed([one, other])
    opened, declared = analysed.runs, analysed.declared
    if len(opened) != 2:
        raise RunError("two runs are needed: one with the picture and one without it")
    only_differ(opened, ALLOWED, "the picture")
    labels = sorted(opened, key=lambda label: _policy(opened[label]) == "none")
    policies = [_policy(opened[label]) for label in labels]
    if policies.count("none") != 1:
        raise RunError(
            "one run must have the image policy none and the other a picture, "
            f"but they have {policies[0]} and {policies[1]}"
        )
    seeing = opened[labels[0]]
    units, others = shared_units({label: opened[label] for label in labels})
    left_out = sum(others.values())
    place = reports_of(seeing).part("place")
    return analysed.frame(
        [
            _record(group, measure, members, declared)
            for group, members in _groups(list(zip(*units.values(), strict=True)), declared, place)
            for measure in declared.in_tables
        ],
        picture_fields(declared),
        f"Effect of the picture: {labels[0]} ({policies[0]}) against {labels[1]} (none)",
        f"{mean_words(declared)} Differences are in points, paired by {declared.unit}."
        f"{' Pixels are measured from the top of the page.' if place else ''}",
        *(
            [f"{left_out} {declared.units} have scores in one run only and are left out."]
            if left_out
            else []
        ),
    )


def _policy(run: Run) -> str:
    return str(run.manifest.chosen.get("image_policy"))


def _groups(
    pairs: Sequence[Pair], declared: Declaration, place: Place | None
) -> Iterator[tuple[str, list[Pair]]]:
    yield f"all {declared.units}", list(pairs)

    def label(name: str) -> Place:
        return lambda unit: (0.0, unit.labels.get(name, ""))

    labels = [label(group.name) for group in declared.groups if not group.whole]
    for key_of in (*labels, *([place] if place else [])):
        by_key: dict[tuple[float, str], list[Pair]] = {}
        for pair in pairs:
            by_key.setdefault(key_of(pair[0]), []).append(pair)
        if len(by_key) > 1:
            for key in sorted(by_key):
                yield key[1], by_key[key]


def _record(
    group: str,
    measure: Measure,
    members: Sequence[Pair],
    declared: Declaration,
) -> dict[str, Any]:
    units: list[Unit[Any]] = []
    first: list[float] = []
    second: list[float] = []
    for one, other in members:
        seen, blind = measured(one, measure), measured(other, measure)
        if seen is not None and blind is not None:
            units.append(one)
            first.append(seen)
            second.append(blind)
    gains = [seen - blind for seen, blind in zip(first, second, strict=True)]
    return {
        "group": group,
        "metric": measure.head,
        declared.innermost.many: len(set(parents_of(units, declared))),
        declared.units: len(gains),
        **rate("with_picture", units, first, declared),
        **rate("without", units, second, declared),
        **rate("difference", units, gains, declared, differences=True),
        "gained": sum(gain > 0 for gain in gains),
        "lost": sum(gain < 0 for gain in gains),
    }
