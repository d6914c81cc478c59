"""Published sets of questions: from the rows of their files to questions with pictures."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from harness.benchmarks.contract import Benchmark
from harness.benchmarks.files import DataFile, check_splits, fingerprint
from harness.benchmarks.folders import Cell, Folder, set_folder
from harness.benchmarks.items import Items
from harness.benchmarks.parquet import column_names, opened, require, small_columns
from harness.errors import DataError
from harness.tables import counted, test_data_note
from parsers.question import Asked, QuestionDetail, Right


class Row(NamedTuple):
    """A question of a published file.

    where: file and place, for messages.
    picture: a name in the folder, or the place of its bytes.
    """

    where: str
    id: str
    asked: Asked
    gold: Right
    picture: str | Cell
    parents: Mapping[str, str]
    labels: Mapping[str, str] = {}


@dataclass(frozen=True)
class PublishedQuestions(Benchmark):
    """A published set.

    Attributes:
        repo, revision: its data set on the hub, and the commit; None for the newest, which goes on
            record.
        hub_splits: the splits that are there.
        files: patterns of the files to download for a split, with `{split}` for its name.
        folders: where a folder of it may have pictures.
        cells: the published number of questions by the value of the label `task`.
    """

    repo: str = ""
    revision: str | None = None
    hub_splits: tuple[str, ...] = ()
    files: tuple[str, ...] = ("*{split}*.parquet",)
    folders: tuple[str, ...] = ("images", "")
    cells: Mapping[str, int] = field(default_factory=dict)

    note = test_data_note("a model that was trained on it cannot be measured with it")
    protocol = "question"
    pictures = True

    @abstractmethod
    def rows(self, folder: Folder, split: str, files: list[DataFile]) -> Iterator[Row]:
        """Yield the rows of a split, and add the files that they are from. Raises `DataError`."""

    def read(self, folder: Folder, place: Cell) -> bytes:
        """Return the picture at a place of a table."""
        return folder.parquet(place)

    def holds(self, data: Path) -> bool:
        return set_folder(data, self.name) is not None

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Open the folder of the set or the one above it, or the copy on the hub."""
        check_splits(splits, self.splits, self.name)
        wanted = list(dict.fromkeys(splits or self.default_splits))
        folder = self._folder(data, wanted)
        files: list[DataFile] = []
        places: dict[str, str | Cell] = {}
        units = []
        for split in wanted:
            made = []
            for row in self.rows(folder, split, files):
                places[row.id] = row.picture
                made.append(
                    self.unit(
                        row.id,
                        QuestionDetail(asked=row.asked, gold=row.gold),
                        split,
                        parents=row.parents,
                        labels=row.labels,
                        goal=row.asked.question,
                        source=row.where,
                    )
                )
            self._check_counts(made, split, folder)
            units += made

        def pictures(unit: Any) -> Sequence[bytes]:
            place = places[unit.unit_id]
            if isinstance(place, str):
                return [folder.picture(place)]
            return [self.read(folder, place)]

        return Items.of(
            units,
            whole=self.declared.innermost.name,
            origin={**folder.origin, "files": fingerprint(list(dict.fromkeys(files)))},
            pictures=pictures,
        )

    def _folder(self, data: Path | None, splits: Sequence[str]) -> Folder:
        if data is not None:
            return Folder.given(data, self.name, self.folders)
        if lacking := [one for one in splits if one not in self.hub_splits]:
            raise DataError(
                f"{self.name}, {lacking[0]} is on no hub: give a folder with its files with --data "
                "(docs/published-questions.md)"
            )
        patterns = [one.format(split=split) for one in self.files for split in splits]
        return Folder.of_hub(self.repo, self.revision, patterns, self.folders)

    def _check_counts(self, units: Sequence[Any], split: str, folder: Folder) -> None:
        size = next((one for one in self.sizes if one.split == split), None)
        parents = {next(iter(unit.parents.values())) for unit in units}
        tasks = Counter(unit.labels.get("task", "") for unit in units)
        for found, known, what, of in (
            *((tasks[one], known, "question", f" of {one}") for one, known in self.cells.items()),
            (len(units), size and size.rows, "question", ""),
            (len(parents), size and size.tasks, self.declared.innermost.one, ""),
        ):
            if known and found != known:
                raise DataError(
                    f"{folder.root}, {split}: {counted(found, what)}{of} where {known:,} are "
                    "published; are files missing, or changed?"
                )


def table_rows(
    file: DataFile, needed: Sequence[str], more: Sequence[str], name: str
) -> Iterator[tuple[str, Cell, dict[str, Any]]]:
    """Yield the place, the cell and the narrow columns of a file's rows. Raises `DataError`."""
    with opened(file.path) as table:
        present = column_names(table)
        require(file.path, present, needed, name)
        columns = [*needed, *(one for one in more if one in present)]
        rows = enumerate(small_columns(table, columns), 1)
        for number, (group, offset, record) in rows:
            yield f"{file.name}, row {number}", Cell(file.path, group, offset), record


def texts(value: object, where: str, what: str) -> tuple[str, ...]:
    """Return a text or a list of texts as texts. Raises `DataError` for anything else."""
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    found = tuple(one for one in listed if isinstance(one, str))
    if not listed or len(found) < len(listed):
        raise DataError(f"{where}: {what} is neither a text nor a list of texts")
    return found
