"""Dates inside zip files: of when they were written, unless they are all set to one."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

FIRST = struct.pack("<HH", 0, 1 << 5 | 1)
"""Midnight of 1 January 1980, the first date that a zip file can tell: time, then date."""
_IN_MEMBER, _IN_DIRECTORY = 10, 12
"""Where the date is in the header of a member, and in an entry of the directory."""
_ENTRY = struct.Struct("<28x3H12x")
"""An entry of the directory: the lengths of what follows it (name, extra field, comment)."""


def undate(path: Path) -> None:
    """Set the dates of all members of a zip file to the first one that there is.

    Whatever they are compressed with: nothing but the dates is changed.
    """
    with zipfile.ZipFile(path) as archive:
        members, directory = archive.infolist(), archive.start_dir
    with path.open("r+b") as file:
        for member in members:
            file.seek(member.header_offset + _IN_MEMBER)
            file.write(FIRST)
        for _ in members:
            file.seek(directory)
            lengths = _ENTRY.unpack(file.read(_ENTRY.size))
            file.seek(directory + _IN_DIRECTORY)
            file.write(FIRST)
            directory += _ENTRY.size + sum(lengths)
