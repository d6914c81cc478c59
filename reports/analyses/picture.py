"""The effect of the picture: a model with and without it, on the same steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    only_differ,
    rate,
    rate_fields,
    scored,
    task_of,
    variant_of,
)
from reports.grid import Field, described
from reports.keys import TARGET_TOPS, band, target_top
from reports.load import RunLike, open_runs

ALLOWED = ("image_policy", "pixels", "pictures")
ALL = "all steps"
FIELDS = (
    Field("group", "str", "text", "steps", "which steps"),
    Field("metric", "str", "text", "metric", "the metric"),
    Field("tasks", "Int64", "count", "tasks", "their tasks"),
    Field("steps", "Int64", "count", "n", "how many steps have scores in both runs"),
    *rate_fields("with_picture", "with picture", "the metric with the picture"),
    *rate_fields("without", "without", "the metric without it"),
    *rate_fields("difference", "difference", "with minus without, paired by step", True),
    Field("gained", "Int64", "count", "better with", "steps that score higher with the picture"),
    Field("lost", "Int64", "count", "worse with", "steps that score lower"),
)

Pair = tuple[StepRecord, StepRecord]


def picture_effect(one: RunLike, other: RunLike) -> pd.DataFrame:
    """Compare the metrics with and without the picture: overall, by operation and by position.

    One of the runs must have the image policy `none`; they may differ only in pictures. Steps are
    paired; intervals of differences take tasks as clusters. Raises `RunError` for other runs.
    """
    opened = open_runs([one, other])
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
    seeing, blind = (opened[label] for label in labels)
    first, second = scored(seeing), scored(blind)
    pairs = [(first[key], second[key]) for key in first if key in second]
    variant = variant_of(seeing)
    records = []
    for group, members in _groups(pairs):
        tasks = [task_of(record) for record, _ in members]
        for metric in METRICS:
            a = [measured(record, metric, variant) for record, _ in members]
            b = [measured(record, metric, variant) for _, record in members]
            records.append(_record(group, metric, a, b, tasks))
    macro = mean_note("macro", declaration_of(None))
    return described(
        records,
        FIELDS,
        title=f"Effect of the picture: {labels[0]} ({policies[0]}) against {labels[1]} (none)",
        about=about_runs(opened),
        notes=(
            f"Per cent; {macro}; 95 % intervals with tasks as clusters. Differences are "
            "in points, paired by step. Pixels are measured from the top of the page.",
            *_left_out(len(first) + len(second) - 2 * len(pairs)),
        ),
    )


def _policy(run: Run) -> str:
    return str(run.manifest.config.get("image_policy"))


def _groups(pairs: Sequence[Pair]) -> Iterator[tuple[str, list[Pair]]]:
    yield ALL, list(pairs)
    keys: tuple[Callable[[StepRecord], tuple[float, str]], ...] = (
        lambda record: (0.0, record.detail.gold.operation),
        _place,
    )
    for key_of in keys:
        by_key: dict[tuple[float, str], list[Pair]] = {}
        for pair in pairs:
            by_key.setdefault(key_of(pair[0]), []).append(pair)
        if len(by_key) > 1:
            for key in sorted(by_key):
                yield key[1], by_key[key]


def _place(record: StepRecord) -> tuple[float, str]:
    start, name = band(target_top(record), TARGET_TOPS)
    return start, f"target at {name} px"


def _record(
    group: str, metric: str, a: Sequence[float], b: Sequence[float], tasks: Sequence[Any]
) -> dict[str, Any]:
    changes = [x - y for x, y in zip(a, b, strict=True)]
    return {
        "group": group,
        "metric": HEADS[metric],
        "tasks": len(set(tasks)),
        "steps": len(a),
        **rate("with_picture", a, tasks),
        **rate("without", b, tasks),
        **difference("difference", changes, tasks),
        "gained": sum(change > 0 for change in changes),
        "lost": sum(change < 0 for change in changes),
    }


def _left_out(count: int) -> tuple[str, ...]:
    return (f"{count} steps have scores in one run only and are left out.",) if count else ()
