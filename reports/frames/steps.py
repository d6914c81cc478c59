"""A row per run, unit and repeat, read from disk as Arrow tables and converted to pandas.

The tables of several runs are concatenated before the conversion: one conversion per column, no
copy of the strings, and categories shared by all runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.runs import Run, RunError
from harness.runs.files import STEPS
from harness.runs.steps import LINES, lines_digest
from parsers import Declaration
from reports.frames.units import Column, Kind, union, unit_columns
from reports.load import RunLike, declarations, open_runs, without_table
from reports.settings import attrs_of

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
    constants, differences: settings that the runs share, and those that differ.
    corrupt: lines about what could not be read and is left out.
    """
    opened = open_runs(runs)
    described = union(columns(one, texts=texts) for one in declarations(opened.values()))
    frame = joined({label: _read(run, texts) for label, run in opened.items()}, described)
    frame.attrs = attrs_of(opened)
    return frame


def _read(run: Run, texts: bool) -> pa.Table:
    known = unit_columns(run.manifest.declaration)
    wanted = known.listed(texts=texts)
    described = [one.column for one in wanted]
    if run.complete and not texts:
        outcome = frozenset(one.column.name for one in known.outcome)
        try:
            table = from_table(run.path / TABLE, described, outcome, known.parts)
            if table is not None:
                _check_lines(run.path)
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


def _check_lines(run: Path) -> None:
    """Raise `RunError` if the lines are not those that the table was made from."""
    lines, table = run / STEPS, run / TABLE
    made_from = (pq.read_schema(table).metadata or {}).get(LINES)
    if made_from is None:
        raise RunError(f"{table} does not say which lines it was made from")
    if lines.is_file() and made_from != lines_digest(lines):
        raise RunError(f"{table} was made from other lines than steps.jsonl has")


ARROW: dict[Kind, Any] = {
    "category": pa.string(),
    "str": pa.string(),
    "boolean": pa.bool_(),
    "Int64": pa.int64(),
    "float64": pa.float64(),
}
_PANDAS = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}


def from_values(values: Mapping[str, list[Any]], columns: Sequence[Column]) -> pa.Table:
    """Make a table from lists of values. Raises Arrow's errors for values of other types."""
    return pa.table([pa.array(values[c.name], ARROW[c.kind]) for c in columns], _names(columns))


def from_table(
    path: Path,
    columns: Sequence[Column],
    outcome: frozenset[str],
    parts: Mapping[str, tuple[str, int]],
) -> pa.Table | None:
    """Read the units of a complete run; None if the file is missing or lacks a column.

    Columns in `outcome` are null for units without a final outcome, those in `parts` are one place
    in a column of lists. Raises `RunError` if the file cannot be read or has columns of other
    types.
    """
    try:
        stored_table = pq.read_table(path, memory_map=False)
        names = set(stored_table.column_names)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise RunError(f"{path} cannot be read: {error}") from error
    stored = {parts[c.name][0] if c.name in parts else c.name for c in columns}
    if not stored <= names:
        return None
    try:
        settled = pc.fill_null(stored_table["settled"].cast(pa.bool_()), False)
        all_settled = pc.all(settled).as_py()
        arrays = []
        for column in columns:
            array = _column(stored_table, column.name, parts).cast(ARROW[column.kind])
            if column.name in outcome and all_settled is False:
                array = pc.if_else(settled, array, pa.scalar(None, array.type))
            arrays.append(array)
        table = pa.table(arrays, _names(columns))
        table.validate(full=True)  # invalid UTF-8 would fail later, with a worse message
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise RunError(f"{path} is not a table of steps: {error}") from error
    return table


def _column(table: pa.Table, name: str, parts: Mapping[str, tuple[str, int]]) -> Any:
    if name in parts:
        column, place = parts[name]
        lists = table[column]
        return lists if pa.types.is_null(lists.type) else pc.list_element(lists, place)
    if name != "flags":
        return table[name]
    flags = table["flags"].cast(pa.list_(pa.string()))
    answered = pc.is_valid(table["status"])
    return pc.if_else(answered, pc.binary_join(flags, " "), pa.scalar(None, pa.string()))


def joined(tables: Mapping[str, pa.Table], columns: Sequence[Column]) -> pd.DataFrame:
    """Concatenate the tables of runs; the first column is the label of each row's run."""
    parts = [
        _with_kinds(table, columns).add_column(
            0, columns[0].name, pa.repeat(pa.scalar(label), len(table))
        )
        for label, table in tables.items()
    ]
    if not parts:
        parts = [from_values({c.name: [] for c in columns}, columns)]
    # A column that a run does not have, because its benchmark declares no such measure, is missing.
    whole = pa.concat_tables(parts, promote_options="default")
    data = {column.name: _pandas(whole[column.name], column.kind) for column in columns}
    return pd.DataFrame(data, copy=False)


def _with_kinds(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return the table with columns of the kinds that they have in a frame of several
    benchmarks."""
    for column in columns:
        place = table.schema.get_field_index(column.name)
        if place >= 0 and table.schema.types[place] != ARROW[column.kind]:
            array = table.column(place).cast(ARROW[column.kind])
            table = table.set_column(place, column.name, array)
    return table


def _pandas(values: Any, kind: Kind) -> pd.Series[Any]:
    if kind == "category":
        encoded = values.combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        names = pd.Index(encoded.dictionary.to_pylist(), dtype="str")
        categorical = pd.Categorical.from_codes(codes, categories=names)
        return pd.Series(categorical.reorder_categories(names.sort_values()))
    plain: pd.Series[Any] = values.to_pandas(types_mapper=_PANDAS.get)
    return plain.astype(kind)


def _names(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns]
