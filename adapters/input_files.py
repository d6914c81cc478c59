"""Files that a user names: regular ones, whose texts may begin with a byte order mark.

A pipe or a device (`/dev/zero`) has no end, or none that ever comes. Windows tools begin a text
with a mark, and write some in UTF-16.
"""

from __future__ import annotations

import codecs
import errno
import math
import os
import select
import stat
import time
import tomllib
from io import BufferedReader
from pathlib import Path
from typing import Any

PIPE_S, MOST_PIPED = 10.0, 1 << 24
"""Seconds within which a pipe has to end, and the most bytes that it may give."""
BOM = codecs.BOM_UTF8
_OTHERS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def open_file(path: Path) -> BufferedReader:
    """Open a regular file at its first byte. Raises OSError, also for anything else."""
    if not stat.S_ISREG(path.stat().st_mode):
        # Opening a pipe waits for someone to write to it.
        why = "it is a folder" if path.is_dir() else "it is a pipe or a device, not a file"
        raise OSError(errno.EINVAL, why, str(path))
    return path.open("rb")


def file_bytes(path: Path) -> bytes:
    """Return the content of a file unchanged, such as that of a picture. Raises OSError."""
    with open_file(path) as file:
        return file.read()


def piped_text(path: Path) -> str:
    """Return the text of a file that is read once, which may be a pipe that someone feeds.

    Raises OSError, also for a pipe that gives nothing or has no end, and UnicodeDecodeError.
    """
    return _unmarked(_piped(path) if path.is_fifo() else file_bytes(path)).decode()


def _piped(path: Path) -> bytes:
    data, ends_at = bytearray(), time.monotonic() + PIPE_S
    # Opening it in the usual way would wait for someone to write to it.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        while poll.poll(max(0.0, ends_at - time.monotonic()) * 1000):
            piece = pipe.read(1 << 16)
            data += piece or b""
            if len(data) > MOST_PIPED:
                raise OSError(errno.EFBIG, "it is a pipe that gives too much", str(path))
            if piece == b"":
                break
        else:
            why = f"it is a pipe that did not end within {PIPE_S:g} s"
            raise OSError(errno.ETIMEDOUT, why, str(path))
    if not data:
        raise OSError(errno.ENODATA, "it is a pipe that gave nothing", str(path))
    return bytes(data)


def utf8_bytes(path: Path) -> bytes:
    """Return a text in UTF-8 without its mark, undecoded. Raises OSError."""
    return _unmarked(file_bytes(path))


def _unmarked(data: bytes) -> bytes:
    for mark, encoding in _OTHERS.items():
        if data.startswith(mark):
            return data.decode(encoding, "replace").encode()
    return data.removeprefix(BOM)


def file_text(path: Path) -> str:
    """Return a text without its mark. Raises OSError, UnicodeDecodeError."""
    return utf8_bytes(path).decode()


def file_toml(path: Path) -> dict[str, Any]:
    """Return the keys of a TOML file; its numbers are finite.

    Raises OSError, UnicodeDecodeError, `tomllib.TOMLDecodeError`.
    """
    return tomllib.loads(file_text(path), parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise tomllib.TOMLDecodeError(f"{text} is not a number that can be used")
    return number


def behind_mark(path: Path) -> BufferedReader:
    """Open a text in UTF-8 behind its mark, to be read in parts. Raises OSError."""
    file = open_file(path)
    if file.read(len(BOM)) != BOM:
        file.seek(0)
    return file
