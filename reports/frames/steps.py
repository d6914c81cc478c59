"""A row per run, unit and repeat."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import pyarrow as pa

from harness.runs import Run, RunError
from parsers import Declaration
from reports.frames.arrow import from_table, from_values, joined
from reports.frames.schema import Column, union
from reports.frames.units import unit_columns
from reports.load import RunLike, corrupt_lines, declarations, open_runs, without_table
from reports.settings import compare

TABLE = "steps.parquet"


def columns(declared: Declaration, *, texts: bool = False) -> tuple[Column, ...]:
    """Return the columns for runs of a benchmark.

    Those from `status` on are missing while a unit has no final outcome.
    """
    return (
        Column("run", "category", "the run, as labelled by `reports.load.open_runs`"),
        *(one.column for one in unit_columns(declared).listed(texts=texts)),
    )


def steps_frame(runs: RunLike | Iterable[RunLike], *, texts: bool = False) -> pd.DataFrame:
    """Return a row per run, unit and repeat with the `columns` that the benchmarks declare.

    A complete run is read from its `steps.parquet`; an unfinished one, or one whose table is
    damaged, from `steps.jsonl`. `texts` adds long texts taken from pages. Raises `RunError` for
    runs that cannot be read at all.

    `attrs` of the frame:
    constants, differences: settings that the runs share, and those in which they differ.
    corrupt: lines about what could not be read and is left out.
    """
    opened = open_runs(runs)
    described = union(columns(one, texts=texts) for one in declarations(opened.values()))
    frame = joined({label: _read(run, texts) for label, run in opened.items()}, described)
    settings = compare(opened)
    frame.attrs = {
        "constants": settings.constants,
        "differences": settings.differences,
        "corrupt": corrupt_lines(opened),
    }
    return frame


def _read(run: Run, texts: bool) -> pa.Table:
    known = unit_columns(run.manifest.declaration)
    wanted = known.listed(texts=texts)
    described = [one.column for one in wanted]
    if run.complete and not texts:
        outcome = frozenset(one.column.name for one in known.outcome)
        try:
            table = from_table(run.path / TABLE, described, outcome, known.parts)
        except RunError as error:
            without_table(run, error)
            table = None
        if table is not None:
            return table
    records = run.records()
    try:
        values = {one.column.name: [one.get(record) for record in records] for one in wanted}
        return from_values(values, described)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise RunError(f"{run.path} holds a line that cannot be read: {error}") from error
