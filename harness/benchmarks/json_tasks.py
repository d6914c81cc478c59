"""Large JSON files of tasks: locate every task, to read one without the others.

Mind2Web's files are arrays of a hundred tasks of tens of megabytes each; MT-Mind2Web's are arrays
of conversations, whose turns are such tasks. They are mapped into memory and found there, and one
task or conversation at a time is copied and decoded. The positions of the tasks are cached in the
user's cache folder under the file's path, size and modification time.
"""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import msgspec

from adapters.decoding import Decoder, decoder_of
from adapters.digests import cache_folder, file_key, write_cached
from adapters.input_files import BOM, open_file
from harness.data_files import DataFile
from harness.errors import DataError

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


class _Action(msgspec.Struct, gc=False):
    action_uid: str


class _Task(msgspec.Struct, gc=False):
    annotation_id: str
    actions: list[_Action]
    website: str | None = ""
    domain: str | None = ""
    subdomain: str | None = ""


class _Conversation(msgspec.Struct, gc=False):
    task_id: Annotated[str, msgspec.Meta(min_length=1)]
    turns: msgspec.Raw
    website: str | None = ""
    domain: str | None = ""
    subdomain: str | None = ""


_TASK = decoder_of(_Task)
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
    yield _span(_decoded(_TASK, text, where, "a Mind2Web task"), start, len(text), where)


def turns_of(number: int, start: int, text: bytes) -> Iterator[TaskSpan]:
    """Locate the turns of an object that is a conversation of MT-Mind2Web.

    Only a turn's own id and its actions are read of it: its site is that of the conversation.
    """
    name, what = f"conversation {number}", "a conversation of MT-Mind2Web"
    whole: _Conversation = _decoded(_CONVERSATION, text, name, what)
    name += f" ({whole.task_id})"
    turns = _decoded(_PARTS, whole.turns, f"{name}, 'turns'", "a list")
    if not turns:
        raise DataError(f"{name} has no turns; copy the file again, or leave it out")
    for place, (at, turn) in enumerate(_places(text, text.index(whole.turns), turns)):
        where = f"{name}, turn {place + 1}"
        task: _Task = _decoded(_TASK, turn, where, "a turn of MT-Mind2Web")
        task.website, task.domain, task.subdomain = whole.website, whole.domain, whole.subdomain
        yield _span(task, start + at, len(turn), where, conversation=whole.task_id, turn=place)


def _span(task: _Task, start: int, length: int, where: str, **of: Any) -> TaskSpan:
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


def _decoded(decoder: Decoder[Any], text: bytes | msgspec.Raw, where: str, what: str) -> Any:
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{where} is not {what}: {error}") from error
