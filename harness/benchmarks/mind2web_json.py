"""The first release of Mind2Web (Deng et al. 2023): tasks as JSON, without screenshots.

Each task holds its actions; the operation and the candidates are objects, and only a candidate's
`attributes` is still a JSON string. The test splits are larger than Multimodal-Mind2Web's (252, 177
and 912 tasks), so results on the two are not comparable.

The files are arrays of a hundred tasks of tens of megabytes each; those of MT-Mind2Web are arrays
of conversations, whose turns are such tasks. They are mapped into memory, and one task or
conversation at a time is copied and decoded. The positions of the tasks are cached in the user's
cache folder under the file's path, size and modification time.
"""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import msgspec

from adapters.decoding import Decoder, decoder_of
from adapters.digests import cache_folder, file_key, write_cached
from adapters.input_files import BOM, open_file
from harness.benchmarks.contract import SplitSize
from harness.benchmarks.index import Address, Group, StoredStep, stored_step, with_lengths
from harness.benchmarks.mind2web import TEST_SPLITS, Screenshots
from harness.benchmarks.published import files_of
from harness.benchmarks.recorded import StepDataset, recorded_row
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.data_files import DataFile, check_splits
from harness.errors import DataError
from harness.parquet import Record
from harness.records import Row

_OPENING = re.compile(rb"\s*+\[")
_BETWEEN = re.compile(rb"[\s,]*+")
_LFS = b"version https://git-lfs"
_FORM = 2
"""Format version of a cached index; an index of any other version is ignored."""


class TaskSpan(msgspec.Struct, frozen=True, array_like=True):
    """The bytes that a task takes up in its file, and the fields that the index needs.

    where: its name in messages, after the name of its file.
    conversation, turn: of a task that is a turn, its conversation and its place in it, from 0.
    """

    start: int
    length: int
    task_id: str
    website: str
    domain: str
    subdomain: str
    action_uids: tuple[str, ...]
    where: str
    conversation: str = ""
    turn: int | None = None


class _ActionHead(msgspec.Struct, gc=False):
    action_uid: str


class _Head(msgspec.Struct, gc=False):
    annotation_id: str
    actions: list[_ActionHead]
    website: str | None = ""
    domain: str | None = ""
    subdomain: str | None = ""


class _Conversation(msgspec.Struct, gc=False):
    task_id: Annotated[str, msgspec.Meta(min_length=1)]
    turns: msgspec.Raw
    website: str | None = ""
    domain: str | None = ""
    subdomain: str | None = ""


_HEAD = decoder_of(_Head)
_CONVERSATION = decoder_of(_Conversation)
_PARTS = decoder_of(list[msgspec.Raw])
_SPANS = decoder_of(tuple[int, list[TaskSpan]])

Locate = Callable[[int, int, bytes], Iterator[TaskSpan]]
"""The tasks in an object of a file, given its number from 1, its first byte and its text. Raises
`DataError` without the name of the file."""


def task_spans(file: DataFile, locate: Locate | None = None) -> list[TaskSpan]:
    """Locate the tasks of a file, in file order; `locate` is `one_task` unless given.

    Raises:
        DataError: the file cannot be read, is truncated, or holds something other than tasks.
    """
    locate = locate or one_task
    try:
        key = f"{locate.__name__} {file_key(file.path)}"
        store = cache_folder() / "indexes" / hashlib.sha256(key.encode()).hexdigest()
    except (OSError, RuntimeError):
        return list(_read_spans(file.path, locate))
    try:
        form, spans = _SPANS.decode(store.read_bytes())
        if form == _FORM:
            return spans
    except (OSError, msgspec.MsgspecError):
        pass
    spans = list(_read_spans(file.path, locate))
    write_cached(store, msgspec.json.encode((_FORM, spans)))
    return spans


