"""The measures of runs, one by one, as `vlm-eval report` computes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from harness.runs import Run
from harness.tables.results import POOLED
from parsers import Declaration, Interval, Measure, counting
from parsers.declaration import SPLIT
from parsers.estimates import Results
from parsers.records import Scores
from reports.frames.rows import RunRows, run_rows
from reports.tables import grouped

Line = Literal["valid", "strict"]
"""Rows without a right answer are left out (`valid`), or count as failures (`strict`)."""


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """One measure of a run on a split.

    Attributes:
        split: the split, or `harness.tables.results.POOLED` for all of a run's splits together.
        average: `macro`, `micro` or `cells`; "" for a measure of parents, such as task success.
        line: how rows without a right answer count; `headline` says which is the run's own rule.
        first: whether it is the average that the benchmark declares first.
        value: between 0 and 1; None where it is not measured, or a parent is incomplete.
        n: number that the mean is over, and `over` of what (`tasks`).
        units, parents: numbers of units and of their innermost parents behind it.
        graded: whether units have values of the measure other than 0 and 1.
    """

    split: str
    measure: Measure
    average: str
    line: Line
    headline: bool
    first: bool
    value: float | None
    interval: Interval | None
    n: int
    over: str
    units: int
    parents: int
    graded: bool

    @property
    def pooled(self) -> bool:
        """Return True for a result over all splits of a run with several."""
        return self.split == POOLED


def results_of(run: Run) -> Iterator[MeasureResult]:
    """Yield the measures of a run that tables of results show, split by split, pooled ones last.

    Raises `RunError` if the run cannot be read.
    """
    (rows,) = run_rows(run)
    for split, _, found in grouped(rows, SPLIT):
        yield from _results(split, found)


def parts_of(run: Run) -> dict[str, str]:
    """Say by split which part of it the run has, "" for the whole split.

    Raises `RunError` if the run cannot be read.
    """
    from reports.frames.units import steps_frame
    from reports.published.keys import population_of

    steps = steps_frame(run)
    whole = str(run.manifest.config.get("benchmark"))
    splits = sorted(map(str, set(steps[SPLIT])))
    populations = {split: population_of(run, steps, (SPLIT, split)) for split in splits}
    parts = {s: "" if population == whole else population for s, population in populations.items()}
    return {**parts, POOLED: "; ".join(f"{s}: {part}" for s, part in parts.items() if part)}


def counted(rows: RunRows) -> dict[tuple[str, int], Scores]:
    """Return the scores that the headline of a run takes means of, by unit and repeat.

    Units that do not count are missing; those that count as failures have the scores of one.
    """
    scores = counting.counted(
        (unit for _, unit in rows.trials), rows.rules, rows.seen.failed(rows.declared)
    )
    return {
        (unit.unit_id, repeat): known
        for (repeat, unit), known in zip(rows.trials, scores, strict=True)
        if known is not None
    }


def _results(split: str, found: Results) -> Iterator[MeasureResult]:
    declared = found.declared
    lines: tuple[Line, Line] = ("valid", "strict")
    for line in lines:
        headline = line == found.rules.headline
        parents, units = found.counts.behind[line]
        for measure in (*declared.in_tables, *declared.of_parents):
            for average in ("",) if measure.all_of else measure.averages:
                row = found.row(measure.name, average, line)
                if row is not None:
                    first = measure.all_of != "" or average == measure.averages[0]
                    yield MeasureResult(
                        *(split, measure, average, line, headline, first),
                        *(row.number, row.interval, row.n, _over(average, measure, declared)),
                        *(units, parents, measure.name in found.seen.graded),
                    )


def _over(average: str, measure: Measure, declared: Declaration) -> str:
    """Name the unit of an average."""
    if average == "micro":
        return declared.units
    return "cells" if average == "cells" else declared.level(measure.over).many
