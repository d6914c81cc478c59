"""The first release of Mind2Web (Deng et al. 2023): tasks as JSON, without screenshots.

Each task holds its actions; the operation and the candidates are objects, and only a candidate's
`attributes` is still a JSON string. The test splits are larger than Multimodal-Mind2Web's (252, 177
and 912 tasks), so results on the two are not comparable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from adapters.decoding import Decoder, decoder_of
from harness.benchmarks.contract import SplitSize
from harness.benchmarks.index import Address, Group, StoredStep, stored_step, with_lengths
from harness.benchmarks.json_tasks import TaskSpan, task_spans
from harness.benchmarks.mind2web import TEST_SPLITS, Screenshots
from harness.benchmarks.published import files_of
from harness.benchmarks.recorded import StepDataset, recorded_row
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.data_files import DataFile, check_splits
from harness.errors import DataError
from harness.parquet import Record
from harness.records import Row

REPO = "osunlp/Mind2Web"
_ARCHIVE = (
    "is distributed as an archive with a password, to keep it out of crawls: download the zip file "
    "named at https://github.com/OSU-NLP-Group/Mind2Web, unpack it (unzip -P mind2web FILE) and "
    "give the folder with --data"
)


class _Action(msgspec.Struct, gc=False):
    operation: dict[str, Any]
    pos_candidates: list[msgspec.Raw] | None = None
    neg_candidates: list[msgspec.Raw] | None = None
    cleaned_html: str | None = ""


class _Task(msgspec.Struct, gc=False):
    actions: list[msgspec.Raw]
    confirmed_task: str | None = ""
    action_reprs: list[str | None] | None = None


_TASK = decoder_of(_Task)
_ACTION = decoder_of(_Action)


@dataclass(frozen=True, slots=True)
class OriginalLayout:
    """Tasks in JSON files: a row group is a task, and an offset the number of an action in it.

    screenshots: those that other files have of these steps.
    counts: True if a step without an acceptable element counts, as a failed one.
    """

    spans: Mapping[Path, Sequence[TaskSpan]] = field(repr=False)
    negatives_column: str | None = "neg_candidates"
    screenshots: Screenshots | None = None
    counts: bool = False

    def records(
        self, group: Group, offsets: Collection[int], columns: Sequence[str] | None = None
    ) -> Iterator[tuple[int, Record]]:
        """Yield actions of a task, decoded one at a time; `raw_html` is never decoded."""
        path, number = group
        span = self.spans[path][number]
        where = f"{path}, {span.where}"
        task = _decoded(_TASK, _bytes(path, span), where)
        pictures: Mapping[str, bytes] = {}
        if self.screenshots is not None and not columns:
            pictures = self.screenshots.of([span.action_uids[offset] for offset in offsets])
        for offset in sorted(offsets):
            action: _Action = _decoded(
                _ACTION, task.actions[offset], f"{where}, action {offset + 1}"
            )
            yield (
                offset,
                {
                    "confirmed_task": task.confirmed_task,
                    "action_reprs": task.action_reprs,
                    "operation": action.operation,
                    "cleaned_html": action.cleaned_html,
                    "pos_candidates": action.pos_candidates,
                    "neg_candidates": action.neg_candidates,
                    "screenshot": pictures.get(span.action_uids[offset]),
                },
            )

    def decode(self, record: Record, entry: StoredStep) -> Row:
        """Decode a row; it is valid without a screenshot, because this data has none."""
        span = self.spans[entry.detail.file][entry.detail.row_group]
        where = f"{entry.detail.file}, {span.where}, action {entry.detail.offset + 1}"
        screenshot = record["screenshot"]
        row = recorded_row(record, entry, where, screenshot, pictured=False)
        stored = len(record["action_reprs"] or ())
        if stored < entry.position:
            raise DataError(
                f"{where}: 'action_reprs' has {stored} entries, too few for the "
                f"{entry.position} actions before this one"
            )
        if not self.counts:
            return row
        return replace(row, invalid=None, detail=replace(row.detail, problems=(), counts=True))


@dataclass(frozen=True)
class OriginalMind2Web(StepBenchmark):
    """The benchmark: the training set comes from the hub, the test set from a local folder."""

    name: str = "mind2web"
    splits: tuple[str, ...] = (*TEST_SPLITS, "train")
    default_splits: tuple[str, ...] = TEST_SPLITS
    sizes: tuple[SplitSize, ...] = (
        SplitSize("test_task", 252),
        SplitSize("test_website", 177),
        SplitSize("test_domain", 912),
    )
    screenshots: bool = False

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """`local` is the split of files whose names contain none."""
        if data is None and tuple(splits or ()) != ("train",):
            check_splits(splits, self.splits, self.name)
            raise DataError(f"the test set of mind2web {_ARCHIVE}")
        if data is not None and data.suffix == ".zip":
            raise DataError(f"{data} is an archive: the test set {_ARCHIVE}")
        files, notices, origin = files_of(self, splits, data, repo=REPO, suffix=".json")
        spans = {file.path: task_spans(file) for file in files}
        return StepDataset(
            benchmark=self.name,
            layout=OriginalLayout(spans),
            files=tuple(files),
            entries=indexed(self.name, files, spans, notices),
            origin=origin,
            notices=tuple(notices),
            screenshots=False,
        )


def indexed(
    benchmark: str,
    files: Sequence[DataFile],
    spans: Mapping[Path, Sequence[TaskSpan]],
    notices: list[str],
) -> tuple[StoredStep, ...]:
    """Return the distinct steps in file order; duplicates are left out, with a notice.

    Raises `DataError` if there are none.
    """
    entries: dict[str, StoredStep] = {}
    doubled = row = 0
    for file in files:
        row = 0
        for group, span in enumerate(spans[file.path]):
            for offset, action_uid in enumerate(span.action_uids):
                row += 1
                step_id = f"{span.task_id}_{action_uid}"
                doubled += step_id in entries
                entries.setdefault(
                    step_id,
                    stored_step(
                        Address(action_uid, file.path, group, offset, row),
                        benchmark=benchmark,
                        split=file.split or "",
                        task_id=span.task_id,
                        index=offset,
                        website=span.website,
                        domain=span.domain,
                        subdomain=span.subdomain,
                        conversation=span.conversation,
                        turn=span.turn,
                    ),
                )
    if not entries:
        raise DataError(f"no tasks in {', '.join(str(file.path) for file in files)}")
    if doubled:
        notices.append(f"{doubled} duplicate steps were skipped")
    return with_lengths(list(entries.values()))


def _bytes(path: Path, span: TaskSpan) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(span.start)
            return file.read(span.length)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def _decoded(decoder: Decoder[Any], text: bytes | msgspec.Raw, where: str) -> Any:
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{where}: invalid JSON, or not a Mind2Web action: {error}") from error


BENCHMARK = OriginalMind2Web(published="2023")
