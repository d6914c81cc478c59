"""Windows of the sample's screenshots, which the samples of places and of questions ask about.

What they ask is in the lines of `WINDOWS`, made by `benchmarks/sample/windows.py`. A window is cut
from the JPEG without decoding it: its bytes are the same everywhere. A restart marker must follow
every row of blocks, as in the screenshots of the sample: the rows are then independent (ISO/IEC
10918-1, E.1.4).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from harness.benchmarks.folders import ParquetPictures, RowAddress, decoded_text
from harness.data_files import DataFile
from harness.errors import DataError
from harness.parquet import opened
from harness.sample import WINDOWS, files

SIZE = (1280, 720)
"""Width and height of a window."""
BLOCK_ROW = 16
"""Pixels in a row of blocks, with colours at half the resolution (4:2:0)."""
_RESTART = re.compile(rb"\xff[\xd0-\xd7]")
_FRAMES, _SCAN, _INTERVAL = frozenset({0xC0, 0xC1}), 0xDA, 0xDD


class Window(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A window of a screenshot: the row of the split's file, from 1, and its first row of pixels.

    A line of `WINDOWS` says what is asked about it, too.
    """

    split: str
    row: int
    top: int


L = TypeVar("L", bound=Window)


class SampleWindows:
    """The screenshots of a split of the recorded sample. Raises `DataError` without its file."""

    def __init__(self, split: str) -> None:
        path = files()[split]
        if not path.exists():
            raise DataError(f"the sample is missing from this installation ({path})")
        self.split, self.file = split, DataFile(path, None, path.name, path.stat().st_size)
        self.pictures = ParquetPictures("screenshot")
        with opened(path) as table:
            groups = [table.metadata.row_group(one) for one in range(table.num_row_groups)]
        self.cells = [
            RowAddress(path, group, offset)
            for group, found in enumerate(groups)
            for offset in range(found.num_rows)
        ]

    def lines(self, name: str, kind: type[L]) -> Iterator[tuple[str, L]]:
        """Yield the lines of a shipped file about this split, each with the row that it is from."""
        for _, line in decoded_text(WINDOWS / f"{name}.jsonl", kind):
            if line.split == self.split:
                yield f"{self.file.name}, row {line.row}", line

    def cut(self, window: Window) -> bytes:
        """Return a window as a JPEG."""
        return jpeg_rows(self.pictures(self.cells[window.row - 1]), window.top, SIZE[1])


def jpeg_rows(data: bytes, top: int, height: int) -> bytes:
    """Return the rows of pixels from `top` on, both numbers multiples of 16, as a JPEG.

    Raises `ValueError` for a picture without such markers, or rows that it does not have.
    """
    if data[:2] != b"\xff\xd8" or top % BLOCK_ROW or height % BLOCK_ROW or height <= 0 or top < 0:
        raise ValueError("no rows of a JPEG that could be cut out")
    head, at, across, interval = bytearray(data), 2, 0, 0
    while data[at + 1] != _SCAN:
        (length,) = struct.unpack_from(">H", data, at + 2)
        if data[at + 1] in _FRAMES:
            whole, width = struct.unpack_from(">HH", data, at + 5)
            if data[at + 11] != 0x22 or top + height > whole:
                raise ValueError(f"no rows {top} to {top + height} in blocks of 16")
            struct.pack_into(">H", head, at + 5, height)
            across = -(-width // BLOCK_ROW)
        elif data[at + 1] == _INTERVAL:
            (interval,) = struct.unpack_from(">H", data, at + 4)
        at += 2 + length
    if not across or interval != across:
        raise ValueError("no restart marker after every row of blocks")
    (length,) = struct.unpack_from(">H", data, at + 2)
    start = at + 2 + length
    rows = _RESTART.split(data[start : data.rindex(b"\xff\xd9")])
    first, count = top // BLOCK_ROW, height // BLOCK_ROW
    band = bytearray()
    for number, row in enumerate(rows[first : first + count]):
        band += row
        if number < count - 1:
            band += bytes((0xFF, 0xD0 + number % 8))
    return bytes(head[:start]) + bytes(band) + b"\xff\xd9"
