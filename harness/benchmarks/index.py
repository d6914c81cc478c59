"""The index: which steps the files hold and where, read before any wide column.

Tasks straddle shards and row groups, some rows are stored twice, and older files lack step numbers.
All of this is resolved here from the narrow columns alone, over all files of the selection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from harness.benchmarks.files import DataFile
from harness.benchmarks.parquet import (
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
from harness.benchmarks.step_numbers import Unplaced, recover
from harness.errors import DataError, suggestion
from parsers.records import StepInfo

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from harness.records import Row

_LARGE_GROUP = 450_000_000
"""Row groups with more decompressed bytes than this may need over a gigabyte of memory to read.

Measured (`benchmarks/reading_memory.py`): 0.25 GB for groups of 100 MB, 0.76 GB for 400 MB.
"""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A distinct row: the step that it holds and where it is stored.

    index: place of the step in its task, from 0.
    row_group, offset: the row group in the file and the row in the group, both from 0.
    row: number of the row in its file, from 1; used in messages.
    task_steps: the largest step number of the task in these files, plus one.
    conversation, turn: of a task that is a turn, as in `StepInfo`.
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
    conversation: str = ""
    turn: int | None = None

    @property
    def unit_id(self) -> str:
        return self.step_id

    @property
    def parents(self) -> dict[str, str]:
        return self.info("", "").parents

    @property
    def labels(self) -> dict[str, str]:
        return self.info("", "").labels

    @property
    def place(self) -> int:
        return self.index

    @property
    def where(self) -> str:
        """File and row, for messages."""
        return f"{self.file}, row {self.row}"

    def info(self, benchmark: str, task: str, total_steps: int = 0) -> StepInfo:
        """What the step is; its task has at least `total_steps` steps."""
        return StepInfo(
            benchmark=benchmark,
            split=self.split,
            task_id=self.task_id,
            action_uid=self.action_uid,
            index=self.index,
            total_steps=max(total_steps, self.task_steps),
            website=self.website,
            domain=self.domain,
            subdomain=self.subdomain,
            task=task,
            conversation=self.conversation,
            turn=self.turn,
        )


@dataclass(frozen=True, slots=True)
class Key:
    """What the narrow columns say about a row.

    action_uid: None if the file has no such id; the index then serves as the id.
    index: place of the step in its task, from 0; None if it is recovered from `hints`, or, without
        hints, given by the order of the task's rows in the file.
    hints: the evidence from which a missing index is recovered.
    """

    task_id: str
    action_uid: str | None
    index: int | None
    split: str | None
    website: str
    domain: str
    subdomain: str
    hints: Unplaced | None = None


class Scanned(NamedTuple):
    """A row as the index pass reads it: its number from 1, its location, and its narrow columns."""

    row: int
    group: int
    offset: int
    record: Record


Decoder = Callable[[Record, IndexEntry, str], "Row"]
"""Decodes a record into a row, see `Layout.decode`."""


class Layout(Protocol):
    """How one kind of file stores steps: what an opened benchmark needs in order to read rows."""

    @property
    def negatives_column(self) -> str | None:
        """The list column with one entry per negative candidate; None if there is none."""
        ...

    @property
    def goal_column(self) -> str | None:
        """The column with a step's task in words; None if it is not to be had without the rest."""
        ...

    def records(
        self,
        path: Path,
        group: int,
        offsets: Collection[int],
        columns: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, Record]]:
        """Yield the rows at some offsets of a group, in order, one at a time.

        `columns` of None reads every column that `decode` needs.
        """
        ...

    def decode(self, record: Record, entry: IndexEntry, benchmark: str) -> Row:
        """Decode a record into a row. Raises `DataError`."""
        ...

    def decoder(self) -> Decoder | None:
        """`decode` for other processes, without what only reading needs; None if records may hold
        what cannot be sent to them."""
        return self.decode


