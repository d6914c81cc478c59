"""From the lines of a run to its numbers: what the table shows and `summary.json` keeps.

Everything here is computed from step records alone, so that it can be computed again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from adapters import Usage
from harness.evaluation.bounds import NO_BOUND, Bound, Bounds, bounds_of
from harness.pictures import show_answers
from harness.runs import Manifest, StepRecord, by_role
from harness.settings import SETTINGS, Settings
from harness.tables import TEST_DATA_NOTE
from parsers import (
    AggregationRules,
    GroupKey,
    Metrics,
    ScoringRules,
)
from parsers.records import Status
from parsers.repeats import aggregate_repeats

GROUPS: tuple[GroupKey, ...] = ("split", "website", "domain", "subdomain", "operation")


@dataclass(frozen=True, slots=True)
class Part:
    """The numbers of one set of rows.

    `floor` is what always-click gets in expectation, `oracle` what the oracle gets, both on the
    rows of the headline, under the run's protocol and rules. `ceiling` is the oracle's step
    success, or element accuracy where nobody was asked for operations. `repeat_sd` is the standard
    deviation of macro step success between repeats, None for one repeat; where `repeats` are
    several, a step counts once in each. `prompt_tokens` are (median, 99th percentile) of the
    longest prompt of a step, estimated.
    """

    metrics: Metrics
    floor: Bound
    oracle: Bound
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
    bounds: Bounds | None = None,
) -> Part:
    """The numbers of the given rows. `task_rows` has the number of rows of tasks cut short.

    `bounds` are those of chance and oracle; without them, floor and ceiling are left out.

    Repeats of a step are pooled for the step metrics, where a task stays one cluster; task success
    is the mean over repeats.
    """
    repeated = aggregate_repeats(
        ((record.repeat, record.scored()) for record in records),
        rules,
        task_lengths=task_rows,
        whole_tasks=whole_tasks,
    )
    floor = bounds.floor(records, rules) if bounds else NO_BOUND
    oracle = bounds.ceiling(records, rules) if bounds else NO_BOUND
    if element_only(repeated.metrics):
        floor, oracle = Bound(floor.element, None, None), Bound(oracle.element, None, None)
    return Part(
        metrics=repeated.metrics,
        floor=floor,
        oracle=oracle,
        ceiling=oracle.element if element_only(repeated.metrics) else oracle.success,
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
    bounds: Bounds | None = None,
) -> dict[str, Part]:
    """The numbers of every subgroup, by name."""
    groups: dict[str, list[StepRecord]] = {}
    for record in records:
        value = record.split if key == "split" else {**record.parents, **record.labels}[key]
        groups.setdefault(value, []).append(record)
    whole = key != "operation"
    return {
        name: part(groups[name], rules, task_rows, whole_tasks=whole, bounds=bounds)
        for name in sorted(groups)
    }


def element_only(metrics: Metrics) -> bool:
    """Whether operations were not measured, because nobody was asked for any."""
    steps = metrics.strict
    return steps.element.macro.value is not None and steps.operation_f1.macro.value is None


def not_offered(record: StepRecord) -> bool:
    """Whether a valid step had no acceptable element among the candidates of its ranker."""
    if record.invalid is not None:
        return False
    return _settled_unasked(record) or (
        bool(record.detail.choices) and record.detail.gold.shown is None
    )


def _settled_unasked(record: StepRecord) -> bool:
    return record.prediction is not None and record.prediction.status is Status.NOT_OFFERED


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
    bounds: Bounds | None = None,
) -> dict[str, Any]:
    """`summary.json`: all metrics by group, counts, tokens and cost, computed from the lines.

    `bounds` are those of chance and oracle, worked out here if they are not known yet.
    """
    rules = aggregation_rules(settings)
    bounds = bounds or bounds_of(records, settings, scoring_rules(settings))
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
        "total": plain(part(records, rules, task_rows, bounds=bounds)),
        **{
            f"by_{key}": plain(parts(records, key, rules, task_rows, bounds=bounds))
            for key in GROUPS
        },
        "rows": {
            "all": len(records),
            "asked": sum(record.asked for record in records),
            "not_offered": sum(map(not_offered, records)),
            "short": sum(record.detail.short for record in records),
            "same_text": sum(record.detail.same_text > 0 for record in records),
            "related": sum(record.detail.related > 0 for record in records),
        },
        "usage": plain(usage),
        "cost": math.fsum(costs) if costs else None,
        **({"by_role": plain(roles)} if (roles := by_role(records)) else {}),
    }
