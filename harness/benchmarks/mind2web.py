"""Multimodal-Mind2Web (Zheng et al. 2024; data set card of osunlp/Multimodal-Mind2Web).

Candidates are JSON strings that contain JSON strings, the operation is a JSON string, the step
number is a string, and a missing screenshot is a null struct, a struct of nulls, or empty bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.index import NarrowRow, StoredStep, TableLayout, build_index
from harness.benchmarks.recorded import StepDataset, recorded_row, whole
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.data_files import DataFile, local_files
from harness.errors import DataError
from harness.parquet import Kind, Record, column_names, opened, wide_rows
from harness.records import Row

if TYPE_CHECKING:
    import pyarrow.parquet as pq


REPO = "osunlp/Multimodal-Mind2Web"
REVISION = "1b4c6a8cf9f77b7a5e0d641959935c80c4a05889"
TEST_SPLITS = ("test_task", "test_website", "test_domain")

_IDS = ("annotation_id", "action_uid", "website", "domain", "subdomain")
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys((*_IDS, "confirmed_task", "cleaned_html", "target_action_reprs"), "text"),
    **dict.fromkeys(("pos_candidates", "neg_candidates", "action_reprs"), "texts"),
    "operation": "operation",
    "screenshot": "picture",
    "target_action_index": "step number",
}


@dataclass(frozen=True, slots=True)
class Mind2WebLayout(TableLayout):
    """The columns of Multimodal-Mind2Web. `raw_html` is never read."""

    what: str = "Multimodal-Mind2Web"
    required: tuple[str, ...] = (
        *_IDS,
        "confirmed_task",
        "cleaned_html",
        "operation",
        "pos_candidates",
        "neg_candidates",
        "screenshot",
        "action_reprs",
        "target_action_index",
    )
    negatives_column: str | None = "neg_candidates"

    kinds = _KINDS

    def narrow(self, present: Collection[str]) -> list[str]:
        return [*_IDS, "target_action_index"]

    def wide(self, file: pq.ParquetFile) -> list[str]:
        picture = screenshot_column(file)
        return [picture if name == "screenshot" else name for name in self.required]

    def key(self, record: Record, where: str) -> NarrowRow:
        for name in ("annotation_id", "action_uid"):
            if not record[name]:
                raise DataError(f"{where}: column '{name}' is empty")
        index = whole(record["target_action_index"], "target_action_index", where)
        if index is None:
            raise DataError(f"{where}: column 'target_action_index' is empty")
        return NarrowRow(
            task_id=record["annotation_id"],
            action_uid=record["action_uid"],
            index=index,
            split=None,
            website=record["website"] or "",
            domain=record["domain"] or "",
            subdomain=record["subdomain"] or "",
        )

    def decode(self, record: Record, entry: StoredStep) -> Row:
        screenshot = _picture(record["screenshot"])
        return recorded_row(
            record, entry, str(entry.detail), screenshot, pictured=True, called="column "
        )


@dataclass(frozen=True)
class Screenshots:
    """The screenshots of Multimodal-Mind2Web by the ids of their actions, for steps in other
    files.

    files: parquet files of any of its splits.
    """

    files: tuple[DataFile, ...]

    def of(self, action_uids: Collection[str]) -> dict[str, bytes]:
        """Read the encoded screenshots of some actions, without missing ones.

        A call reads each row group once for all its actions. Raises `DataError`.
        """
        groups: dict[tuple[Path, int], dict[int, str]] = {}
        for uid in action_uids:
            if (entry := self._entries.get(uid)) is not None:
                groups.setdefault(entry.detail.group, {})[entry.detail.offset] = uid
        found: dict[str, bytes] = {}
        for (path, group), uids in groups.items():
            with opened(path) as file:
                column = screenshot_column(file)
                for offset, record in wide_rows(file, group, [column], uids):
                    if picture := _picture(record["screenshot"]):
                        found[uids[offset]] = picture
        return found

    def __contains__(self, action_uid: str) -> bool:
        return action_uid in self._entries

    @cached_property
    def _entries(self) -> dict[str, StoredStep]:
        entries, _ = build_index(self.files, Mind2WebLayout(), BENCHMARK.name)
        return {entry.detail.action_uid: entry for entry in entries}


@dataclass(frozen=True)
class Mind2Web(StepBenchmark):
    """The benchmark: from the hub at a pinned revision, or from local files of the same format."""

    name: str = "multimodal-mind2web"
    splits: tuple[str, ...] = (*TEST_SPLITS, "train")
    default_splits: tuple[str, ...] = TEST_SPLITS
    sizes: tuple[SplitSize, ...] = (
        SplitSize("test_task", 177, 1339),
        SplitSize("test_website", 142, 1019),
        SplitSize("test_domain", 694, 4060),
    )

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """`local` is the split of files whose names contain none."""
        from harness.benchmarks.published import files_of

        found = files_of(self, splits, data, repo=REPO, revision=REVISION)
        return open_files(self.name, Mind2WebLayout(), found.files, found.origin, found.notices)

    def holds(self, data: Path) -> bool:
        """Return True for parquet files in the columns of the benchmark, such as recorded tasks."""
        try:
            files = local_files(data)
            return all(set(Mind2WebLayout().required) <= _columns(one.path) for one in files)
        except DataError:
            return False


def _columns(path: Path) -> set[str]:
    """Raises `DataError`."""
    with opened(path) as file:
        return set(column_names(file))


def open_files(
    benchmark: str,
    layout: Mind2WebLayout,
    files: Sequence[Any],
    origin: dict[str, object],
    notices: Sequence[str] = (),
) -> StepDataset:
    """Open files with known splits. Raises `DataError`, also for no rows."""
    entries, more = build_index(files, layout, benchmark)
    if not entries:
        raise DataError(f"no rows in {', '.join(str(file.path) for file in files) or 'no file'}")
    return StepDataset(
        benchmark=benchmark,
        layout=layout,
        files=tuple(files),
        entries=entries,
        origin=origin,
        notices=(*notices, *more),
    )


def screenshot_column(file: pq.ParquetFile) -> str:
    """Return the name of the column with the bytes of screenshots."""
    import pyarrow as pa

    struct = pa.types.is_struct(file.schema_arrow.field("screenshot").type)
    return "screenshot.bytes" if struct else "screenshot"


def _picture(stored: object) -> bytes | None:
    data = stored.get("bytes") if isinstance(stored, dict) else stored
    return data if isinstance(data, bytes) and data else None


BENCHMARK = Mind2Web(published="2024")
