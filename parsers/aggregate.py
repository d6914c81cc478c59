"""Aggregate the scores of steps into the metrics of a run and of its subgroups.

Every sum is taken with `math.fsum`, whose result does not depend on the order of the terms, so the
same steps give bit-identical metrics in whatever order they finished.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from parsers.intervals import Average, Interval, clopper_pearson
from parsers.metrics import (
    AggregationRules,
    Counts,
    Estimate,
    Metrics,
    Rate,
    StepMetrics,
    TaskMetrics,
    TaskSuccess,
)
from parsers.mind2web import ELEMENT_ONLY
from parsers.rates import mean_interval
from parsers.records import F1_VARIANTS, F1Variant, ScoredStep, Scores, Status

PARSE_FAILURES = frozenset({Status.PARSE_ERROR, Status.NO_ELEMENT, Status.AMBIGUOUS})

_UNASKED = frozenset({Status.NOT_OFFERED, Status.NO_REPLY})
_ZERO = Scores(False, dict.fromkeys(F1_VARIANTS, 0.0), False, False)
DEFAULT_AGGREGATION = AggregationRules()

GroupKey = Literal["split", "website", "domain", "subdomain", "operation"]
GROUP_KEYS: tuple[GroupKey, ...] = ("split", "website", "domain", "subdomain", "operation")

Task = tuple[str, str]
_Scored = tuple[Task, Scores]
Outcomes = Mapping[Task, bool | None]


@dataclass(frozen=True, slots=True)
class TaskOutcomes:
    """Whether tasks succeed in one repeat, by the ways of `TaskMetrics`; None while incomplete."""

    default: Outcomes
    strict: Outcomes
    clean: Outcomes


def aggregate(
    steps: Iterable[ScoredStep],
    rules: AggregationRules = DEFAULT_AGGREGATION,
    *,
    task_lengths: Mapping[str, int] | None = None,
    whole_tasks: bool = True,
) -> Metrics:
    """Compute the metrics of some rows.

    Args:
        steps: the rows of a selection.
        rules: how to aggregate them.
        task_lengths: the number of rows of each task in the whole split, by task id; a task with
            fewer rows in the selection counts as incomplete.
        whole_tasks: False for groups that split tasks; they have no task success.

    Example: task A succeeds twice; B succeeds, has an invalid row, succeeds; C succeeds and fails.
    Step success is 5/6 micro and (1 + 1 + 1/2)/3 macro, strictly 5/7 and (1 + 2/3 + 1/2)/3; task
    success is 2/3, strict 1/3, clean 1/2.

    If every prediction is flagged `ELEMENT_ONLY`, operations were not measured: their rates and
    those of success are None, not zero.

    Raises `ValueError` if a step occurs twice.
    """
    rows = _after_exclusion(steps, rules)
    _check_unique(rows)
    valid = _settled(rows, rules)
    invalid = [(_task(row), _ZERO) for row in rows if row.invalid is not None]
    above = clusters_of(rows, rules)
    of_valid = _step_metrics(valid, rules, above)
    tasks = None
    if whole_tasks:
        tasks = task_metrics([task_outcomes(rows, rules, task_lengths)], rules, above)
    metrics = Metrics(
        counts=_counts(rows),
        valid=of_valid,
        strict=_step_metrics([*valid, *invalid], rules, above) if invalid else of_valid,
        tasks=tasks,
        rules=rules,
    )
    return _without_operations(metrics) if element_only(rows) else metrics


def element_only(rows: Sequence[ScoredStep]) -> bool:
    """Whether there are predictions, and none of them was to name an operation."""
    answered = [row for row in rows if row.scores is not None and row.status not in _UNASKED]
    return bool(answered) and all(ELEMENT_ONLY in row.flags for row in answered)


def _without_operations(metrics: Metrics) -> Metrics:
    def only(steps: StepMetrics) -> StepMetrics:
        unknown = Rate(Estimate(None, None, steps.n_tasks), Estimate(None, None, steps.n_steps))
        return replace(
            steps,
            operation_f1=unknown,
            operation_exact=unknown,
            success=unknown,
            variants=dict.fromkeys(steps.variants, unknown),
        )

    return replace(metrics, valid=only(metrics.valid), strict=only(metrics.strict), tasks=None)


def _check_unique(rows: Sequence[ScoredStep]) -> None:
    twice = [step for step, n in Counter((r.info.split, r.step_id) for r in rows).items() if n > 1]
    if twice:
        raise ValueError(f"step {twice[0][1]} of {twice[0][0]} occurs more than once")


def _after_exclusion(steps: Iterable[ScoredStep], rules: AggregationRules) -> list[ScoredStep]:
    """The rows, those of excluded statuses as invalid ones."""

    def excluded(row: ScoredStep) -> ScoredStep:
        return replace(row, invalid=row.invalid or f"excluded_{row.status}")

    return [excluded(row) if row.status in rules.exclude else row for row in steps]


def _task(row: ScoredStep) -> Task:
    return row.info.split, row.info.task_id


def clusters_of(rows: Iterable[ScoredStep], rules: AggregationRules) -> dict[Task, Hashable] | None:
    """The cluster of each task; None if tasks are the clusters themselves."""
    if rules.cluster == "task":
        return None
    return {_task(row): row.info.website for row in rows}


def _interval(
    values: Sequence[float],
    tasks: Sequence[Task],
    average: Average,
    rules: AggregationRules,
    above: Mapping[Task, Hashable] | None,
) -> Interval | None:
    return mean_interval(
        values,
        tasks,
        average,
        clusters=None if above is None else [above[task] for task in tasks],
        level=rules.level,
        draws=rules.draws,
        seed=rules.seed,
    )


def _scores(row: ScoredStep, rules: AggregationRules) -> Scores | None:
    """The scores of a valid row; an unsettled row scores zero if the rules count it as failed."""
    if row.scores is None and rules.unattempted == "fail":
        return _ZERO
    return row.scores


def _settled(rows: Iterable[ScoredStep], rules: AggregationRules) -> list[_Scored]:
    pairs = ((_task(row), _scores(row, rules)) for row in rows if row.invalid is None)
    return [(task, scores) for task, scores in pairs if scores is not None]


def _step_metrics(
    scored: Sequence[_Scored], rules: AggregationRules, above: Mapping[Task, Hashable] | None
) -> StepMetrics:
    tasks = [task for task, _ in scored]

    def rate(pick: Callable[[Scores], float]) -> Rate:
        return _rate([float(pick(scores)) for _, scores in scored], tasks, rules, above)

    def f1_rate(variant: F1Variant) -> Rate:
        return rate(lambda scores: scores.operation_f1[variant])

    variants: dict[str, Rate] = {variant: f1_rate(variant) for variant in F1_VARIANTS}
    return StepMetrics(
        n_tasks=len(set(tasks)),
        n_steps=len(scored),
        element=rate(lambda scores: scores.element),
        operation_f1=variants[rules.variant],
        operation_exact=rate(lambda scores: scores.operation_exact),
        success=rate(lambda scores: scores.success),
        variants=variants,
    )


def _rate(
    values: Sequence[float],
    tasks: Sequence[Task],
    rules: AggregationRules,
    above: Mapping[Task, Hashable] | None,
) -> Rate:
    by_task: dict[Task, list[float]] = {}
    for task, value in zip(tasks, values, strict=True):
        by_task.setdefault(task, []).append(value)
    means = [math.fsum(group) / len(group) for group in by_task.values()]
    return Rate(
        macro=Estimate(mean(means), _interval(values, tasks, "macro", rules, above), len(means)),
        micro=Estimate(mean(values), _interval(values, tasks, "micro", rules, above), len(values)),
    )


def macro_success(steps: Iterable[ScoredStep], rules: AggregationRules) -> float | None:
    """The headline step success, macro over tasks, without an interval."""
    rows = _after_exclusion(steps, rules)
    scored = _settled(rows, rules)
    if rules.invalid == "fail":
        scored += [(_task(row), _ZERO) for row in rows if row.invalid is not None]
    by_task: dict[Task, list[float]] = {}
    for task, scores in scored:
        by_task.setdefault(task, []).append(float(scores.success))
    return mean([math.fsum(values) / len(values) for values in by_task.values()])


def mean(values: Sequence[float]) -> float | None:
    """The mean, independent of the order of the values; None if there are none."""
    return math.fsum(values) / len(values) if values else None


def task_outcomes(
    steps: Iterable[ScoredStep],
    rules: AggregationRules,
    task_lengths: Mapping[str, int] | None = None,
) -> TaskOutcomes:
    """Whether each task succeeds, in the ways of `TaskMetrics`; None while it is incomplete."""
    lengths = task_lengths or {}
    tasks: dict[Task, list[ScoredStep]] = {}
    for row in _after_exclusion(steps, rules):
        tasks.setdefault(_task(row), []).append(row)
    valid = {task: sum(row.invalid is None for row in rows) for task, rows in tasks.items()}
    return TaskOutcomes(
        default={t: _succeeds(rows, rules, lengths) for t, rows in tasks.items() if valid[t]},
        strict={t: _succeeds(rows, rules, lengths, strict=True) for t, rows in tasks.items()},
        clean={
            t: _succeeds(rows, rules, lengths) for t, rows in tasks.items() if valid[t] == len(rows)
        },
    )


def _succeeds(
    task: Sequence[ScoredStep],
    rules: AggregationRules,
    lengths: Mapping[str, int],
    *,
    strict: bool = False,
) -> bool | None:
    scores = [_scores(row, rules) for row in task if row.invalid is None]
    missing = len(task) < lengths.get(task[0].info.task_id, 0)
    if None in scores or (missing and rules.unattempted != "fail"):
        return None
    failed = missing or (strict and len(scores) < len(task))
    return not failed and all(step is not None and step.success for step in scores)


def task_metrics(
    repeats: Sequence[TaskOutcomes],
    rules: AggregationRules,
    above: Mapping[Task, Hashable] | None = None,
) -> TaskMetrics:
    """Task success of one or more repeats; counts add up over repeats.

    above: the cluster of each task, see `clusters_of`.
    """

    def success(pick: Callable[[TaskOutcomes], Outcomes]) -> TaskSuccess:
        return _task_success([pick(outcomes) for outcomes in repeats], rules, above)

    return TaskMetrics(
        success(lambda outcomes: outcomes.default),
        success(lambda outcomes: outcomes.strict),
        success(lambda outcomes: outcomes.clean),
    )


def _task_success(
    repeats: Sequence[Outcomes], rules: AggregationRules, above: Mapping[Task, Hashable] | None
) -> TaskSuccess:
    known = [[won for won in outcomes.values() if won is not None] for outcomes in repeats]
    complete, total = sum(map(len, known)), sum(map(len, repeats))
    successes = sum(map(sum, known))
    if complete < total or not all(known):
        return TaskSuccess(None, None, successes, complete, total)
    value = mean([sum(won) / len(won) for won in known])
    interval = None
    if len(repeats) == 1 and above is None:
        interval = clopper_pearson(successes, total, rules.level)
    elif all(outcomes.keys() == repeats[0].keys() for outcomes in repeats):
        each = [(float(bool(won)), task) for outcomes in repeats for task, won in outcomes.items()]
        values, tasks = [won for won, _ in each], [task for _, task in each]
        interval = _interval(values, tasks, "macro", rules, above)
    return TaskSuccess(value, interval, successes, complete, total)


def _counts(rows: Sequence[ScoredStep]) -> Counts:
    valid = [row for row in rows if row.invalid is None]
    settled = [row for row in valid if row.scores is not None]
    reasons = Counter(row.invalid for row in rows if row.invalid is not None)
    statuses = Counter(row.status.value for row in settled if row.status is not None)
    flags = Counter(flag for row in settled for flag in row.flags)
    failures = sum(row.status in PARSE_FAILURES for row in settled)
    return Counts(
        n_tasks=len({_task(row) for row in rows}),
        n_rows=len(rows),
        n_valid=len(valid),
        n_settled=len(settled),
        n_unsettled=len(valid) - len(settled),
        n_invalid=len(rows) - len(valid),
        invalid=dict(sorted(reasons.items())),
        statuses=dict(sorted(statuses.items())),
        flags=dict(sorted(flags.items())),
        parse_failures=failures,
        parse_failure_rate=failures / len(settled) if settled else None,
    )


def by(
    steps: Iterable[ScoredStep],
    key: GroupKey,
    rules: AggregationRules = DEFAULT_AGGREGATION,
    *,
    task_lengths: Mapping[str, int] | None = None,
) -> dict[str, Metrics]:
    """The metrics of every subgroup by name, in alphabetical order.

    Each row is in exactly one group, so the micro means weighted by `n_steps` average to the
    overall micro mean; if groups hold whole tasks, the macro means weighted by `n_tasks` average to
    the overall macro mean. Groups by (recorded) operation split tasks and have no task success.

    Raises `ValueError` for an unknown key.
    """
    if key not in GROUP_KEYS:
        raise ValueError(f"cannot group by {key!r}: expected one of {', '.join(GROUP_KEYS)}")
    groups: dict[str, list[ScoredStep]] = {}
    for step in steps:
        groups.setdefault(group_of(step, key), []).append(step)
    whole = key != "operation"
    return {
        name: aggregate(groups[name], rules, task_lengths=task_lengths, whole_tasks=whole)
        for name in sorted(groups)
    }


def group_of(step: ScoredStep, key: GroupKey) -> str:
    """The name of the subgroup that a step belongs to."""
    return step.operation if key == "operation" else str(getattr(step.info, key))


def mean_of_groups(
    groups: Mapping[str, Metrics], pick: Callable[[Metrics], float | None]
) -> float | None:
    """The unweighted mean over groups of the value that `pick` returns; None if any value is None.

    Over splits this is the mean of split means; for `micro` operation F1 over operations it is
    the operation F1 of SeeClick.
    """
    values = [pick(metrics) for metrics in groups.values()]
    defined = [value for value in values if value is not None]
    return mean(defined) if len(defined) == len(values) else None
