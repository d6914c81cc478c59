"""A row per run, unit and repeat, from the lines of runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.runs import Run, RunError, Unit
from parsers import Declaration
from reports.frames.units import Column, typed, union, unit_columns
from reports.load import RunLike, declarations, open_runs
from reports.settings import attrs_of

if TYPE_CHECKING:
    import pandas as pd


def columns(declared: Declaration, *, texts: bool = False) -> tuple[Column, ...]:
    """Return the columns for runs of a benchmark.

    Those from `status` on are missing while a unit has no final outcome.
    """
    return (
        Column("run", "category", "the run, as labelled by `reports.load.open_runs`"),
        *(one.column for one in unit_columns(declared, texts=texts)),
    )


def steps_frame(runs: RunLike | Iterable[RunLike], *, texts: bool = False) -> pd.DataFrame:
    """Return a row per run, unit and repeat with the `columns` that the benchmarks declare.

    `texts` adds long texts taken from pages. Raises `RunError` for runs that cannot be read.

    `attrs` of the frame:
    constants, differences: settings that the runs share, and those that differ.
    corrupt: lines about what could not be read and is left out.
    """
    opened = open_runs(runs)
    frame = frame_of(((label, run, run.records()) for label, run in opened.items()), texts=texts)
    frame.attrs = attrs_of(opened)
    return frame


def frame_of(
    runs: Iterable[tuple[str, Run, Sequence[Unit[Any]]]], *, texts: bool = False
) -> pd.DataFrame:
    """Return the frame of some lines of runs, given with their labels. Raises `RunError`."""
    listed = list(runs)
    declared = declarations(run for _, run, _ in listed)
    described = union(columns(one, texts=texts) for one in declared)
    try:
        rows = [row for one in listed for row in _rows(*one, texts)]
        return typed(rows, described)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        paths = ", ".join(str(run.path) for _, run, _ in listed)
        raise RunError(f"{paths} holds a line that cannot be read: {error}") from error


def _rows(
    label: str, run: Run, records: Sequence[Unit[Any]], texts: bool
) -> Iterator[dict[str, object]]:
    wanted = unit_columns(run.manifest.declaration, texts=texts)
    for record in records:
        yield {"run": label, **{one.column.name: one.get(record) for one in wanted}}
