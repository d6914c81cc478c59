"""Success of whole parents, such as tasks, compared with what independent units would give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harness.runs import Run, RunError, Unit
from harness.tables import interval_record
from parsers import Declaration, Measure, clopper_pearson, mean_interval
from reports.analyses.units import RUN, Analysed, Parent, measured, parent_of
from reports.grid import Field, interval
from reports.keys import band
from reports.load import RunLike
from reports.names import name_of

LENGTHS = (1, 3, 5, 7, 10, 15)


def fields(declared: Declaration, measure: Measure) -> tuple[Field, ...]:
    """Return the columns for a measure of parents."""
    parents, units, each = declared.innermost.many, declared.units, declared[measure.all_of]
    return (
        RUN,
        Field("group", "text", f"valid {units}"),
        Field(parents, "count", parents),
        Field(units, kind="Int64"),
        Field(name_of(each, declared), "percent", each.head),
        Field("succeeded", "count", "succeeded"),
        Field("observed", "percent", measure.head),
        *interval("observed"),
        Field("one_rate", "percent", "one rate"),
        *(Field(f"by_{name}", "percent", f"by {name}") for name, _ in _grouped(declared)),
        Field("correlated", "percent", "correlated"),
        Field("p", "p", "p"),
    )


class _Trial(NamedTuple):
    """A parent in one repeat.

    parent: its identity.
    units: its valid units, all with a final outcome.
    won: whether each of them succeeds.
    """

    parent: Parent
    units: tuple[Unit[Any], ...]
    won: tuple[bool, ...]

    @property
    def wins(self) -> int:
        return sum(self.won)

    @property
    def length(self) -> int:
        return len(self.units)


def task_independence(run: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return task success by number of steps, with the rates expected of independent steps.

    It is that measure of innermost parents which the benchmark declares, whatever they are called.

    one_rate: mean over tasks of p^n, for n steps and the run's step success p.
    by_<name>: product over steps of the success rate of their label (operation) or of a parent
        above the task (website).
    correlated: p varies between tasks as a beta distribution with the intra-task correlation of
        steps (`attrs["correlation"]`, estimated by analysis of variance).

    Only tasks whose rows are all on record and settled count. Repeats of a task count as tasks but
    are not independent: their interval is over tasks, and they get no p value. Raises `RunError`
    for runs that cannot be read, that leave the measure open, or that have none.
    """
    analysed = Analysed(run)
    declared, notes = analysed.declared, analysed.notes
    measure = _measure(analysed.runs, declared)
    parents = declared.innermost.many
    records: list[dict[str, Any]] = []
    correlations: dict[str, float | None] = {}
    for label, one in analysed.runs.items():
        trials, left_out = complete_trials(one, declared[measure.all_of])
        said = (unit.prediction for trial in trials for unit in trial.units)
        flag = measure.unmeasured
        if flag and any(one is not None and flag in one.flags for one in said):
            why = dict(declared.flags).get(flag, f"{measure.meaning} was not measured")
            raise RunError(f"{label}: {why}; vlm-eval report shows what it scored")
        rho = correlation([(trial.wins, trial.length) for trial in trials])
        correlations[label] = rho
        records += _records(label, trials, rho or 0.0, measure, declared)
        if left_out:
            missing = "are left out, as rows of them are missing"
            notes.append(f"{label}: {left_out} {parents} {missing}.")
        if _repeated(trials):
            notes.append(
                f"{label}: repeats count as {parents}; intervals have {parents} as clusters, and "
                "there is no p value."
            )
        if rho is not None:
            notes.append(f"{label}: correlation of {declared.units} within {parents} {rho:.3f}.")
    return analysed.frame(
        records,
        fields(declared, measure),
        f"{measure.meaning.capitalize()} against what independent {declared.units} would give",
        f"Per cent; 95 % intervals (Clopper-Pearson, over {parents}). Expected rates are products "
        f"of {declared.unit} rates estimated on the same {declared.units}; the p value (exact, "
        f"over {parents}) takes them as known.",
        *notes,
        correlation=correlations,
    )


def _measure(runs: Mapping[str, Run], declared: Declaration) -> Measure:
    level = declared.innermost
    for measure in declared.of_parents:
        if declared.level(measure.over) == level:
            return measure
    raise RunError(
        f"{', '.join(runs)}: no measure is declared of whole {level.many}, so there is none to "
        f"compare with {declared.units}"
    )


def _grouped(declared: Declaration) -> list[tuple[str, Callable[[Unit[Any]], str]]]:
    """List the groups of rates: labels that vary within a parent, and the parents above."""

    def of(place: str, name: str) -> tuple[str, Callable[[Unit[Any]], str]]:
        return name, lambda unit: getattr(unit, place).get(name, "")

    labels = [of("labels", group.name) for group in declared.groups if not group.whole]
    return [*labels, *(of("parents", level.name) for level in declared.levels[1:])]


