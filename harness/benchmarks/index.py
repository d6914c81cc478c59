"""The index pass: who is in the files, in file order, before any wide column is read.

Tasks straddle shards and row groups, some rows are stored twice, and older files lack the step
number; all of that is settled here, over all files of the selection, from narrow columns alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from harness.benchmarks.files import DataFile
from harness.benchmarks.parquet import (
    Record,
    column_names,
    group_sizes,
    opened,
    require,
    small_columns,
    wide_rows,
)
from harness.benchmarks.step_numbers import Unplaced, recover
from harness.errors import DataError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from harness.records import Row

_LARGE_GROUP = 450_000_000
"""Decompressed bytes of a row group above which reading may take more than a gigabyte.

Measured (`benchmarks/reading_memory.py`): 0.25 GB for groups of 100 MB, 0.76 GB for 400 MB.
"""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A distinct row: what it is and where it lies.

    `row_group` and `offset` count from 0, `row` is the row's number in its file from 1, for
    messages. `task_steps` is the greatest step number of the task in these files, plus one.
    """

    step_id: str
    task_id: str
    action_uid: str
    index: int
    split: str
    website: str
    domain: str
    subdomain: str
    file: Path
    row_group: int
    offset: int
    row: int
    task_steps: int = 0

    @property
    def where(self) -> str:
        """File and row, for messages."""
        return f"{self.file}, row {self.row}"


@dataclass(frozen=True, slots=True)
class Key:
    """What the narrow columns say of a row. `index` is None where `hints` must tell it."""

    task_id: str
    action_uid: str
    index: int | None
    split: str | None
    website: str
    domain: str
    subdomain: str
    hints: Unplaced | None = None


class Layout(Protocol):
    """How a kind of file stores steps, as far as an opened benchmark needs to know."""

    @property
    def negatives_column(self) -> str | None:
        """The list column with one entry per negative candidate, if there is one."""
        ...

    def records(
        self,
        path: Path,
        group: int,
        offsets: Collection[int],
        columns: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, Record]]:
        """The rows at some offsets of a group, in order, one at a time (None: all for `decode`)."""
        ...

    def decode(self, record: Record, entry: IndexEntry, benchmark: str) -> Row:
        """The row itself. Raises `DataError`."""
        ...


class TableLayout(Layout, Protocol):
    """The layout of a kind of parquet file: which columns, and what they mean."""

    @property
    def what(self) -> str:
        """What these files are, for messages."""
        ...

    @property
    def required(self) -> tuple[str, ...]:
        """Columns that no file of this kind is without."""
        ...

    def narrow(self, present: Collection[str]) -> list[str]:
        """Columns for the index pass."""
        ...

    def wide(self, file: pq.ParquetFile) -> list[str]:
        """Columns for rows, given an open parquet file; fields of structs written with a dot."""
        ...

    def key(self, record: Record, where: str) -> Key:
        """What identifies a row. Raises `DataError`."""
        ...

    def records(
        self,
        path: Path,
        group: int,
        offsets: Collection[int],
        columns: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, Record]]:
        with opened(path) as file:
            yield from wide_rows(file, group, columns or self.wide(file), offsets)


def build_index(
    files: Sequence[DataFile], layout: TableLayout
) -> tuple[tuple[IndexEntry, ...], list[str]]:
    """The distinct rows of some files, in file order, and what the user should know about them.

    Args:
        files: in the order to read them.
        layout: how to read them.

    Raises:
        DataError: a file cannot be read, lacks a column, or holds what no row can mean.
    """
    entries: list[IndexEntry] = []
    hints: dict[int, Unplaced] = {}
    seen: set[tuple[str, str]] = set()
    doubled: Counter[str] = Counter()
    largest: tuple[int, str] = (0, "")
    for data_file in files:
        with opened(data_file.path) as file:
            present = column_names(file)
            require(data_file.path, present, layout.required, layout.what)
            sizes = group_sizes(file, layout.wide(file))
            largest = max(largest, (max(sizes, default=0), data_file.name))
            records = small_columns(file, layout.narrow(present))
            for row, (group, offset, record) in enumerate(records, start=1):
                key = layout.key(record, f"{data_file.path}, row {row}")
                split = data_file.split or key.split or ""
                if (key.task_id, key.action_uid) in seen:
                    doubled[data_file.name] += 1
                    continue
                seen.add((key.task_id, key.action_uid))
                if key.index is None and key.hints is not None:
                    hints[len(entries)] = key.hints
                entries.append(_entry(key, split, data_file.path, group, offset, row))
    entries, unsure = _placed(entries, hints)
    return with_lengths(entries), _notices(doubled, unsure, len(hints), largest)


def _entry(key: Key, split: str, path: Path, group: int, offset: int, row: int) -> IndexEntry:
    return IndexEntry(
        step_id=f"{key.task_id}_{key.action_uid}",
        task_id=key.task_id,
        action_uid=key.action_uid,
        index=-1 if key.index is None else key.index,
        split=split,
        website=key.website,
        domain=key.domain,
        subdomain=key.subdomain,
        file=path,
        row_group=group,
        offset=offset,
        row=row,
    )


def _placed(
    entries: list[IndexEntry], hints: Mapping[int, Unplaced]
) -> tuple[list[IndexEntry], int]:
    """Entries with the step numbers that had to be recovered, and for how many tasks it is a guess.

    A task is recovered as a whole, because the order of its rows is part of the evidence.
    """
    tasks: dict[tuple[str, str], list[int]] = {}
    for position in hints:
        tasks.setdefault((entries[position].split, entries[position].task_id), []).append(position)
    unsure = 0
    for positions in tasks.values():
        indices, sure = recover([hints[position] for position in positions])
        unsure += not sure
        for position, index in zip(positions, indices, strict=True):
            entries[position] = replace(entries[position], index=index)
    return entries, unsure


def with_lengths(entries: Sequence[IndexEntry]) -> tuple[IndexEntry, ...]:
    """The entries with the lengths of their tasks, which is known when all of them are."""
    lengths: dict[tuple[str, str], int] = {}
    for entry in entries:
        task = (entry.split, entry.task_id)
        lengths[task] = max(lengths.get(task, 0), entry.index + 1)
    return tuple(replace(e, task_steps=lengths[e.split, e.task_id]) for e in entries)


def _notices(
    doubled: Mapping[str, int], unsure: int, recovered: int, largest: tuple[int, str]
) -> list[str]:
    notices = []
    if doubled:
        where = ", ".join(f"{count} in {name}" for name, count in doubled.items())
        notices.append(f"rows stored twice were left out ({where})")
    if recovered:
        text = f"{recovered} rows have no target_action_index; it was worked out from action_reprs"
        notices.append(text + (f", for {unsure} tasks as a guess" if unsure else ""))
    size, name = largest
    if size > _LARGE_GROUP:
        notices.append(
            f"{name} has row groups of up to {size // 1_000_000} MB; reading them may take more "
            "than 1 GB of memory; `vlm-eval data repack` writes a copy with smaller ones"
        )
    return notices


def whole(text: object, column: str, where: str) -> int | None:
    """A step number that is stored as text ("10") or as a number; None where there is none."""
    if text is None or text == "":
        return None
    try:
        number = int(str(text))
    except ValueError:
        number = -1
    if number < 0:
        raise DataError(f"{where}: column '{column}' is {text!r}, not a step number")
    return number
