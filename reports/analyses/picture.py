"""The effect of the picture: a model with and without it, on the same steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from harness.runs import Run, RunError, Unit
from parsers import Declaration, Measure
from reports.analyses.units import (
    Parents,
    both_known,
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
from reports.kind import Place, reports_of
from reports.load import RunLike, open_runs
from reports.settings import about_runs

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
    opened = open_runs([one, other])
    if len(opened) != 2:
        raise RunError("two runs are needed: one with the picture and one without it")
    declared = one_declaration(opened)
    only_differ(opened, ALLOWED, "the picture")
    labels = sorted(opened, key=lambda label: _policy(opened[label]) == "none")
    policies = [_policy(opened[label]) for label in labels]
    if policies.count("none") != 1:
        raise RunError(
            "one run must have the image policy none and the other a picture, "
            f"but they have {policies[0]} and {policies[1]}"
        )
    seeing, blind = (opened[label] for label in labels)
    first, second = scored(seeing), scored(blind)
    pairs = [(first[key], second[key]) for key in first if key in second]
    places = reports_of(seeing).part("place")
    records = [
        _record(group, measure, members, seeing.manifest.config, declared)
        for group, members in _groups(pairs, declared, places)
        for measure in declared.in_tables
    ]
    return described(
        records,
        fields(declared),
        title=f"Effect of the picture: {labels[0]} ({policies[0]}) against {labels[1]} (none)",
        about=about_runs(opened),
        notes=(
            f"{mean_words(declared)} Differences are in points, paired by {declared.unit}."
            f"{' Pixels are measured from the top of the page.' if places else ''}",
            *_left_out(len(first) + len(second) - 2 * len(pairs), declared),
        ),
        declared=declared,
    )


def _policy(run: Run) -> str:
    return str(run.manifest.config.get("image_policy"))


def _groups(
    pairs: Sequence[Pair], declared: Declaration, place: Place | None
) -> Iterator[tuple[str, list[Pair]]]:
    yield f"all {declared.units}", list(pairs)
    labels = [group.name for group in declared.groups if not group.whole]
    keys: list[Place] = [partial(_label, name) for name in labels]
    for key_of in (*keys, *([place] if place else [])):
        by_key: dict[tuple[float, str], list[Pair]] = {}
        for pair in pairs:
            by_key.setdefault(key_of(pair[0]), []).append(pair)
        if len(by_key) > 1:
            for key in sorted(by_key):
                yield key[1], by_key[key]


def _label(name: str, record: Unit[Any]) -> tuple[float, str]:
    return 0.0, record.labels.get(name, "")


def _record(
    group: str,
    measure: Measure,
    members: Sequence[Pair],
    config: Mapping[str, Any],
    declared: Declaration,
) -> dict[str, Any]:
    parents = Parents.of((record for record, _ in members), declared)
    first, second = both_known(
        [measured(record, measure, config) for record, _ in members],
        [measured(record, measure, config) for _, record in members],
    )
    gains, compared = parents.known(changes(second, first))
    return {
        "group": group,
        "metric": measure.head,
        declared.innermost.many: compared.count,
        declared.units: len(gains),
        **rate("with_picture", *parents.known(first)),
        **rate("without", *parents.known(second)),
        **difference("difference", gains, compared),
        "gained": sum(gain > 0 for gain in gains),
        "lost": sum(gain < 0 for gain in gains),
    }


def _left_out(count: int, declared: Declaration) -> tuple[str, ...]:
    if not count:
        return ()
    return (f"{count} {declared.units} have scores in one run only and are left out.",)
