"""Pictures as they come: digest and size, read from their header without decoding them.

Headers are parsed here because that takes microseconds and imports no image library: a run with all
replies in the cache never loads one. Sources: ISO/IEC 10918-1 annex B
(JPEG markers), the PNG specification sections 11.2.1 (IHDR) and 11.3.3.5 (eXIf), RFC 9649 (WebP),
CIPA DC-008 (Exif). The size is that of the picture as browsers show it: turned as Exif says.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Literal

from adapters.contract import PixelPicture
from adapters.conversation import Picture
from harness.errors import DataError

SourceFormat = Literal["jpeg", "png", "webp"]

MAX_PIXELS = 128_000_000
"""Largest accepted screenshot, in pixels (a page 11,800 wide may be 10,800 tall).

Decoded to RGB that is 384 MB in a worker. A tiny file can claim gigapixels; it is rejected by its
header before any library decodes it.
"""

# Markers C0 to CF start a frame, except the tables DHT (C4), JPG (C8) and DAC (CC).
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_APP1 = 0xE1
_ORIENTATION, _SHORT = 0x0112, 3
_ON_ITS_SIDE = range(5, 9)
_LONE_MARKERS = frozenset({0x01, *range(0xD0, 0xD8)})


class PictureError(DataError):
    """A screenshot that cannot be used; the message names the step or the digest."""


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A reference to an encoded screenshot: SHA-256 of its bytes, size in pixels, format."""

    digest: str
    width: int
    height: int
    format: SourceFormat = "jpeg"

    @property
    def media_type(self) -> str:
        return f"image/{self.format}"


def read_size(data: bytes, name: str = "") -> Screenshot:
    """Read digest, size and format of an encoded screenshot from its header.

    Args:
        data: the encoded picture.
        name: put in front of an error message, for example the step.

    Raises:
        PictureError: not a JPEG, PNG or WebP picture, or cut off within its header, or larger than
            `MAX_PIXELS`.
    """
    try:
        kind, width, height = _measure(data)
    except (struct.error, IndexError):
        raise _error(name, "the picture ends within its header") from None
    except ValueError as error:
        raise _error(name, str(error)) from None
    if width < 1 or height < 1:
        raise _error(name, f"the header gives a size of {width}x{height}")
    if width * height > MAX_PIXELS:
        raise _error(
            name, f"{width}x{height} is more than {MAX_PIXELS:,} pixels, too large to decode"
        )
    return Screenshot(hashlib.sha256(data).hexdigest(), width, height, kind)


def _measure(data: bytes) -> tuple[SourceFormat, int, int]:
    if data[:3] == b"\xff\xd8\xff":
        return ("jpeg", *_turned(*_jpeg(data)))
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        if data[12:16] != b"IHDR":
            raise ValueError("a PNG without a header chunk")
        width, height = struct.unpack_from(">II", data, 16)
        return ("png", *_turned(width, height, _chunk(data, 8, ">", b"eXIf")))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ("webp", *_turned(*_webp(data), _chunk(data, 12, "<", b"EXIF")))
    if not data:
        raise ValueError("the screenshot is empty")
    if data.startswith(b"version https://git-lfs"):
        raise ValueError("a Git LFS pointer is in place of the picture (run: git lfs pull)")
    raise ValueError(f"not a JPEG, PNG or WebP picture (it starts with {data[:8]!r})")


def _turned(width: int, height: int, exif: bytes) -> tuple[int, int]:
    """Return the shown size of a picture."""
    exif = exif.removeprefix(b"Exif\0\0")
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return width, height
    try:
        (at,) = struct.unpack_from(f"{order}I", exif, 4)
        (count,) = struct.unpack_from(f"{order}H", exif, at)
        for entry in range(at + 2, at + 2 + 12 * count, 12):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", exif, entry)
            if (tag, kind) == (_ORIENTATION, _SHORT):
                return (height, width) if value in _ON_ITS_SIDE else (width, height)
    except struct.error:
        pass
    return width, height


