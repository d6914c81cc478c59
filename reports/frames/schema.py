"""Columns with a type and a meaning, and frames that have exactly these columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import pandas as pd

Kind = Literal["category", "str", "boolean", "Int64", "float64"]


NUMBERS: frozenset[Kind] = frozenset({"boolean", "Int64", "float64"})


class Column(NamedTuple):
    """A column of a frame. All kinds can be missing (`pd.isna`)."""

    name: str
    kind: Kind
    meaning: str


def schema(columns: Iterable[Column]) -> dict[str, str]:
    """Column names with their pandas types."""
    return {column.name: column.kind for column in columns}


def union(listed: Iterable[Sequence[Column]]) -> tuple[Column, ...]:
    """Return the columns of frames of several benchmarks: those of the first, then what others add.

    A column that is a number in one and something else in another is a number or a text in both.
    """
    columns: dict[str, Column] = {}
    for column in (column for one in listed for column in one):
        known = columns.setdefault(column.name, column)
        if known.kind != column.kind:
            kinds = {known.kind, column.kind}
            kind: Kind = "float64" if kinds <= NUMBERS else "str"
            columns[column.name] = known._replace(kind=kind)
    return tuple(columns.values())


def typed(data: Mapping[str, Any] | pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    """Return a frame with these columns, in this order, of these types."""
    return pd.DataFrame({column.name: series(data[column.name], column.kind) for column in columns})


def series(values: Any, kind: Kind) -> pd.Series[Any]:
    """Values as a column of one kind."""
    column: pd.Series[Any] = pd.Series(values, dtype="object" if isinstance(values, list) else None)
    if kind == "category":
        # By way of strings: a column without a value is then one of strings, too.
        return column.astype("str").astype("category")
    return column.astype(kind)