class TableLayout(Layout, Protocol):
    """The layout of one kind of table: its columns and what they mean.

    Tables are parquet files, unless a layout overrides how its files are read.
    """

    @property
    def what(self) -> str:
        """What to call these files in messages."""
        ...

    @property
    def required(self) -> tuple[str, ...]:
        """Columns that every file of this kind must have."""
        ...

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What columns hold, for those that are checked when a parquet file is opened."""
        return {}

    def narrow(self, present: Collection[str]) -> list[str]:
        """Columns that the index pass reads."""
        ...

    def wide(self, file: pq.ParquetFile) -> list[str]:
        """Columns needed to decode rows of an open parquet file; struct fields are dotted names."""
        ...

    def key(self, record: Record, where: str) -> Key:
        """What identifies a row. Raises `DataError`."""
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
        """The most decompressed bytes that reading one row can take; 0 if negligible."""
        with opened(path) as file:
            return max(group_sizes(file, self.wide(file)), default=0)

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
    """Index the distinct rows of some files, in file order; also return notices for the user.

    Args:
        files: the files, in reading order.
        layout: how to read them.

    Raises:
        DataError: a file cannot be read, lacks a column, or holds an invalid value.
    """
    entries: list[IndexEntry] = []
    hints: dict[int, Unplaced] = {}
    seen: set[tuple[str, str | None]] = set()
    lengths: dict[str, int] = {}
    doubled: Counter[str] = Counter()
    largest: tuple[int, str] = (0, "")
    for data_file in files:
        for scanned in layout.scan(data_file.path):
            key = layout.key(scanned.record, f"{data_file.path}, row {scanned.row}")
            if key.hints is None:
                key = in_order(key, lengths)
            split = data_file.split or key.split or ""
            if (key.task_id, key.action_uid) in seen:
                doubled[data_file.name] += 1
                continue
            seen.add((key.task_id, key.action_uid))
            if key.index is None and key.hints is not None:
                hints[len(entries)] = key.hints
            entries.append(entry_of(key, split, data_file.path, scanned))
        largest = max(largest, (layout.largest_group(data_file.path), data_file.name))
    entries, unsure = _placed(entries, hints)
    return with_lengths(entries), _notices(doubled, unsure, len(hints), largest)


def in_order(key: Key, lengths: dict[str, int]) -> Key:
    """Fill in a missing index or id, for tasks whose rows are stored in step order.

    `lengths` holds the number of steps of each task so far, and is updated.
    """
    index = lengths.get(key.task_id, 0) if key.index is None else key.index
    lengths[key.task_id] = index + 1
    uid = str(index) if key.action_uid is None else key.action_uid
    return replace(key, index=index, action_uid=uid)


def of_splits(
    entries: Sequence[IndexEntry], requested: Sequence[str] | None, default: Sequence[str] = ()
) -> tuple[IndexEntry, ...]:
    """The entries of the requested splits, else of the `default` splits present, else all of them.

    Raises:
        DataError: a requested split has no entry.
    """
    present = {entry.split for entry in entries}
    selected = tuple(requested or ()) or tuple(split for split in default if split in present)
    for split in selected:
        if split not in present:
            raise DataError(f"the data has no split '{split}'; {suggestion(split, present)}")
    return tuple(entry for entry in entries if not selected or entry.split in selected)


def entry_of(key: Key, split: str, path: Path, scanned: Scanned) -> IndexEntry:
    """Build the index entry of a row."""
    return IndexEntry(
        step_id=f"{key.task_id}_{key.action_uid}",
        task_id=key.task_id,
        action_uid=str(key.action_uid),
        index=-1 if key.index is None else key.index,
        split=split,
        website=key.website,
        domain=key.domain,
        subdomain=key.subdomain,
        file=path,
        row_group=scanned.group,
        offset=scanned.offset,
        row=scanned.row,
    )


def _placed(
    entries: list[IndexEntry], hints: Mapping[int, Unplaced]
) -> tuple[list[IndexEntry], int]:
    """Fill in the recovered step numbers; also return how many tasks were ambiguous.

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
    """Fill in the lengths of tasks, which are known once every entry is."""
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
        notices.append(f"duplicate rows were skipped ({where})")
    if recovered:
        text = f"{recovered} rows have no target_action_index; it was recovered from action_reprs"
        notices.append(text + (f", ambiguously for {unsure} tasks" if unsure else ""))
    size, name = largest
    if size > _LARGE_GROUP:
        notices.append(
            f"{name} has row groups of up to {size // 1_000_000} MB; reading them may take more "
            "than 1 GB of memory; `vlm-eval data repack` writes a copy with smaller ones"
        )
    return notices


_MOST_STEPS = 1_000_000
"""No trajectory is as long; a larger number would not fit the tables that are made of runs."""


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
