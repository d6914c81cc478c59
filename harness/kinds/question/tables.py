"""Rows of questions from JSON, JSON lines, CSV, TSV or parquet, with the place of each."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.kinds.question.presets import Read, read_as
from harness.kinds.question.schema import Schema

csv.field_size_limit(2**28)  # Pictures stand in cells of tables.


def rows_of(path: Path, schema: Schema) -> Iterator[Read]:
    """Yield the rows of a file by our names of columns, each with its place (`, line 3`).

    Raises `DataError` for a file that cannot be read, and for a row that is no object.
    """
    try:
        rows = ((where, _ours(row, schema.columns)) for where, row in _read(path))
        yield from read_as(schema.preset, rows) if schema.preset else rows
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error.reason})") from error


def _read(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        # Not by `splitlines`: texts may hold other line ends.
        for number, line in enumerate(path.read_text("utf-8-sig").split("\n"), 1):
            if line.strip():
                yield f", line {number}", _object(line, f"{path.name}, line {number}")
    elif suffix == ".json":
        found = _json(path.read_text("utf-8-sig"), path.name)
        if not isinstance(found, list):
            raise DataError(f"{path.name}: not a list of objects")
        for number, row in enumerate(found, 1):
            yield f", item {number}", _checked(row, f"{path.name}, item {number}")
    elif suffix in (".csv", ".tsv"):
        text = path.read_text("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=",\t"[suffix == ".tsv"])
        for row in reader:
            where = f"{path.name}, line {reader.line_num}"
            if None in row or None in row.values():
                raise DataError(f"{where}: not as many cells as there are columns")
            yield f", line {reader.line_num}", {k: v for k, v in row.items() if v != ""}
    elif suffix == ".parquet":
        from harness.benchmarks.parquet import opened

        with opened(path) as table:
            number = 0
            for batch in table.iter_batches(batch_size=64):
                for row in batch.to_pylist():
                    number += 1
                    yield f", row {number}", {k: v for k, v in row.items() if v is not None}
    else:
        raise DataError(f"{path.name}: questions are read from .jsonl, .json, .csv, .tsv, .parquet")


def _object(line: str, where: str) -> dict[str, Any]:
    return _checked(_json(line, where), where)


def _json(text: str, where: str) -> Any:
    def refused(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(text, parse_constant=refused)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: no JSON: {error}") from error


def _checked(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise DataError(f"{where}: not an object with columns")
    return row


def _ours(row: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return a row by our names; a dot in theirs leads into an object."""
    if not columns:
        return row
    taken = {theirs.partition(".")[0] for theirs in columns.values()}
    found = {name: value for name, value in row.items() if name not in taken}
    for ours, theirs in columns.items():
        value: Any = row
        for part in theirs.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None and not (isinstance(value, float) and math.isnan(value)):
            found[ours] = value
    return found