def complete_trials(run: Run, measure: Measure) -> tuple[list[_Trial], int]:
    """Return the parents whose valid rows are all settled, and the number of other parents.

    measure: what it is for a unit to succeed.
    """
    level = run.manifest.declaration.innermost
    by_parent: dict[tuple[Parent, int], list[Unit[Any]]] = {}
    for record in run.records():
        by_parent.setdefault((parent_of(record, level), record.repeat), []).append(record)
    lengths = run.manifest.dataset.get("partial_tasks") or {}
    trials = []
    left_out = 0
    for (parent, _), records in by_parent.items():
        identity = records[0].parents.get(level.name, "")
        length = lengths.get(identity, 0) if run.complete else records[0].total
        valid = tuple(record for record in records if record.invalid is None)
        if not valid:
            continue
        if len(records) < length or any(not r.settled or r.scores is None for r in valid):
            left_out += 1
        else:
            won = tuple(measured(one, measure) == 1 for one in valid)
            trials.append(_Trial(parent, valid, won))
    return trials, left_out


def correlation(tasks: Sequence[tuple[int, int]]) -> float | None:
    """Intra-task correlation, estimated from (successes, steps) by one-way analysis of variance.

    Zero or less means that steps of a task agree no more than steps of different tasks. None if it
    cannot be estimated.

    >>> correlation([(2, 2), (0, 2)])
    1.0
    """
    groups, n = len(tasks), sum(size for _, size in tasks)
    wins = sum(won for won, _ in tasks)
    if groups < 2 or n <= groups or wins in (0, n):
        return None
    rate = wins / n
    between = math.fsum(size * (won / size - rate) ** 2 for won, size in tasks) / (groups - 1)
    within = math.fsum(won * (1 - won / size) for won, size in tasks) / (n - groups)
    typical = (n - math.fsum(size**2 for _, size in tasks) / n) / (groups - 1)
    return (between - within) / (between + (typical - 1) * within)


def all_succeed(rate: float, rho: float, steps: int) -> float:
    """Probability that all steps succeed, with beta-distributed success rates of tasks.

    >>> all_succeed(0.5, 0.0, 2), round(all_succeed(0.5, 1 / 3, 2), 6)
    (0.25, 0.333333)
    """
    if rho <= 0 or rate in (0.0, 1.0):
        return float(rate**steps)
    if rho >= 1:
        return rate
    total = 1 / rho - 1
    return math.prod((rate * total + j) / (total + j) for j in range(steps))


def two_sided(chances: Sequence[float], observed: int) -> float:
    """Two-sided p value of a sum of independent trials: twice the smaller tail, at most 1.

    >>> two_sided([0.5, 0.5], 2)
    0.5
    """
    weights = np.ones(1)
    for chance in chances:
        weights = np.convolve(weights, [1 - chance, chance])
    below, above = math.fsum(weights[: observed + 1]), math.fsum(weights[observed:])
    return min(1.0, 2 * min(below, above))


def _repeated(trials: Sequence[_Trial]) -> bool:
    return len({trial.parent for trial in trials}) < len(trials)


def _records(
    label: str, trials: Sequence[_Trial], rho: float, measure: Measure, declared: Declaration
) -> Iterable[dict[str, Any]]:
    if not trials:
        return
    bands: dict[tuple[float, str], list[_Trial]] = {}
    for trial in trials:
        bands.setdefault(band(trial.length, LENGTHS), []).append(trial)
    overall = sum(trial.wins for trial in trials) / sum(trial.length for trial in trials)
    rates = {f"by_{name}": _rates(trials, group) for name, group in _grouped(declared)}
    whole = f"all {declared.innermost.many}", trials
    for name, in_band in (whole, *((key[1], bands[key]) for key in sorted(bands))):
        sizes = [trial.length for trial in in_band]
        succeeded = [trial.wins == trial.length for trial in in_band]
        wins, n = sum(succeeded), len(in_band)
        repeated = _repeated(in_band)
        chances = [overall**size for size in sizes]
        won = name_of(declared[measure.all_of], declared)
        if repeated:
            parents = [trial.parent for trial in in_band]
            reach = mean_interval(list(map(float, succeeded)), parents, "micro")
        else:
            reach = clopper_pearson(wins, n)
        yield {
            "run": label,
            "group": name,
            declared.innermost.many: n,
            declared.units: sum(sizes),
            won: sum(trial.wins for trial in in_band) / sum(sizes),
            "succeeded": wins,
            "observed": wins / n,
            **interval_record("observed", reach),
            "one_rate": math.fsum(chances) / n,
            **{
                column: math.fsum(math.prod(map(rate, one.units)) for one in in_band) / n
                for column, rate in rates.items()
            },
            "correlated": math.fsum(all_succeed(overall, rho, size) for size in sizes) / n,
            "p": None if repeated else two_sided(chances, wins),
        }


def _rates(
    trials: Iterable[_Trial], group: Callable[[Unit[Any]], str]
) -> Callable[[Unit[Any]], float]:
    outcomes: dict[str, list[bool]] = {}
    for trial in trials:
        for unit, won in zip(trial.units, trial.won, strict=True):
            outcomes.setdefault(group(unit), []).append(won)
    rates = {name: sum(successes) / len(successes) for name, successes in outcomes.items()}
    return lambda unit: rates[group(unit)]
