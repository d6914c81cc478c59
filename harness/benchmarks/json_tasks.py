"""Large JSON files of tasks: locate every task, so that one can be read without the others.

Mind2Web's files are arrays of a hundred tasks of tens of megabytes each. They are split at their
brackets, a few megabytes at a time, so that at most one task is held in memory. The positions of
the tasks are cached in the user's cache folder under the file's path, size and modification time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from adapters.digests import cache_folder, file_key, write_cached
from harness.benchmarks.files import DataFile
from harness.errors import DataError

_CHUNK = 1 << 22
_BLANK = re.compile(rb"[\s,]*+")
# Everything up to the next bracket; stops before a string whose end has not been read yet.
_INSIDE = re.compile(rb'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_LFS = b"version https://git-lfs"
_FORM = 1
"""Format version of a cached index; an index of any other version is ignored."""


class TaskSpan(msgspec.Struct, frozen=True, array_like=True):
    """The bytes that a task takes up in its file, and the fields that the index needs."""

    start: int
    length: int
    task_id: str
    website: str
    domain: str
    subdomain: str
    action_uids: tuple[str, ...]


class _Action(msgspec.Struct, gc=False):
    action_uid: str


class _Task(msgspec.Struct, gc=False):
    annotation_id: str
    actions: list[_Action]
    website: str | None = ""
    domain: str | None = ""
    subdomain: str | None = ""


_TASK = msgspec.json.Decoder(_Task)
_SPANS = msgspec.json.Decoder(tuple[int, list[TaskSpan]])


def task_spans(file: DataFile) -> list[TaskSpan]:
    """Locate the tasks of a file, in file order.

    Raises:
        DataError: the file cannot be read, is truncated, or holds something other than tasks.
    """
    try:
        store = (
            cache_folder() / "indexes" / hashlib.sha256(file_key(file.path).encode()).hexdigest()
        )
    except (OSError, RuntimeError):
        return list(_read_spans(file.path))
    try:
        form, spans = _SPANS.decode(store.read_bytes())
        if form == _FORM:
            return spans
    except (OSError, msgspec.MsgspecError):
        pass
    spans = list(_read_spans(file.path))
    write_cached(store, msgspec.json.encode((_FORM, spans)))
    return spans


def split(path: Path, chunk: int = _CHUNK) -> Iterator[tuple[int, bytes]]:
    """Yield the objects of a JSON array or of JSON lines, each after the offset of its first byte.

    Raises:
        DataError: the file cannot be read, does not hold JSON objects, or is truncated.
    """
    try:
        with path.open("rb") as file:
            yield from _split(file, path, chunk)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def _read_spans(path: Path) -> Iterator[TaskSpan]:
    for number, (start, text) in enumerate(split(path), start=1):
        try:
            task = _TASK.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{path}, task {number} is not a Mind2Web task: {error}") from error
        yield TaskSpan(
            start,
            len(text),
            task.annotation_id,
            task.website or "",
            task.domain or "",
            task.subdomain or "",
            tuple(action.action_uid for action in task.actions),
        )


def _split(file: BinaryIO, path: Path, chunk: int) -> Iterator[tuple[int, bytes]]:
    buffer, origin = bytearray(file.read(chunk)), 0
    if buffer.startswith(_LFS):
        raise DataError(f"{path} is a git-lfs pointer, not the data; run: git lfs pull")
    if buffer.startswith(b"\xef\xbb\xbf"):
        del buffer[:3]
        origin = 3
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
            yield origin, bytes(buffer[:end])
            del buffer[:end]
            origin += end
        else:
            place = f"{bytes(first)!r} at byte {origin + at}"
            raise DataError(f"{path} is not a JSON file of tasks: unexpected {place}")


def _blank_end(buffer: bytearray) -> int:
    match = _BLANK.match(buffer)
    return match.end() if match else 0


def _object_end(buffer: bytearray, file: BinaryIO, path: Path, chunk: int) -> int:
    """The end of the object at the start of the buffer, which is extended as needed."""
    depth = at = 0
    while True:
        match = _INSIDE.match(buffer, at)
        at = match.end() if match else at
        if at == len(buffer) or buffer[at] == 0x22:
            # Read in growing amounts: a string cut at the end of the buffer is scanned again.
            more = file.read(max(chunk, len(buffer) // 2))
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
