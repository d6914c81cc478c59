"""Bootstrap intervals beside the usual ones, for every headline rate of a run.

Where the two disagree, the data are too few or too skewed for the usual methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from harness.tables import POOLED, interval_record
from parsers import Interval, Measure, ScoredUnit
from parsers.bootstrap import bootstrap
from parsers.metrics import Metrics
from parsers.parents import Parent, parent_of
from reports.about import about_runs
from reports.analyses.steps import AVERAGES
from reports.frames.rows import RunRows, run_rows
from reports.grid import Field, described, interval
from reports.keys import groups
from reports.load import RunLike, open_runs

FIELDS = (
    Field("run", "str", "text", "run", "the run"),
    Field("split", "str", "text", "split", "the split"),
    Field("metric", "str", "text", "metric", "the rate"),
    Field("average", "str", "text", "over", "macro (tasks), micro (steps), or tasks"),
    Field("tasks", "Int64", "count", "tasks", "tasks behind the rate"),
    Field("rate", "float64", "percent", "rate", "the headline, a share"),
    Field("method", "str", "text", "method", "of the first interval"),
    Field("first", "float64", "bounds", "interval", "width of the first interval"),
    *interval("first", "interval"),
    Field("second", "float64", "bounds", "bootstrap-t", "width of the bootstrap-t interval"),
    *interval("second", "bootstrap-t")[:2],
)


def second_intervals(runs: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return two intervals of every headline rate, by split and over all splits.

    The first is that of the table of results: Student's t over tasks, cluster-robust t over steps,
    Clopper-Pearson for task success, bootstrap-t where few tasks have a success or a failure. The
    second is bootstrap-t throughout (`bootstrap`), seeded by the run; task success over repeats has
    none. Rates follow the run's own rules. Raises `RunError` for runs that cannot be read.
    """
    opened = open_runs(runs)
    records: list[dict[str, Any]] = []
    for rows in run_rows(opened.values()):
        places: dict[str, list[int]] = {}
        for place, (_, split) in enumerate(groups(rows, "split")):
            places.setdefault(split, []).append(place)
        for split in sorted(places):
            records += _rates(rows, split, places[split])
        if len(places) > 1:
            records += _rates(rows, POOLED, range(len(rows.trials)))
    return described(
        records,
        FIELDS,
        title="Two intervals for every headline rate",
        about=about_runs(opened, own_rules=True),
        notes=(
            "Per cent; 95 % intervals with tasks as clusters; the second interval resamples tasks, "
            "seeded by the run. none: a single task, or tasks without any spread; task success "
            "over repeats has no second interval.",
        ),
    )


def _rates(rows: RunRows, split: str, places: Sequence[int]) -> Iterator[dict[str, Any]]:
    metrics = rows.metrics(places).metrics
    headline, declared = metrics.headline, rows.declared
    shared = {"run": rows.label, "split": split}
    seed = rows.run.manifest.seed
    for measure in declared.in_tables:
        values, tasks = headline_values((rows.trials[p][1] for p in places), metrics, measure)
        for average in AVERAGES:
            estimate = headline.rates[measure.name][average]
            resampled = bootstrap(values, tasks, average, seed=seed)
            yield {
                **shared,
                "metric": measure.head,
                "average": average,
                "tasks": headline.n_parents,
                "rate": estimate.value,
                **_both(estimate.interval, resampled),
            }
    tasks_won = metrics.of_parents("task_success")
    if tasks_won is None or tasks_won.value is None:
        return
    second = None
    if tasks_won.interval is not None and tasks_won.interval.method == "clopper-pearson":
        outcomes = [float(place < tasks_won.successes) for place in range(tasks_won.total)]
        second = bootstrap(outcomes, range(tasks_won.total), seed=seed)
    yield {
        **shared,
        "metric": "Task SR",
        "average": "tasks",
        "tasks": tasks_won.total,
        "rate": tasks_won.value,
        **_both(tasks_won.interval, second),
    }


def headline_values(
    units: Iterable[ScoredUnit], metrics: Metrics, measure: Measure
) -> tuple[list[float], list[Parent]]:
    """The values that the headline averages, and the task of each, by the rules of the metrics."""
    rules = metrics.rules
    values: list[float] = []
    tasks: list[Parent] = []
    name, level = measure.score(rules.variant), metrics.declared.innermost
    for unit in units:
        if unit.invalid is not None or unit.status in rules.exclude:
            failed, scores = rules.invalid == "fail", None
        else:
            failed, scores = rules.unattempted == "fail", unit.scores
        if scores is None and not failed:
            continue
        values.append(0.0 if scores is None else scores[name] or 0.0)
        tasks.append(parent_of(unit, level))
    return values, tasks


def _both(first: Interval | None, second: Interval | None) -> dict[str, Any]:
    columns: dict[str, Any] = {"method": first.method if first else "none"}
    for name, one in (("first", first), ("second", second)):
        width = one.high - one.low if one else None
        columns |= {name: width, **interval_record(name, one)}
    return columns
