"""Files that a user names: regular ones, whose texts may begin with a byte order mark.

A pipe or a device (`/dev/zero`) has no end, or none that ever comes. Windows tools begin a text
with a mark, and write some in UTF-16.
"""

from __future__ import annotations

import codecs
import errno
import math
import stat
import tomllib
from io import BufferedReader
from pathlib import Path
from typing import Any

BOM = codecs.BOM_UTF8
_OTHERS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def open_file(path: Path) -> BufferedReader:
    """Open a regular file at its first byte. Raises OSError, also for anything else."""
    if not stat.S_ISREG(path.stat().st_mode):
        # Opening a pipe waits for somebody to write to it.
        why = "it is a folder" if path.is_dir() else "it is a pipe or a device, not a file"
        raise OSError(errno.EINVAL, why, str(path))
    return path.open("rb")


def file_bytes(path: Path) -> bytes:
    """Return the content of a file as it is, such as that of a picture. Raises OSError."""
    with open_file(path) as file:
        return file.read()


def utf8_bytes(path: Path) -> bytes:
    """Return a text in UTF-8 without its mark, undecoded. Raises OSError."""
    data = file_bytes(path)
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
