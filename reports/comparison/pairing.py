"""Steps and tasks shared by two runs, with the scores of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from harness.runs import RunError
from parsers import AggregationRules, ScoredUnit
from parsers.parents import parent_of
from parsers.repeats import Trial
from reports.frames.rows import RunRows

Task = Hashable
StepName = tuple[str, str]
METRICS = ("element", "operation_f1", "step_success")


@dataclass(frozen=True, slots=True)
class Left:
    """Steps left out of a comparison, each counted under the first reason that applies.

    only_first, only_second: on record in one run only.
    invalid: invalid rows, and rows whose status the runs' rules exclude.
    unsettled: without a final outcome in both runs.
    """

    only_first: int
    only_second: int
    invalid: int
    unsettled: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """Paired scores of two runs. With several repeats a score is the mean over the settled ones.

    tasks: the task of every shared step.
    websites: its website.
    scores: by metric, the scores of the first and the second run in the order of `tasks`.
    successes: task success in both runs, of tasks that are complete in both with the same valid
        steps.
    success_websites: the website of each of these tasks.
    incomplete: number of other shared tasks.
    left: steps left out.
    splits: shared steps by split.
    """

    tasks: tuple[Task, ...]
    websites: tuple[str, ...]
    scores: dict[str, tuple[list[float], list[float]]]
    successes: tuple[list[float], list[float]]
    success_websites: tuple[str, ...]
    incomplete: int
    left: Left
    splits: dict[str, int]


def pair(first: RunRows, second: RunRows, splits: Sequence[str] = ()) -> Pairs:
    """Pair the steps and tasks of two runs, on these splits or on all.

    Raises `RunError` if a shared step has different pages in the two runs.
    """
    ours, theirs = _by_step(first, splits), _by_step(second, splits)
    shared = [name for name in ours if name in theirs]
    _check_pages(first, second, set(shared))
    rules = first.rules
    kept: list[StepName] = []
    invalid = unsettled = 0
    columns: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in METRICS}
    for name in shared:
        if rules.invalid != "fail" and (_invalid(ours[name]) or _invalid(theirs[name])):
            invalid += 1
            continue
        scores = _scores(ours[name], rules), _scores(theirs[name], rules)
        if scores[0] is None or scores[1] is None:
            unsettled += 1
            continue
        kept.append(name)
        for place, metric in enumerate(METRICS):
            for side in (0, 1):
                values = scores[side]
                assert values is not None
                columns[metric][side].append(values[place])
    tasks = tuple(parent_of(ours[name][0], first.declared.innermost) for name in kept)
    successes, websites, incomplete = _successes(first, second, splits)
    return Pairs(
        tasks=tasks,
        websites=tuple(ours[name][0].group("website") for name in kept),
        scores=columns,
        successes=successes,
        success_websites=tuple(websites),
        incomplete=incomplete,
        left=Left(len(ours) - len(shared), len(theirs) - len(shared), invalid, unsettled),
        splits=dict(sorted(Counter(name[0] for name in kept).items())),
    )


def _by_step(rows: RunRows, splits: Sequence[str]) -> dict[StepName, list[ScoredUnit]]:
    steps: dict[StepName, list[ScoredUnit]] = {}
    for _, step in _counted(rows, splits):
        steps.setdefault((step.split, step.unit_id), []).append(step)
    return steps


def _counted(rows: RunRows, splits: Sequence[str]) -> Iterator[Trial]:
    """The rows of these splits with the run's rules applied, as in `parsers.aggregate`."""
    for repeat, step in rows.trials:
        if splits and step.split not in splits:
            continue
        if step.status in rows.rules.exclude:
            yield repeat, replace(step, invalid=step.invalid or f"excluded_{step.status}")
        elif step.scores is None and step.invalid is None and rows.rules.unattempted == "fail":
            yield repeat, replace(step, scores=dict.fromkeys(rows.declared.scores, 0.0))
        else:
            yield repeat, step


def _check_pages(first: RunRows, second: RunRows, shared: set[StepName]) -> None:
    pages = [
        dict(zip(zip(f["split"], f["step_id"], strict=True), f["html_digest"], strict=True))
        for f in (first.frame, second.frame)
    ]
    differing = sorted(name for name in shared if pages[0][name] != pages[1][name])
    if differing:
        raise RunError(
            f"{first.label} and {second.label} are of different data: "
            f"{len(differing)} of {len(shared)} steps have another page, {differing[0][1]} for one"
        )


def _invalid(repeats: Sequence[ScoredUnit]) -> bool:
    return any(step.invalid is not None for step in repeats)


def _scores(
    repeats: Sequence[ScoredUnit], rules: AggregationRules
) -> tuple[float, float, float] | None:
    if _invalid(repeats):
        return 0.0, 0.0, 0.0
    known = [step.scores for step in repeats if step.scores is not None]
    if not known:
        return None
    element, operation, success = (
        fmean(scores[name] or 0.0 for scores in known)
        for name in ("element", f"operation_f1.{rules.variant}", "success")
    )
    return element, operation, success


def _successes(
    first: RunRows, second: RunRows, splits: Sequence[str]
) -> tuple[tuple[list[float], list[float]], list[str], int]:
    ours, theirs = _by_task(first, splits), _by_task(second, splits)
    values: tuple[list[float], list[float]] = ([], [])
    websites: list[str] = []
    incomplete = 0
    for task in ours:
        if task not in theirs:
            continue
        valid = [
            frozenset(s.unit_id for s in rows if s.invalid is None)
            for rows in _flat(task, ours, theirs)
        ]
        if first.rules.invalid != "fail" and not valid[0] and not valid[1]:
            continue
        first_share, second_share = _share(first, ours[task]), _share(second, theirs[task])
        if first_share is None or second_share is None or valid[0] != valid[1]:
            incomplete += 1
            continue
        values[0].append(first_share)
        values[1].append(second_share)
        websites.append(next(iter(ours[task].values()))[0].group("website"))
    return values, websites, incomplete


Repeats = dict[int, list[ScoredUnit]]


def _by_task(rows: RunRows, splits: Sequence[str]) -> dict[Task, Repeats]:
    tasks: dict[Task, Repeats] = {}
    for repeat, step in _counted(rows, splits):
        task = tasks.setdefault(parent_of(step, rows.declared.innermost), {})
        task.setdefault(repeat, []).append(step)
    return tasks


def _flat(task: Task, *runs: dict[Task, Repeats]) -> list[list[ScoredUnit]]:
    return [[step for steps in run[task].values() for step in steps] for run in runs]


def _share(rows: RunRows, repeats: Repeats) -> float | None:
    """Share of repeats in which the task succeeds; None if one of them is incomplete."""
    outcomes = [_succeeds(rows, steps) for steps in repeats.values()]
    known = [outcome for outcome in outcomes if outcome is not None]
    return fmean(known) if len(known) == len(outcomes) else None


def _succeeds(rows: RunRows, task: Sequence[ScoredUnit]) -> bool | None:
    valid = [step for step in task if step.invalid is None]
    if len(task) < rows.lengths.get(task[0].parents["task"], 0) or any(
        s.scores is None for s in valid
    ):
        return None
    spoilt = rows.rules.invalid == "fail" and len(valid) < len(task)
    return not spoilt and all(
        step.scores is not None and step.scores["success"] == 1 for step in valid
    )
