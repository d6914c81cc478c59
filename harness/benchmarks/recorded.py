"""Recorded steps: what their benchmarks declare beside others, and how their rows are read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from harness.benchmarks.contract import Benchmark
from harness.benchmarks.dataset import Dataset
from harness.benchmarks.files import DataFile, fingerprint
from harness.benchmarks.index import IndexEntry, Layout
from harness.benchmarks.parquet import Record
from harness.errors import DataError
from harness.settings import Settings
from parsers import MIND2WEB, Declaration, Prediction, ScoringRules, score
from parsers.records import F1Variant, Scores

if TYPE_CHECKING:
    from harness.records import Row

Fixed = Literal["distractors", "seed", "choices", "prompts", "images"]
"""What stored data can fix: the number of sampled negatives, the seed that samples them, the
choices as listed, the prompts around them, and the images as sent."""


@dataclass(frozen=True, kw_only=True)
class StepDataset(Dataset[IndexEntry]):
    """Recorded steps: an index in memory, rows read on demand.

    Attributes:
        layout: how the files are read.
        files: all files of the opened splits, including those that a selection leaves out.
        screenshots: whether any of its rows can have a screenshot.
        texts: how the files are read for their texts alone, where screenshots come from others;
            `layout` unless given.
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

    def decoded(self) -> Iterator[tuple[IndexEntry, Row | DataError]]:
        """Yield every row with its entry, as `rows` does, and the error for a row without a value.

        Raises:
            DataError: a file is damaged.
        """
        for entry, record in self.records():
            yield entry, self._decoded(entry, record)

    def records(self) -> Iterator[tuple[IndexEntry, Record]]:
        """Yield every row as it is stored, with its entry. Raises `DataError` as `decoded`."""
        for _, entries in groupby(self.entries, lambda entry: (entry.file, entry.row_group)):
            yield from self._group(list(entries))

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
        """The same rows without the screenshots that other files have of them."""
        return replace(self, layout=self.texts or self.layout)

    def negatives(self) -> Iterator[int]:
        """Yield the number of negative candidates of each row, reading only that column."""
        column = self.layout.negatives_column
        if column is None:
            return
        for (path, group), entries in groupby(self.entries, lambda e: (e.file, e.row_group)):
            offsets = {entry.offset for entry in entries}
            for _, record in self.layout.records(path, group, offsets, [column]):
                yield len(record[column] or ())

    def goals(self) -> Iterator[str]:
        """Yield the task of each row in words, reading only that; "" where that is not possible."""
        column = self.layout.goal_column
        for (path, group), entries in groupby(self.entries, lambda e: (e.file, e.row_group)):
            offsets = [entry.offset for entry in entries]
            known: dict[int, str] = {}
            if column is not None:
                records = self.layout.records(path, group, set(offsets), [column])
                known = {offset: record[column] or "" for offset, record in records}
            yield from (known.get(offset, "") for offset in offsets)

    @cached_property
    def fingerprint(self) -> dict[str, object]:
        """The data that was read: its origin, and every file with its size and SHA-256."""
        return {"benchmark": self.benchmark, **self.origin, "files": fingerprint(self.files)}

    @cached_property
    def _places(self) -> dict[str, IndexEntry]:
        return {entry.step_id: entry for entry in self.entries}

    def _group(self, entries: list[IndexEntry]) -> Iterator[tuple[IndexEntry, Record]]:
        by_offset = {entry.offset: entry for entry in entries}
        records = self.layout.records(entries[0].file, entries[0].row_group, by_offset)
        for offset, record in records:
            yield by_offset[offset], record

    def _decoded(self, entry: IndexEntry, record: Record) -> Row | DataError:
        try:
            return self.layout.decode(record, entry, self.benchmark)
        except DataError as error:
            return error


def recorded_steps(dataset: Dataset[Any]) -> StepDataset:
    """The same data, if it is of recorded steps. Raises `DataError`."""
    if not isinstance(dataset, StepDataset):
        raise DataError(
            f"this is for recorded steps, and the units of {dataset.benchmark} are of kind "
            f"'{dataset.kind}'"
        )
    return dataset


@dataclass(frozen=True)
class StepBenchmark(Benchmark):
    """A collection of recorded steps.

    Attributes:
        screenshots: whether its rows have screenshots; unless True, a row without one is valid.
            None where other files may have them.
        fixes: what the data itself fixes; options that would change it are refused.
        candidates: its stored choices in the words of published results; "" if none are stored.
        f1_of_written: the variant of operation F1 where the model writes the element and the user
            names none; as elsewhere if None.
        declared: the measures of Mind2Web, unless it has its own.
    """

    screenshots: bool | None = True
    fixes: frozenset[Fixed] = frozenset()
    candidates: str = ""
    f1_of_written: F1Variant | None = None
    declared: Declaration = field(default=MIND2WEB, kw_only=True)

    protocol = "seeact-two-rounds"
    pictures = True

    @abstractmethod
    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """See `Benchmark.open`."""

    def stored_settings(self, data: Path | None) -> Mapping[str, Any]:
        """The settings that the data was made with, read without opening or downloading it.

        They equal `Dataset.settings`; {} if there are none.

        Raises:
            DataError: `data` cannot be read.
        """
        return {}

    def score(self, prediction: Prediction, detail: Any, settings: Settings) -> Scores:
        return step_scores(prediction, detail, settings)


def step_scores(prediction: Prediction, detail: Any, settings: Settings) -> Scores:
    """The scores of a recorded step (`harness.runs.StepDetail`) by the rules of a run."""
    return score(prediction, detail.gold, scoring_rules(settings))


def scoring_rules(settings: Settings) -> ScoringRules:
    """The rules by which the prediction of a step is scored."""
    return ScoringRules(
        variant=settings.f1,
        step_rule=settings.step_rule,
        none_zeroes_operation=settings.none_zeroes_operation,
        no_element_zeroes_operation=settings.no_element_zeroes_operation,
        wrong_element_zeroes_operation=settings.wrong_element_zeroes_operation,
        accept_mapped=settings.mapped_operations,
        bag=settings.bag,
        point_rule=settings.point_rule,
    )
