"""An opened benchmark: an index in memory, rows read when asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from harness.benchmarks.files import DataFile
from harness.benchmarks.index import IndexEntry, Layout
from harness.benchmarks.selection import Filters, select

if TYPE_CHECKING:
    from harness.records import Row


@dataclass(frozen=True)
class Dataset:
    """The steps of a benchmark, or a selection of them. Immutable; every method may be repeated.

    `files` are all files of the opened splits, also those that a selection leaves out. `origin`
    says where they come from (`repo` and `revision`, or `local`). `settings` is what a snapshot of
    our own says of how it was made. `notices` are lines for the user.
    """

    benchmark: str
    layout: Layout
    files: tuple[DataFile, ...]
    entries: tuple[IndexEntry, ...]
    origin: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def index(self) -> tuple[IndexEntry, ...]:
        """One entry per distinct row, in file order."""
        return self.entries

    def select(self, filters: Filters) -> Dataset:
        """The steps that meet the filters. Raises `DataError` for values that no step has."""
        return replace(self, entries=select(self.entries, filters))

    def without(self, step_ids: Collection[str]) -> Dataset:
        """The steps but for some, such as those that are settled already."""
        left_out = frozenset(step_ids)
        return replace(self, entries=tuple(e for e in self.entries if e.step_id not in left_out))

    def rows(self) -> Iterator[Row]:
        """The rows in file order, decoded one at a time, with one row group open at a time.

        Raises:
            DataError: a file is damaged or a row cannot be decoded.
        """
        for _, entries in groupby(self.entries, lambda entry: (entry.file, entry.row_group)):
            yield from self._group(list(entries))

    def row(self, step_id: str) -> Row:
        """One row, at the cost of reading its row group up to it.

        Raises:
            KeyError: the selection has no such step.
            DataError: the file is damaged or the row cannot be decoded.
        """
        return next(self._group([self._places[step_id]]))

    def negatives(self) -> Iterator[int]:
        """How many negative candidates each row stores, read from that column alone."""
        column = self.layout.negatives_column
        if column is None:
            return
        for (path, group), entries in groupby(self.entries, lambda e: (e.file, e.row_group)):
            offsets = {entry.offset for entry in entries}
            for _, record in self.layout.records(path, group, offsets, [column]):
                yield len(record[column] or ())

    @cached_property
    def fingerprint(self) -> dict[str, object]:
        """What was read: where it comes from, and every file with its size and SHA-256."""
        from harness.benchmarks.fingerprint import describe

        return {"benchmark": self.benchmark, **self.origin, "files": describe(self.files)}

    @cached_property
    def _places(self) -> dict[str, IndexEntry]:
        return {entry.step_id: entry for entry in self.entries}

    def _group(self, entries: list[IndexEntry]) -> Iterator[Row]:
        by_offset = {entry.offset: entry for entry in entries}
        records = self.layout.records(entries[0].file, entries[0].row_group, by_offset)
        for offset, record in records:
            yield self.layout.decode(record, by_offset[offset], self.benchmark)
