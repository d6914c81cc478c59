"""An opened benchmark: an index in memory, rows read on demand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from harness.benchmarks.files import DataFile, fingerprint
from harness.benchmarks.index import IndexEntry, Layout
from harness.errors import DataError, suggestion

if TYPE_CHECKING:
    from harness.records import Row


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on steps; all must hold, and an empty tuple sets no condition.

    limit: keep only the first so many tasks, in file order.
    shard: (number from 1, count of shards); applied last, so that the shards of a limited
        selection are parts of that selection.
    """

    websites: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    task_ids: tuple[str, ...] = ()
    step_ids: tuple[str, ...] = ()
    limit: int | None = None
    shard: tuple[int, int] | None = None


@dataclass(frozen=True)
class Dataset:
    """The steps of a benchmark, or a selection of them. Immutable, so it can be read repeatedly.

    Attributes:
        benchmark: the name of the benchmark.
        layout: how its files are read.
        files: all files of the opened splits, including those that a selection leaves out.
        entries: one entry per distinct row, in file order.
        origin: where the files come from: `repo` and `revision`, or `local`.
        settings: the settings that a snapshot was made with, if `vlm-eval snapshot` wrote it.
        notices: messages for the user.
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

    def select(self, filters: Filters) -> Dataset:
        """The steps that match the filters. Raises `DataError` for a value that no step has."""
        return replace(self, entries=_select(self.entries, filters))

    def without(self, step_ids: Collection[str]) -> Dataset:
        """Leave out some steps, such as those that already have a result."""
        left_out = frozenset(step_ids)
        return replace(self, entries=tuple(e for e in self.entries if e.step_id not in left_out))

    def rows(self) -> Iterator[Row]:
        """Yield the rows in file order, decoded one at a time, with one row group open at a time.

        Raises:
            DataError: a file is damaged or a row cannot be decoded.
        """
        for _, row in self.decoded():
            if isinstance(row, DataError):
                raise row
            yield row

    def decoded(self) -> Iterator[tuple[IndexEntry, Row | DataError]]:
        """Yield every row with its entry, as `rows` does, and the error for a row without a value.

        Raises:
            DataError: a file is damaged.
        """
        for _, entries in groupby(self.entries, lambda entry: (entry.file, entry.row_group)):
            yield from self._group(list(entries))

    def row(self, step_id: str) -> Row:
        """Return one row, at the cost of reading its row group up to that row.

        Raises:
            KeyError: the selection has no such step.
            DataError: the file is damaged or the row cannot be decoded.
        """
        ((_, row),) = self._group([self._places[step_id]])
        if isinstance(row, DataError):
            raise row
        return row

    def negatives(self) -> Iterator[int]:
        """Yield the number of negative candidates of each row, reading only that column."""
        column = self.layout.negatives_column
        if column is None:
            return
        for (path, group), entries in groupby(self.entries, lambda e: (e.file, e.row_group)):
            offsets = {entry.offset for entry in entries}
            for _, record in self.layout.records(path, group, offsets, [column]):
                yield len(record[column] or ())

    @cached_property
    def fingerprint(self) -> dict[str, object]:
        """The data that was read: its origin, and every file with its size and SHA-256."""
        return {"benchmark": self.benchmark, **self.origin, "files": fingerprint(self.files)}

    @cached_property
    def _places(self) -> dict[str, IndexEntry]:
        return {entry.step_id: entry for entry in self.entries}

    def _group(self, entries: list[IndexEntry]) -> Iterator[tuple[IndexEntry, Row | DataError]]:
        by_offset = {entry.offset: entry for entry in entries}
        records = self.layout.records(entries[0].file, entries[0].row_group, by_offset)
        for offset, record in records:
            entry = by_offset[offset]
            try:
                row: Row | DataError = self.layout.decode(record, entry, self.benchmark)
            except DataError as error:
                row = error
            yield entry, row


def _select(entries: Sequence[IndexEntry], filters: Filters) -> tuple[IndexEntry, ...]:
    """The entries that match the filters, in their given order.

    Raises:
        DataError: a value that no entry has, an invalid limit or shard, or no entry left (a shard
            may be empty: tasks are assigned by hash).
    """
    fields: tuple[tuple[str, tuple[str, ...], Callable[[IndexEntry], str]], ...] = (
        ("website", filters.websites, lambda e: e.website),
        ("domain", filters.domains, lambda e: e.domain),
        ("task", filters.task_ids, lambda e: e.task_id),
        ("step", filters.step_ids, lambda e: e.step_id),
    )
    kept = tuple(entries)
    for what, wanted, value_of in fields:
        if wanted:
            _check_known(what, wanted, {value_of(entry) for entry in entries})
            allowed = frozenset(wanted)
            kept = tuple(entry for entry in kept if value_of(entry) in allowed)
    if not kept:
        raise DataError("no step matches all the filters")
    if filters.limit is not None:
        kept = _first_tasks(kept, filters.limit)
    if filters.shard is not None:
        kept = _shard(kept, *filters.shard)
    return kept


def shard_of(task_id: str, count: int) -> int:
    """The number, from 1, of the shard that a task belongs to; it depends on nothing else."""
    return int.from_bytes(hashlib.sha256(task_id.encode()).digest()[:8], "big") % count + 1


def _check_known(what: str, wanted: Sequence[str], known: set[str]) -> None:
    for value in wanted:
        if value not in known:
            hint = suggestion(value, known)
            if what in ("task", "step") and hint.startswith("known:"):
                # Listing ids would not help.
                hint = f"it has {len(known)} others; is this one in another split?"
            raise DataError(f"no {what} '{value}' in the selection; {hint}")


def _first_tasks(entries: Sequence[IndexEntry], limit: int) -> tuple[IndexEntry, ...]:
    if limit < 1:
        raise DataError(f"--limit must be at least 1, not {limit}")
    tasks = dict.fromkeys(entry.task_id for entry in entries)
    first = frozenset(list(tasks)[:limit])
    return tuple(entry for entry in entries if entry.task_id in first)


def _shard(entries: Sequence[IndexEntry], number: int, count: int) -> tuple[IndexEntry, ...]:
    most = max(count, 1)
    if not 1 <= number <= most or most != count:
        raise DataError(f"'{number}/{count}' is not a shard; write 1/{most} to {most}/{most}")
    return tuple(entry for entry in entries if shard_of(entry.task_id, count) == number)