def _chunk(data: bytes, at: int, order: str, name: bytes) -> bytes:
    """Return the chunk of this name in a PNG (before its pixels) or a WebP, b"" without one."""
    while at + 8 <= len(data):
        if order == ">":
            size, kind = struct.unpack_from(">I4s", data, at)
        else:
            kind, size = struct.unpack_from("<4sI", data, at)
        if kind == name:
            return data[at + 8 : at + 8 + size]
        if kind == b"IDAT":
            break
        # A checksum follows in a PNG, and a byte after an odd size in a WebP.
        at += 8 + size + (4 if order == ">" else size % 2)
    return b""


def _jpeg(data: bytes) -> tuple[int, int, bytes]:
    at, exif = 2, b""
    while True:
        if data[at] != 0xFF:
            raise ValueError("a JPEG with a broken header")
        while data[at] == 0xFF:  # any number of fill bytes may stand before a marker
            at += 1
        marker = data[at]
        at += 1
        if marker in _LONE_MARKERS:
            continue
        if marker in (0xD9, 0xDA):  # end of image, start of scan
            raise ValueError("a JPEG without a frame header")
        (length,) = struct.unpack_from(">H", data, at)
        if marker in _FRAME_MARKERS:
            height, width = struct.unpack_from(">HH", data, at + 3)
            return width, height, exif
        if marker == _APP1 and not exif and data[at + 2 : at + 8] == b"Exif\0\0":
            exif = data[at + 2 : at + length]
        at += length


def _webp(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        return (
            1 + int.from_bytes(_part(data, 24, 27), "little"),
            1 + int.from_bytes(_part(data, 27, 30), "little"),
        )
    if kind == b"VP8L":
        bits = int.from_bytes(_part(data, 21, 25), "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF  # the two upper bits are a scaling hint
    raise ValueError("a WebP without a picture")


def _part(data: bytes, start: int, end: int) -> bytes:
    if len(data) < end:
        raise IndexError
    return data[start:end]


def _error(name: str, reason: str) -> PictureError:
    return PictureError(f"{name}: screenshot: {reason}" if name else f"screenshot: {reason}")


AS_STORED = "as-stored"
"""Recipe of a picture that a data set stores ready to send."""
BUILT_IN = "preflight"
"""Recipe of the built-in picture."""
SIDE = 64
"""Width and height of the built-in picture, in pixels."""


def stored_picture(data: bytes) -> Picture:
    """Return a reference to a stored picture. Raises `PictureError` if it is not a picture."""
    header = read_size(data)
    return Picture(header.digest, AS_STORED, header.width, header.height)


@cache
def built_in_picture() -> Picture:
    """Return the grey square sent with a preflight call; every `PictureStore` contains it."""
    return Picture(hashlib.sha256(grey(SIDE, SIDE)).hexdigest(), BUILT_IN, SIDE, SIDE)


@cache
def grey(width: int, height: int) -> bytes:
    """Return a grey picture of this size as PNG."""
    row = b"\x00" + b"\x80" * width
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(row * height)),
        (b"IEND", b""),
    )
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, data in chunks:
        checksum = zlib.crc32(kind + data)
        parts.append(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum))
    return b"".join(parts)


def decode(data: bytes) -> PixelPicture:
    """Decode a picture to RGB, with transparency on white. Blocking; raises `PictureError`."""
    from harness.pictures import imaging

    try:
        image = imaging.decoded(data)
    except ValueError as error:
        raise PictureError(str(error)) from error
    return PixelPicture(image.tobytes(), *image.size)


def check_picture(data: bytes) -> None:
    """Decode a picture as cheaply as its format allows. Blocking.

    Raises:
        PictureError: it does not decode; its header alone may still be sound.
    """
    from harness.pictures import imaging

    try:
        imaging.check(data)
    except ValueError as error:
        raise PictureError(f"screenshot: {error}") from error
