"""JSON lines that survive a crash: a last line without its newline was never finished.

Such a torn line is passed over when reading and cut off before appending. Anything else that cannot
be read is an error that names the file and the line, because leaving lines out would change scores.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from harness.runs._errors import RunError

T = TypeVar("T")
CHUNK = 1 << 16


class Line(NamedTuple):
    """A finished line: its number (from 1), where it starts in the file, its bytes."""

    number: int
    offset: int
    data: bytes


def read_lines(path: Path) -> Iterator[Line]:
    """The finished lines of a file; none when the file is missing."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        offset = 0
        for number, data in enumerate(file, 1):
            if data.endswith(b"\n"):
                yield Line(number, offset, data)
            offset += len(data)


def decode(decoder: msgspec.json.Decoder[T], line: Line, path: Path) -> T:
    """The record on a line. Raises `RunError` naming the line when it is none."""
    try:
        return decoder.decode(line.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(f"{path} line {line.number} cannot be read: {error}") from error


def encode(record: Any) -> bytes:
    """A record as a line, newline included."""
    return msgspec.json.encode(record) + b"\n"


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
