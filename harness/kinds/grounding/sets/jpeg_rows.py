"""Cuts a band of a JPEG picture without decoding it: its bytes are the same everywhere.

A restart marker must follow every row of blocks, as in the screenshots of the sample
(`harness.recording.columns.jpeg`): the rows are then independent (ISO/IEC 10918-1, E.1.4).
"""

from __future__ import annotations

import re
import struct

BLOCK_ROW = 16
"""Pixels in a row of blocks, with colours at half the resolution (4:2:0)."""

_RESTART = re.compile(rb"\xff[\xd0-\xd7]")
_FRAMES, _SCAN, _INTERVAL = frozenset({0xC0, 0xC1}), 0xDA, 0xDD


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
