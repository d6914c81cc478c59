"""Large JSON files of tasks: locate every task, to read one without the others.

Mind2Web's files are arrays of a hundred tasks of tens of megabytes each; MT-Mind2Web's are arrays
of conversations, whose turns are such tasks. They are split at their brackets, a few megabytes at a
time, with at most one task or conversation in memory. The positions of the tasks are
cached in the user's cache folder under the file's path, size and modification time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec

from adapters.decoding import Decoder, decoder_of
from adapters.digests import cache_folder, file_key, write_cached
from adapters.input_files import BOM, open_file
from harness.data_files import DataFile
from harness.errors import DataError

_CHUNK = 1 << 22
_BLANK = re.compile(rb"[\s,]*+")
# Everything up to the next bracket; stops before a string whose end has not been read yet.
_INSIDE = re.compile(rb'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
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


def split(path: Path, chunk: int = _CHUNK) -> Iterator[tuple[int, bytes]]:
    """Yield the objects of a JSON array or of JSON lines, each after the offset of its first byte.

    Raises:
        DataError: the file cannot be read, does not hold JSON objects, or is truncated.
    """
    try:
        with open_file(path) as file:
            yield from _split(file, path, chunk)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


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
    at = text.index(whole.turns) + 1
    for place, turn in enumerate(turns):
        at = _blank_end(text, at)
        where = f"{name}, turn {place + 1}"
        task: _Task = _decoded(_TASK, turn, where, "a turn of MT-Mind2Web")
        task.website, task.domain, task.subdomain = whole.website, whole.domain, whole.subdomain
        yield _span(task, start + at, len(turn), where, conversation=whole.task_id, turn=place)
        at += len(turn)


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


def _split(file: BinaryIO, path: Path, chunk: int) -> Iterator[tuple[int, bytes]]:
    buffer, origin = bytearray(file.read(chunk)), 0
    if buffer.startswith(_LFS):
        raise DataError(f"{path} is a git-lfs pointer, not the data; run: git lfs pull")
    if buffer.startswith(BOM):
        del buffer[: len(BOM)]
        origin = len(BOM)
    array = False
    while True:
        at = _blank_end(buffer)
        if at == len(buffer):
            origin += at
            buffer = bytearray(file.read(chunk))
            if not buffer:
                if array:
                    raise _cut_short(path)
                return
            continue
        first = buffer[at : at + 1]
        if first == b"[" and not array:
            array = True
            del buffer[: at + 1]
            origin += at + 1
        elif first == b"]" and array:
            return
        elif first == b"{":
            del buffer[:at]
            origin += at
            end = _object_end(buffer, file, path, chunk)
            with memoryview(buffer) as view:
                text = bytes(view[:end])
            # A new buffer: one that shrinks keeps its memory.
            buffer = buffer[end:]
            yield origin, text
            del text
            origin += end
        else:
            place = f"{bytes(first)!r} at byte {origin + at}"
            raise DataError(f"{path} is not a JSON file of tasks: unexpected {place}")


def _blank_end(buffer: bytes | bytearray, at: int = 0) -> int:
    match = _BLANK.match(buffer, at)
    return match.end() if match else at


def _object_end(buffer: bytearray, file: BinaryIO, path: Path, chunk: int) -> int:
    """Return the end of the object at the start of the buffer, which is extended as needed."""
    depth = at = 0
    while True:
        match = _INSIDE.match(buffer, at)
        at = match.end() if match else at
        if at == len(buffer) or buffer[at] == 0x22:
            # Read in growing amounts: a string cut at the end of the buffer is scanned again.
            more = file.read(max(chunk, len(buffer) // 8))
            if not more:
                raise _cut_short(path)
            buffer += more
            continue
        depth += 1 if buffer[at] in b"{[" else -1
        at += 1
        if depth == 0:
            return at


def _cut_short(path: Path) -> DataError:
    return DataError(f"{path} is truncated (its last bracket is missing); copy it again")
