"""The effect of the picture: a model with and without it, on the same steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from harness.runs import Run, RunError, Unit
from parsers import Declaration, Measure
from reports.analyses.units import (
    Analysed,
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

ALLOWED = ("image_policy", "pixels", "pictures")

Pair = tuple[Unit[Any], Unit[Any]]


def fields(declared: Declaration) -> tuple[Field, ...]:
    """Return the columns for runs of a benchmark."""
    units, parents = declared.units, declared.innermost.many
    return (
        Field("group", "str", "text", units, f"which {units}"),
        Field("metric", "str", "text", "metric", "the metric"),
        Field(parents, "Int64", "count", parents, f"their {parents}"),
        Field(units, "Int64", "count", "n", f"how many {units} have scores in both runs"),
        *rate_fields("with_picture", "with picture", "the metric with the picture"),
        *rate_fields("without", "without", "the metric without it"),
        *rate_fields(
            "difference", "difference", f"with minus without, paired by {declared.unit}", True
        ),
        Field("gained", "Int64", "count", "better with", f"{units} that score higher with it"),
        Field("lost", "Int64", "count", "worse with", f"{units} that score lower"),
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
        fields(declared),
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