def split(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of a JSON array, each after the offset of its first byte.

    Raises:
        DataError: the file cannot be read, is not a JSON array, or is truncated.
    """
    try:
        with open_file(path) as file:
            if not path.stat().st_size:
                return
            text = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if text[: len(_LFS)] == _LFS:
        raise DataError(f"{path} is a git-lfs pointer, not the data; run: git lfs pull")
    start = len(BOM) if text[: len(BOM)] == BOM else 0
    try:
        parts = _PARTS.decode(text[start:])
    except (msgspec.MsgspecError, RecursionError) as error:
        if "truncated" in str(error):
            raise DataError(f"{path} is truncated; copy it again") from error
        raise DataError(f"{path} is not a JSON file of tasks: {error}") from error
    for place, part in _places(text, start, parts):
        yield place, bytes(part)


def _places(
    text: bytes | memoryview, start: int, parts: list[msgspec.Raw]
) -> Iterator[tuple[int, msgspec.Raw]]:
    """Yield the parts of an array, each after its place in a text; its bracket stands at or behind
    `start`, with nothing but blanks before it."""
    at = _OPENING.match(text, start).end()  # type: ignore[union-attr]
    for part in parts:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        yield at, part
        at += len(part)


def one_task(number: int, start: int, text: bytes) -> Iterator[TaskSpan]:
    """Locate an object that is a task of Mind2Web."""
    where = f"task {number}"
    yield _span(_decoded(_HEAD, text, f"{where} is not a Mind2Web task"), start, len(text), where)


def turns_of(number: int, start: int, text: bytes) -> Iterator[TaskSpan]:
    """Locate the turns of an object that is a conversation of MT-Mind2Web.

    Only a turn's own id and its actions are read of it: its site is that of the conversation.
    """
    name = f"conversation {number}"
    what = f"{name} is not a conversation of MT-Mind2Web"
    whole: _Conversation = _decoded(_CONVERSATION, text, what)
    name += f" ({whole.task_id})"
    turns = _decoded(_PARTS, whole.turns, f"{name}, 'turns' is not a list")
    if not turns:
        raise DataError(f"{name} has no turns; copy the file again, or leave it out")
    for place, (at, turn) in enumerate(_places(text, text.index(whole.turns), turns)):
        where = f"{name}, turn {place + 1}"
        task: _Head = _decoded(_HEAD, turn, f"{where} is not a turn of MT-Mind2Web")
        task.website, task.domain, task.subdomain = whole.website, whole.domain, whole.subdomain
        yield _span(task, start + at, len(turn), where, conversation=whole.task_id, turn=place)


def _span(task: _Head, start: int, length: int, where: str, **of: Any) -> TaskSpan:
    return TaskSpan(
        start,
        length,
        task.annotation_id,
        task.website or "",
        task.domain or "",
        task.subdomain or "",
        tuple(action.action_uid for action in task.actions),
        where,
        **of,
    )


def _read_spans(path: Path, locate: Locate) -> Iterator[TaskSpan]:
    numbers = count(1)
    for start, text in split(path):
        try:
            yield from locate(next(numbers), start, text)
        except DataError as error:
            raise DataError(f"{path}, {error}") from error
        # Neither this loop nor `enumerate` may keep an object while the next one is read.
        del text


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
        where, wrong = f"{path}, {span.where}", "invalid JSON, or not a Mind2Web action"
        task: _Task = _decoded(_TASK, _bytes(path, span), f"{where}: {wrong}")
        pictures: Mapping[str, bytes] = {}
        if self.screenshots is not None and not columns:
            pictures = self.screenshots.of([span.action_uids[offset] for offset in offsets])
        for offset in sorted(offsets):
            place = f"{where}, action {offset + 1}"
            action: _Action = _decoded(_ACTION, task.actions[offset], f"{place}: {wrong}")
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


def _decoded(decoder: Decoder[Any], text: bytes | msgspec.Raw, wrong: str) -> Any:
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{wrong}: {error}") from error


BENCHMARK = OriginalMind2Web(published="2023")
