"""The measures of runs, one by one, as `vlm-eval report` computes them, and public facts.

Facts have no control characters, addresses or folders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from harness.runs import Run
from harness.runs.places import without_places
from harness.tables import clean
from harness.tables.results import POOLED, mean_text, parents_text
from parsers import Declaration, Interval, Measure, counting
from parsers.declaration import SPLIT
from parsers.estimates import Results
from parsers.records import Scores
from reports.exports import ExportError
from reports.settings import heading, settings_of

if TYPE_CHECKING:
    from reports.frames.rows import RunRows

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
    from reports.frames.rows import run_rows
    from reports.tables import grouped

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


LIBRARY = "vlm-eval"


def version_of(run: Run) -> str:
    """Return the version of this package that began the run; "unknown" if it is not on record."""
    packages = run.manifest.environment.get("packages")
    version = packages.get("vlm-web-eval") if isinstance(packages, dict) else None
    return clean(version or "unknown")


def benchmark_of(run: Run) -> str:
    """Return the name of the run's benchmark."""
    return clean(run.manifest.config.get("benchmark") or "unknown")


def model_of(run: Run) -> str:
    """Return the name of the run's model, without the folder of one that lies in a folder."""
    return clean(public_text("model", run.manifest.model_name))


def repository_of(run: Run) -> tuple[str, str] | None:
    """Return the dataset repository on the hub that the data came from, and its commit; None for
    data from elsewhere."""
    origin = run.manifest.dataset
    repo, revision = origin.get("repo"), origin.get("revision")
    return (clean(repo), clean(revision or "")) if isinstance(repo, str) and repo else None


def public_settings(run: Run) -> dict[str, str]:
    """Return the settings that reports print above a table, without addresses and folders."""
    settings = heading(settings_of(run.manifest))
    return {clean(name): clean(public_text(name, value)) for name, value in settings.items()}


def time_of(text: str, what: str) -> datetime:
    """Return a time on record, in UTC. Raises `ExportError` for a text that is none."""
    try:
        time = datetime.fromisoformat(text)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise ExportError(f"{what} is not a time in ISO 8601: {clean(text)[:40]}") from error


def created(run: Run) -> datetime:
    """When the run was begun, in UTC."""
    return time_of(run.manifest.created, f"the time in the manifest of {run.path}")


def share(run: Run, result: MeasureResult) -> float | None:
    """Return the value of a result, None where it is not measured.

    Raises `ExportError` for one that is not between 0 and 1.
    """
    numbers = [result.value, *((i.low, i.high) if (i := result.interval) else ())]
    for number in numbers:
        if number is not None and not 0 <= number <= 1:
            raise ExportError(
                f"{run.path}: {clean(result.measure.name)} is {number}, not between 0 and 1"
            )
    return result.value


def average_text(run: Run, result: MeasureResult) -> str:
    """Name the number and unit of a result's mean."""
    declared: Any = run.manifest.declaration
    if not result.average:
        return parents_text(result.measure, declared)
    average: Any = result.average
    return mean_text(average, result.measure, declared)


def public_text(name: str, value: Any) -> str:
    """Return the value of a setting as others may read it, without private addresses and folders.

    >>> public_text("ranker", "/home/me/ranks.parquet"), public_text("model", "hf:/models/mine")
    ('ranks.parquet', 'hf:mine')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return "URL" if name == "base_url" else without_places(str(value))
