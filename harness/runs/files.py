"""The files of a run: whole ones, replaced in one step, and JSON lines that survive a crash.

A last line without its newline was never finished: it is skipped when reading and cut off before
appending. Any other line that cannot be read is an error that names the file and the line, because
leaving lines out would change scores; only a reader that says which lines it skipped may go on.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from harness.runs.errors import DiskFull, RunError
from harness.runs.records import line_decoder, to_line

T = TypeVar("T")
CHUNK = 1 << 16
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Line(NamedTuple):
    """A finished line: its number (from 1), where it starts in the file, its bytes."""

    number: int
    offset: int
    data: bytes


def read_lines(path: Path) -> Iterator[Line]:
    """The finished lines of a file; none when the file is missing. Raises `RunError`."""
    try:
        with path.open("rb") as file:
            offset = 0
            for number, data in enumerate(file, 1):
                if data.endswith(b"\n"):
                    yield Line(number, offset, data)
                offset += len(data)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error}") from error


def decode(decoder: Callable[[bytes], T], line: Line, path: Path) -> T:
    """The record on a line. Raises `RunError` naming the line if it holds none."""
    try:
        return decoder(line.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(f"{path} line {line.number} cannot be read: {error}") from error


def read_records(
    path: Path, kind: type[T], on_unreadable: Callable[[str], None] | None = None
) -> Iterator[T]:
    """The records of a file of lines; none when the file is missing.

    Raises `RunError` for a line that cannot be read, unless `on_unreadable` is there to be called
    with one text per such line, which is then skipped.
    """
    decoder = line_decoder(kind)
    for line in read_lines(path):
        try:
            record = decode(decoder, line, path)
        except RunError as error:
            if on_unreadable is None:
                raise
            on_unreadable(f"{path.name} line {line.number} cannot be read: {error.__cause__}")
            continue
        yield record


def encode(record: Any) -> bytes:
    """A record as a line, newline included."""
    return msgspec.json.encode(to_line(record), enc_hook=_plain) + b"\n"


def _plain(value: Any) -> Any:
    # What an adapter sent may be a read-only mapping.
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"a line cannot hold a {type(value).__name__}")


def cut_torn(path: Path) -> int:
    """Cut an unfinished last line off; returns the number of bytes that went."""
    try:
        file = path.open("rb+")
    except FileNotFoundError:
        return 0
    with file:
        size = file.seek(0, os.SEEK_END)
        end = size
        keep = 0
        while end:
            start = max(0, end - CHUNK)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                keep = start + newline + 1
                break
            end = start
        if keep < size:
            file.truncate(keep)
            os.fsync(file.fileno())
    return size - keep


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` in the place of `path`, synced: a reader finds the old file or the new one.

    Raises `RunError`.
    """
    new = path.with_name(path.name + ".new")
    try:
        with new.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error


def _sync_folder(path: Path) -> None:
    """Make new names in a folder durable, where the platform can."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_error(path: Path, error: OSError) -> RunError:
    """The error to show for a failed write."""
    if error.errno in NO_ROOM:
        return DiskFull(
            f"no room left to write {path} ({error.strerror}); everything on record is kept: "
            "make room and start the same run again"
        )
    return RunError(f"cannot write {path}: {error.strerror or error}")
