"""The index: the steps in the files and their places, read before any wide column.

Tasks straddle shards and row groups, and some rows are stored twice.
All of this is resolved here from the narrow columns alone, over all files of the selection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from harness.data_files import DataFile
from harness.errors import DataError, suggestion
from harness.parquet import (
    Kind,
    Record,
    check_kinds,
    column_names,
    group_sizes,
    opened,
    require,
    small_columns,
    wide_rows,
)
from harness.runs.records import Unit
from harness.runs.steps import STEP
from parsers.records import StepInfo

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from harness.records import Row

_LARGE_GROUP = 450_000_000
"""Row groups with more decompressed bytes than this may need over a gigabyte of memory to read.

Measured (`benchmarks/reading_memory.py`): 0.25 GB for groups of 100 MB, 0.76 GB for 400 MB.
"""


Group = tuple[Path, int]
"""Rows that are read together: their file, and the number of the row group in it, from 0."""


@dataclass(frozen=True, slots=True)
class Address:
    """The place of a row in its files: the detail of a step until its row is decoded.

    action_uid: the recorded action, unique within its task.
    row_group, offset: the row group in the file and the row in the group, both from 0.
    row: number of the row in its file, from 1; used in messages.
    """

    action_uid: str
    file: Path
    row_group: int
    offset: int
    row: int

    def __str__(self) -> str:
        return f"{self.file}, row {self.row}"

    @property
    def group(self) -> Group:
        """Its group of rows."""
        return self.file, self.row_group


StoredStep = Unit[Address]
"""A distinct row: the step that it holds, with the length of its task in these files as `total`."""


@dataclass(frozen=True, slots=True)
class NarrowRow:
    """The narrow columns of a row.

    action_uid: None if the file has no such id; the index then serves as the id.
    index: place of the step in its task, from 0; None if the order of the task's rows gives it.
    """

    task_id: str
    action_uid: str | None
    index: int | None
    split: str | None
    website: str
    domain: str
    subdomain: str


class Scanned(NamedTuple):
    """A row of the index pass: its number from 1, its location, and its narrow columns."""

    row: int
    group: int
    offset: int
    record: Record


class Layout(Protocol):
    """The format of one kind of files of steps, for reading their rows."""

    @property
    def negatives_column(self) -> str | None:
        """The list column with one entry per negative candidate; None if there is none."""
        ...

    def records(
        self, group: Group, offsets: Collection[int], columns: Sequence[str] | None = None
    ) -> Iterator[tuple[int, Record]]:
        """Yield the rows at some offsets of a group, in order, one at a time.

        `columns` of None reads every column that `decode` needs.
        """
        ...

    def decode(self, record: Record, step: StoredStep) -> Row:
        """Decode a record into a row. Raises `DataError`."""
        ...


class TableLayout(Layout, Protocol):
    """The layout of one kind of table: its columns and what they mean.

    Tables are parquet files, unless a layout overrides how its files are read.
    """

    kinds: ClassVar[Mapping[str, Kind]] = {}
    """Types of the columns to check when a parquet file is opened."""

    @property
    def what(self) -> str:
        """The name of these files in messages."""
        ...

    @property
    def required(self) -> tuple[str, ...]:
        """Columns that every file of this kind must have."""
        ...

    def narrow(self, present: Collection[str]) -> list[str]:
        """List the columns that the index pass reads."""
        ...

    def wide(self, file: pq.ParquetFile) -> list[str]:
        """List the columns for decoding rows of a parquet file; struct fields are dotted names."""
        ...

    def key(self, record: Record, where: str) -> NarrowRow:
        """Return the identity of a row. Raises `DataError`."""
        ...

    def scan(self, path: Path) -> Iterator[Scanned]:
        """Yield all rows of a file with their narrow columns. Raises `DataError`."""
        with opened(path) as file:
            present = column_names(file)
            require(path, present, self.required, self.what)
            check_kinds(path, file, self.kinds)
            records = small_columns(file, self.narrow(present))
            for row, (group, offset, record) in enumerate(records, start=1):
                yield Scanned(row, group, offset, record)

    def largest_group(self, path: Path) -> int:
        """Return the most decompressed bytes that reading one row can take; 0 if negligible."""
        with opened(path) as file:
            return max(group_sizes(file, self.wide(file)), default=0)

    def records(
        self, group: Group, offsets: Collection[int], columns: Sequence[str] | None = None
    ) -> Iterator[tuple[int, Record]]:
        path, number = group
        with opened(path) as file:
            yield from wide_rows(file, number, columns or self.wide(file), offsets)


def build_index(
    files: Sequence[DataFile], layout: TableLayout, benchmark: str
) -> tuple[tuple[StoredStep, ...], list[str]]:
    """Index the distinct rows of some files, in file order; also return notices for the user.

    Args:
        files: the files, in reading order.
        layout: how to read them.
        benchmark: its name.

    Raises:
        DataError: a file cannot be read, lacks a column, or holds an invalid value.
    """
    entries: list[StoredStep] = []
    seen: set[tuple[str, str | None]] = set()
    lengths: dict[str, int] = {}
    doubled: Counter[str] = Counter()
    largest: tuple[int, str] = (0, "")
    for data_file in files:
        for scanned in layout.scan(data_file.path):
            where = f"{data_file.path}, row {scanned.row}"
            key = in_order(layout.key(scanned.record, where), lengths)
            split = data_file.split or key.split or ""
            if (key.task_id, key.action_uid) in seen:
                doubled[data_file.name] += 1
                continue
            seen.add((key.task_id, key.action_uid))
            entries.append(step_of(key, benchmark, split, data_file.path, scanned))
        largest = max(largest, (layout.largest_group(data_file.path), data_file.name))
    return with_lengths(entries), _notices(doubled, largest)


def in_order(key: NarrowRow, lengths: dict[str, int]) -> NarrowRow:
    """Fill in a missing index or id, for tasks whose rows are stored in step order.

    `lengths` has the number of steps of each task so far, and is updated.
    """
    index = lengths.get(key.task_id, 0) if key.index is None else key.index
    lengths[key.task_id] = index + 1
    uid = str(index) if key.action_uid is None else key.action_uid
    return replace(key, index=index, action_uid=uid)


def of_splits(
    entries: Sequence[StoredStep], requested: Sequence[str] | None, default: Sequence[str] = ()
) -> tuple[StoredStep, ...]:
    """Return the entries of the requested splits, else of the present `default` splits, else all.

    Raises:
        DataError: a requested split has no entry.
    """
    present = {entry.split for entry in entries}
    selected = tuple(requested or ()) or tuple(split for split in default if split in present)
    for split in selected:
        if split not in present:
            raise DataError(f"the data has no split '{split}'; {suggestion(split, present)}")
    return tuple(entry for entry in entries if not selected or entry.split in selected)


def step_of(key: NarrowRow, benchmark: str, split: str, path: Path, scanned: Scanned) -> StoredStep:
    """Return the step of a row as its narrow columns know it."""
    return stored_step(
        Address(str(key.action_uid), path, scanned.group, scanned.offset, scanned.row),
        benchmark=benchmark,
        split=split,
        task_id=key.task_id,
        index=-1 if key.index is None else key.index,
        website=key.website,
        domain=key.domain,
        subdomain=key.subdomain,
    )


def stored_step(address: Address, **facts: Any) -> StoredStep:
    """Return a step that is stored somewhere; `facts` are those of `StepInfo`."""
    info = StepInfo(action_uid=address.action_uid, total_steps=0, **facts)
    return Unit(
        kind=STEP,
        unit_id=f"{info.task_id}_{info.action_uid}",
        benchmark=info.benchmark,
        split=info.split,
        parents=info.parents,
        labels=info.labels,
        position=info.index,
        detail=address,
    )


def with_lengths(entries: Sequence[StoredStep]) -> tuple[StoredStep, ...]:
    """Fill in the lengths of tasks, which are known once every entry is."""
    lengths: dict[tuple[str, str], int] = {}
    for entry in entries:
        task = _task_of(entry)
        lengths[task] = max(lengths.get(task, 0), entry.position + 1)
    known: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def shared(names: Mapping[str, str]) -> Mapping[str, str]:
        # Steps of a task have the same: one copy saves a third of the memory.
        return known.setdefault(tuple(names.items()), names)

    return tuple(
        replace(
            entry,
            total=lengths[_task_of(entry)],
            parents=shared(entry.parents),
            labels=shared(entry.labels),
        )
        for entry in entries
    )


def _task_of(step: StoredStep) -> tuple[str, str]:
    return step.split, step.parents["task"]


def _notices(doubled: Mapping[str, int], largest: tuple[int, str]) -> list[str]:
    notices = []
    if doubled:
        where = ", ".join(f"{count} in {name}" for name, count in doubled.items())
        notices.append(f"duplicate rows were skipped ({where})")
    size, name = largest
    if size > _LARGE_GROUP:
        notices.append(
            f"{name} has row groups of up to {size // 1_000_000} MB; reading them may take more "
            "than 1 GB of memory; `vlm-eval data repack` writes a copy with smaller ones"
        )
    return notices
