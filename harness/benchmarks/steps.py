"""A user's recorded steps in files, as a benchmark without code.

    vlm-eval --benchmark steps --data steps.jsonl --model lexical

The columns are documented in `harness.benchmarks.step_columns` and docs/own-data.md. A schema file
(TOML) or a package maps other names of columns and operations to them:

    SHOP = SimpleBenchmark("shop", data=HERE / "steps.jsonl", columns={"task": "instruction"})
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from adapters.decoding import decode_json
from adapters.input_files import behind_mark, open_file
from harness.benchmarks.folders import decoded_toml
from harness.benchmarks.index import (
    Group,
    NarrowRow,
    Scanned,
    StoredStep,
    TableLayout,
    build_index,
    of_splits,
)
from harness.benchmarks.recorded import StepDataset
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.benchmarks.step_columns import COLUMNS, StepColumns
from harness.data_files import DataFile, local_files
from harness.errors import DataError, suggestion
from harness.page import NODE_ID
from harness.parquet import Record, column_names
from harness.printing import test_data_note
from harness.records import Row

if TYPE_CHECKING:
    import pyarrow.parquet as pq

SUFFIXES = (".jsonl", ".parquet")
SCHEMA = ".toml"


class _Line(NamedTuple):
    """A record of a file, and the problem that keeps it from being read ("" if none)."""

    scanned: Scanned
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StepsLayout(TableLayout):
    """Files of steps in the user's columns.

    In JSON lines a group is a line, numbered by the offset of its first byte.

    Attributes:
        lost: True if a row without a screenshot is invalid.
        origin: where the data comes from, and its mapping of columns.
        scanned: the rows of each file with their narrow columns.
        actions: the actions of each task in words, by step number.
    """

    columns: StepColumns
    lost: bool = True
    origin: Mapping[str, object] = field(default_factory=dict)
    scanned: Mapping[Path, Sequence[Scanned]] = field(default_factory=dict, repr=False)
    actions: Mapping[str, Mapping[int, str]] = field(default_factory=dict, repr=False)
    what: str = "recorded steps (see docs/own-data.md)"
    negatives_column: str | None = None

    @property
    def required(self) -> tuple[str, ...]:
        return self.columns.required()

    def narrow(self, present: Collection[str]) -> list[str]:
        return [name for name in self.columns.stored(narrow=True) if name in present]

    def wide(self, file: pq.ParquetFile) -> list[str]:
        present = column_names(file)
        return [name for name in self.columns.stored() if name in present]

    def key(self, record: Record, where: str) -> NarrowRow:
        return self.columns.key(record, where)

    def is_table(self, path: Path) -> bool:
        """Return True for a parquet file, whose columns are known without reading a row."""
        return path.suffix == ".parquet"

    def lines(self, path: Path) -> Iterator[_Line]:
        """Yield the records of a file with their narrow columns, including unreadable ones."""
        if self.is_table(path):
            yield from map(_Line, TableLayout.scan(self, path))
            return
        narrow = self.columns.stored(narrow=True)
        for row, start, text in _lines(path):
            record, problem = _decoded(text)
            lacking = [repr(name) for name in self.required if not problem and name not in record]
            kept = {name: record[name] for name in narrow if name in record}
            problem = f"no {', '.join(lacking)}" if lacking else problem
            yield _Line(Scanned(row, start, 0, kept), problem)

    def scan(self, path: Path) -> Iterator[Scanned]:
        yield from self.scanned[path]

    def records(
        self, group: Group, offsets: Collection[int], columns: Sequence[str] | None = None
    ) -> Iterator[tuple[int, Record]]:
        path, start = group
        if self.is_table(path):
            yield from TableLayout.records(self, group, offsets, columns)
            return
        try:
            with open_file(path) as lines:
                lines.seek(start)
                record, problem = _decoded(lines.readline())
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error
        if problem:
            raise DataError(f"{path}, at byte {start}: {problem}")
        yield 0, record

    def with_actions(self, entries: Sequence[StoredStep]) -> StepsLayout:
        """Return the layout with the actions of all rows filled in. Raises `DataError`."""
        records = {
            (path, row.group, row.offset): row.record
            for path, rows in self.scanned.items()
            for row in rows
        }
        actions: dict[str, dict[int, str]] = {}
        for entry in entries:
            record = records[entry.detail.file, entry.detail.row_group, entry.detail.offset]
            words = self.columns.action(record, str(entry.detail))
            actions.setdefault(entry.parents["task"], {})[entry.position] = words
        return replace(self, actions=actions)

    def decode(self, record: Record, entry: StoredStep) -> Row:
        actions = self.actions.get(entry.parents["task"], {})
        earlier = [actions[index] for index in sorted(actions) if index < entry.position]
        return self.columns.row(record, entry, earlier, self.lost)


@dataclass(frozen=True)
class SimpleBenchmark(StepBenchmark):
    """Recorded steps in JSON lines or parquet.

    Attributes:
        data: the file or folder to read if there is no `--data`.
        columns: our column to its name in the data; a dot leads into an object.
        values: our column to a default for rows that have no value.
        operations: operation names in the data to CLICK, TYPE and SELECT.
        id_attribute: the HTML attribute that holds the ids of elements.
    """

    name: str = "steps"
    data: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    operations: Mapping[str, str] = field(default_factory=dict)
    id_attribute: str = NODE_ID

    note = test_data_note()

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """`data` may be a schema file, which names the data."""
        layout, files = self.layout(data)
        scanned = {file.path: tuple(_sound(layout, file.path)) for file in files}
        layout = replace(layout, scanned=scanned)
        entries, notices = build_index(files, layout, self.name)
        if not entries:
            raise DataError(f"no rows in {', '.join(str(file.path) for file in files)}")
        kept = of_splits(entries, splits)
        return StepDataset(
            benchmark=self.name,
            layout=layout.with_actions(entries),
            files=tuple(files),
            entries=kept,
            origin=layout.origin,
            notices=tuple(notices),
        )

    def holds(self, data: Path) -> bool:
        """Return True for JSON lines and a schema of steps."""
        if self.data is not None or not data.is_file():
            return False
        try:
            return data.suffix == SUFFIXES[0] or bool(
                data.suffix == SCHEMA and decoded_toml(data, _Schema)
            )
        except DataError:
            return False

    def layout(self, data: Path | None) -> tuple[StepsLayout, list[DataFile]]:
        """Return the layout of the files, and the files. Raises `DataError`."""
        source = data or self.data
        if source is None:
            raise DataError(f"{self.name} needs --data PATH: JSON lines, parquet, or a schema file")
        if str(source).startswith("hf:/"):
            raise DataError(
                f"{source} is not read from the hub: download it (hf download OWNER/NAME "
                "--repo-type dataset --local-dir FOLDER) and give --data FOLDER"
            )
        described = self
        if source.suffix == SCHEMA:
            described, source = self._described_by(source)
        for column in (*described.columns, *described.values):
            known = [known.name for known in COLUMNS]
            if column not in known:
                raise DataError(f"unknown column '{column}'; {suggestion(column, known)}")
        columns = StepColumns(
            described.columns, described.values, described.operations, described.id_attribute
        )
        if source.is_file() and source.suffix not in SUFFIXES:
            those = " or ".join(SUFFIXES)
            raise DataError(f"{source} is not a file that {self.name} reads ({those})")
        origin = {"origin": "local", "columns": msgspec.to_builtins(columns)}
        files = local_files(source, *SUFFIXES)
        return StepsLayout(columns, described.screenshots is True, origin), files

    def _described_by(self, path: Path) -> tuple[SimpleBenchmark, Path]:
        """Return the benchmark with the settings of a schema file, and the path of the data."""
        schema = decoded_toml(path, _Schema)
        settings = {
            name: value for name in schema.__struct_fields__ if (value := getattr(schema, name))
        }
        source = path.parent / settings.pop("data", ".")
        return replace(self, **settings), source


class _Schema(msgspec.Struct, forbid_unknown_fields=True):
    data: str = ""
    columns: dict[str, str] = {}
    values: dict[str, str] = {}
    operations: dict[str, str] = {}
    id_attribute: str = ""


def _sound(layout: StepsLayout, path: Path) -> Iterator[Scanned]:
    """Yield the records of a file. Raises `DataError` for the first that cannot be read."""
    for scanned, problem in layout.lines(path):
        if problem:
            raise DataError(f"{path}, row {scanned.row}: {problem}")
        yield scanned


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield the non-blank lines of a file: number from 1, offset of the first byte, text."""
    try:
        with behind_mark(path) as file:
            start = file.tell()
            for row, text in enumerate(file, start=1):
                if text.strip():
                    yield row, start, text
                start += len(text)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def _decoded(text: bytes) -> tuple[Record, str]:
    """Return a line's record, and the problem that keeps it from being read ("" if none)."""
    try:
        record: Record = decode_json(text, dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return {}, f"not a JSON object: {error}"
    return record, ""
