"""From the lines of a run to its numbers: what the table shows and `summary.json` keeps.

Everything here is computed from step records alone, so that it can be computed again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from adapters import Usage
from harness.pictures import show_answers
from harness.runs import Manifest, StepRecord
from harness.settings import SETTINGS, Settings
from harness.tables import TEST_DATA_NOTE
from parsers import (
    AggregationRules,
    GroupKey,
    Metrics,
    ScoringRules,
    operation_f1,
)
from parsers.aggregate import mean
from parsers.records import Status
from parsers.repeats import aggregate_repeats

GROUPS: tuple[GroupKey, ...] = ("split", "website", "domain", "subdomain", "operation")


@dataclass(frozen=True, slots=True)
class Floor:
    """What chance gives: CLICK on a choice drawn at random. Expected values, macro over tasks."""

    element: float | None
    operation_f1: float | None
    success: float | None


@dataclass(frozen=True, slots=True)
class Part:
    """The numbers of one set of rows.

    `ceiling` is what the oracle gets in the headline: the macro share of rows that offer an
    acceptable element, so 1 where invalid rows are left out and no ranker misses one. `repeat_sd`
    is the standard deviation of macro step success between repeats, None for one repeat; where
    `repeats` are several, a step counts once in each. `prompt_tokens` are (median, 99th percentile)
    of the longest prompt of a step, estimated.
    """

    metrics: Metrics
    floor: Floor
    ceiling: float | None
    repeats: int
    repeat_sd: float | None
    prompt_tokens: tuple[int, int] | None


def scoring_rules(settings: Settings) -> ScoringRules:
    """The rules by which a prediction is scored."""
    return ScoringRules(
        variant=settings.f1,
        step_rule=settings.step_rule,
        none_zeroes_operation=settings.none_zeroes_operation,
        no_element_zeroes_operation=settings.no_element_zeroes_operation,
        wrong_element_zeroes_operation=settings.wrong_element_zeroes_operation,
        accept_mapped=settings.mapped_operations,
        bag=settings.bag,
        point_rule=settings.point_rule,
    )


def aggregation_rules(settings: Settings) -> AggregationRules:
    """The rules by which scores are averaged."""
    return AggregationRules(
        variant=settings.f1,
        invalid="fail" if settings.invalid == "fail" else "valid",
        unattempted=settings.unattempted,
        exclude=frozenset(Status(status) for status in settings.exclude_statuses),
    )


def part(
    records: Sequence[StepRecord],
    rules: AggregationRules,
    task_rows: Mapping[str, int] | None = None,
    *,
    whole_tasks: bool = True,
    joint: bool = False,
) -> Part:
    """The numbers of the given rows. `task_rows` has the number of rows of tasks cut short.

    `joint` says that an operation counts with the right element only, for the floor.

    Repeats of a step are pooled for the step metrics, where a task stays one cluster; task success
    is the mean over repeats, without an interval.
    """
    repeated = aggregate_repeats(
        ((record.repeat, record.scored()) for record in records),
        rules,
        task_lengths=task_rows,
        whole_tasks=whole_tasks,
    )
    return Part(
        metrics=repeated.metrics,
        floor=floor(records, rules, joint=joint),
        ceiling=_ceiling(records, rules),
        repeats=len({record.repeat for record in records}) or 1,
        repeat_sd=repeated.spread,
        prompt_tokens=_prompt_tokens(records),
    )


def parts(
    records: Sequence[StepRecord],
    key: GroupKey,
    rules: AggregationRules,
    task_rows: Mapping[str, int] | None = None,
    *,
    joint: bool = False,
) -> dict[str, Part]:
    """The numbers of every subgroup, by name."""
    groups: dict[str, list[StepRecord]] = {}
    for record in records:
        value = record.gold.operation if key == "operation" else getattr(record.info, key)
        groups.setdefault(value, []).append(record)
    whole = key != "operation"
    return {
        name: part(groups[name], rules, task_rows, whole_tasks=whole, joint=joint)
        for name in sorted(groups)
    }


def floor(records: Iterable[StepRecord], rules: AggregationRules, *, joint: bool = False) -> Floor:
    """The expected scores of `always-click`, computed and not drawn.

    Rows without choices (predictions by others) have a floor for the operation only.
    """
    elements: dict[tuple[str, str], list[float]] = {}
    operations: dict[tuple[str, str], list[float]] = {}
    steps: dict[tuple[str, str], list[float]] = {}
    listed = False
    for record in records:
        if record.invalid is not None and rules.invalid != "fail":
            continue
        listed = listed or bool(record.choices)
        task = record.info.split, record.info.task_id
        hit = click = 0.0
        if record.invalid is None and not _settled_unasked(record):
            if record.choices:
                hit = sum(choice.positive for choice in record.choices) / len(record.choices)
            gold = record.gold
            click = operation_f1("CLICK", "", gold.operation, gold.value)[rules.variant]
        elements.setdefault(task, []).append(hit)
        operations.setdefault(task, []).append(hit * click if joint else click)
        steps.setdefault(task, []).append(hit if click == 1.0 else 0.0)
    if not listed:
        return Floor(None, None if joint else _macro(operations), None)
    return Floor(_macro(elements), _macro(operations), _macro(steps))


def not_offered(record: StepRecord) -> bool:
    """Whether a valid step had no acceptable element among the candidates of its ranker."""
    if record.invalid is not None:
        return False
    return _settled_unasked(record) or (bool(record.choices) and record.gold.shown is None)


def _settled_unasked(record: StepRecord) -> bool:
    return record.prediction is not None and record.prediction.status is Status.NOT_OFFERED


def _macro(values: Mapping[tuple[str, str], Sequence[float]]) -> float | None:
    return mean([mean(task_values) or 0.0 for task_values in values.values()])


def _ceiling(records: Sequence[StepRecord], rules: AggregationRules) -> float | None:
    valid: dict[tuple[str, str], list[float]] = {}
    for record in records:
        if record.invalid is None or rules.invalid == "fail":
            task = record.info.split, record.info.task_id
            offered = record.invalid is None and not not_offered(record)
            valid.setdefault(task, []).append(float(offered))
    return _macro(valid)


def _prompt_tokens(records: Sequence[StepRecord]) -> tuple[int, int] | None:
    counts = sorted(r.prompt_tokens for r in records if r.prompt_tokens is not None)
    if not counts:
        return None
    return counts[(len(counts) - 1) // 2], counts[min(len(counts) - 1, len(counts) * 99 // 100)]


def plain(value: Any) -> Any:
    """A record as JSON values, sets and mappings in a fixed order."""
    return msgspec.to_builtins(value, order="deterministic")


def summarise(
    records: Sequence[StepRecord],
    settings: Settings,
    task_rows: Mapping[str, int],
    manifest: Manifest,
) -> dict[str, Any]:
    """`summary.json`: all metrics by group, counts, tokens and cost, computed from the lines."""
    rules, joint = aggregation_rules(settings), settings.wrong_element_zeroes_operation
    usage = sum((r.usage for r in records if r.usage is not None), Usage())
    costs = [record.cost for record in records if record.cost is not None]
    return {
        "note": TEST_DATA_NOTE,
        "run": manifest.name,
        "model": manifest.model,
        "answered_by": sorted(manifest.answered_by),
        "pictures": manifest.pictures,
        "oracle_pictures": show_answers(manifest.pictures),
        **({"redone": plain(manifest.redone)} if manifest.redone else {}),
        "scoring": {
            name: plain(value)
            for name, setting in SETTINGS.items()
            if setting.about == "scoring"
            and ((value := getattr(settings, name)) or setting.recorded == "always")
        },
        "total": plain(part(records, rules, task_rows, joint=joint)),
        **{
            f"by_{key}": plain(parts(records, key, rules, task_rows, joint=joint)) for key in GROUPS
        },
        "rows": {
            "all": len(records),
            "asked": sum(record.asked for record in records),
            "not_offered": sum(map(not_offered, records)),
            "short": sum(record.short for record in records),
            "same_text": sum(record.same_text > 0 for record in records),
            "related": sum(record.related > 0 for record in records),
        },
        "usage": plain(usage),
        "cost": math.fsum(costs) if costs else None,
    }
