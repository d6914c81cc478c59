"""Recorded steps: further declarations of their benchmarks, reading their rows and fields."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Self

import msgspec

from adapters.decoding import decoder_of
from harness.benchmarks.dataset import Dataset
from harness.benchmarks.index import Address, Layout, StoredStep
from harness.data_files import DataFile, fingerprint
from harness.errors import DataError
from harness.page import Candidate, decode_candidates
from harness.parquet import Record
from harness.records import NO_POSITIVE, NO_SCREENSHOT, UNREADABLE, Row, RowDetail
from harness.runs import StepDetail, StepUnit
from parsers.records import OPERATIONS, Gold, Operation


@dataclass(frozen=True, kw_only=True)
class StepDataset(Dataset[Address]):
    """Recorded steps: units in memory that know where their rows are, which are read on demand.

    Attributes:
        layout: reads the files.
        files: all files of the opened splits, including those that a selection leaves out.
        screenshots: True if any of its rows can have a screenshot.
        texts: reads the files without the screenshots of other files; default: `layout`.
    """

    layout: Layout
    files: tuple[DataFile, ...]
    screenshots: bool = True
    texts: Layout | None = None
    kind: str = "step"
    whole: str = "task"

    def rows(self) -> Iterator[Row]:
        """Yield the rows in file order, decoded one at a time, with one row group open at a time.

        Raises:
            DataError: a file is damaged or a row cannot be decoded.
        """
        for _, row in self.decoded():
            if isinstance(row, DataError):
                raise row
            yield row

    def decoded(self) -> Iterator[tuple[StoredStep, Row | DataError]]:
        """Yield every row with its entry, as `rows` does, and the error for a row without a value.

        Raises:
            DataError: a file is damaged.
        """
        for _, entries in groupby(self.entries, lambda entry: entry.detail.group):
            for entry, record in self._group(list(entries)):
                yield entry, self._decoded(entry, record)

    def listed(self) -> Iterator[StepUnit]:
        """Rows are decoded one at a time; one that cannot be read is an invalid unit."""
        for entry, row in self.decoded():
            if isinstance(row, DataError):
                yield unreadable(blank(entry), str(row))
            else:
                yield unlisted(row)

    def row(self, step_id: str) -> Row:
        """Return one row, at the cost of reading its row group up to that row.

        Raises:
            KeyError: the selection has no such step.
            DataError: the file is damaged or the row cannot be decoded.
        """
        ((entry, record),) = self._group([self._places[step_id]])
        row = self._decoded(entry, record)
        if isinstance(row, DataError):
            raise row
        return row

    @property
    def unpictured(self) -> Self:
        """The same rows without the screenshots of other files."""
        return replace(self, layout=self.texts or self.layout)

    def negatives(self) -> Iterator[int]:
        """Yield the number of negative candidates of each row, reading only that column."""
        column = self.layout.negatives_column
        if column is None:
            return
        for group, entries in groupby(self.entries, lambda e: e.detail.group):
            offsets = {entry.detail.offset for entry in entries}
            for _, record in self.layout.records(group, offsets, [column]):
                yield len(record[column] or ())

    @cached_property
    def fingerprint(self) -> dict[str, object]:
        """The data that was read: its origin, and every file with its size and SHA-256."""
        return {"benchmark": self.benchmark, **self.origin, "files": fingerprint(self.files)}

    @cached_property
    def _places(self) -> dict[str, StoredStep]:
        return {entry.unit_id: entry for entry in self.entries}

    def _group(self, entries: list[StoredStep]) -> Iterator[tuple[StoredStep, Record]]:
        by_offset = {entry.detail.offset: entry for entry in entries}
        records = self.layout.records(entries[0].detail.group, by_offset)
        for offset, record in records:
            yield by_offset[offset], record

    def _decoded(self, entry: StoredStep, record: Record) -> Row | DataError:
        try:
            return self.layout.decode(record, entry)
        except DataError as error:
            return error


def unlisted(row: Row, gold: Gold | None = None) -> StepUnit:
    """Return a decoded step as a line has it, without choices, pictures and outcome."""
    detail = row.detail
    gold = gold or detail.gold
    return row.with_detail(
        StepDetail(
            action_uid=detail.action_uid,
            history=detail.history,
            page_size=None,
            positives=len(detail.positives),
            negatives=len(detail.negatives),
            gold=gold,
        ),
        labels={**row.labels, "operation": gold.operation},
        digests={"html": hashlib.sha256(detail.html.encode()).hexdigest()},
    )


def unreadable(row: Row, reason: str) -> StepUnit:
    """Return the unit of a row that cannot be read."""
    return replace(unlisted(row), invalid=UNREADABLE, error=reason)


def blank(entry: StoredStep) -> Row:
    """Return a row with its narrow columns only; its operation is a placeholder."""
    return entry.with_detail(RowDetail(entry.detail.action_uid), source=str(entry.detail))


def recorded_steps(dataset: Dataset[Any]) -> StepDataset:
    """Return the same data, if it is of recorded steps. Raises `DataError`."""
    if not isinstance(dataset, StepDataset):
        raise DataError(f"{dataset.benchmark} has no recorded steps; choose a benchmark that has")
    return dataset


_AS_CLICK = frozenset({"HOVER", "ENTER"})
_OPERATION = decoder_of(dict[str, object])


def recorded_row(
    record: Record,
    entry: StoredStep,
    where: str,
    screenshot: bytes | None = None,
    *,
    pictured: bool,
    called: str = "",
) -> Row:
    """Build a row from a record with the fields of Mind2Web. Raises `DataError`.

    Args:
        record: its fields by name.
        entry: the step.
        where: where the record is, for messages.
        screenshot: the encoded screenshot of the page.
        pictured: True if a row without a screenshot is invalid.
        called: prefix of field names in messages.
    """
    operation, value = decode_operation(record["operation"], where)
    positives, negatives = (
        candidates_in(record[name], f"{where}: {called}'{name}'")
        for name in ("pos_candidates", "neg_candidates")
    )
    actions = record["action_reprs"] or ()
    problems = find_problems(bool(positives), screenshot is not None or not pictured)
    detail = RowDetail(
        entry.detail.action_uid,
        history=tuple(action or "" for action in actions[: entry.position]),
        html=record["cleaned_html"] or "",
        screenshot=screenshot,
        positives=positives,
        negatives=negatives,
        operation=operation,
        value=value,
        problems=problems,
        told=next((action or "" for action in actions[entry.position : entry.position + 1]), ""),
    )
    return entry.with_detail(
        detail,
        goal=record["confirmed_task"] or "",
        total=max(len(actions), entry.total),
        source=where,
        invalid=next(iter(problems), None),
    )


def candidates_in(stored: Iterable[str | msgspec.Raw] | None, where: str) -> tuple[Candidate, ...]:
    """Decode the candidates of a field, which may be null. Raises `DataError`, naming `where`."""
    try:
        return tuple(decode_candidates(stored or ()))
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error


def find_problems(has_positive: bool, has_picture: bool) -> tuple[str, ...]:
    """Return all reasons why a row is invalid; the one that no option can lift comes first."""
    return (() if has_positive else (NO_POSITIVE,)) + (() if has_picture else (NO_SCREENSHOT,))


def decode_operation(stored: object, where: str) -> tuple[Operation, str]:
    """Return the operation to score, and its value ("" if none).

    Raises `DataError`.
    """
    if isinstance(stored, str):
        try:
            stored = _OPERATION.decode(stored)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise DataError(f"{where}: column 'operation' is not valid JSON: {error}") from error
    if not isinstance(stored, dict):
        raise DataError(f"{where}: column 'operation' is {stored!r}, not an operation")
    recorded = str(stored.get("op"))
    scored = "CLICK" if recorded in _AS_CLICK else recorded
    for operation in OPERATIONS:
        if operation == scored:
            value = stored.get("value")
            if isinstance(value, bool) or not isinstance(value, str | int | float | None):
                raise DataError(f"{where}: column 'operation' has value {value!r}, not a text")
            return operation, "" if value is None else str(value)
    raise DataError(
        f"{where}: column 'operation' has op {recorded!r}, not one of {', '.join(OPERATIONS)}"
    )


_MOST_STEPS = 1_000_000
"""Longer than any trajectory; a larger number would not fit the tables of runs."""


def whole(text: object, column: str, where: str) -> int | None:
    """Read a step number stored as text ("10") or as a number; None if empty.

    Raises:
        DataError: the value is not a whole number from 0 to a million.
    """
    if text is None or text == "":
        return None
    try:
        number = int(str(text))
    except ValueError:
        number = -1
    if not 0 <= number <= _MOST_STEPS:
        raise DataError(f"{where}: column '{column}' is {text!r}, not a step number")
    return number
