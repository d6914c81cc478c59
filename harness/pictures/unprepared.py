"""Pictures that are sent unchanged: those stored in a data set, and the built-in test picture."""

from __future__ import annotations

import hashlib
import struct
import zlib
from functools import cache

from adapters.contract import EncodedPicture, PixelPicture
from adapters.conversation import Picture
from harness.pictures.header import PictureError, read_size

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
    return Picture(hashlib.sha256(built_in_bytes()).hexdigest(), BUILT_IN, SIDE, SIDE)


def built_in_bytes() -> bytes:
    """Return the built-in picture as PNG."""
    return grey(SIDE, SIDE)


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


def encoded(picture: Picture, data: bytes) -> EncodedPicture:
    """Return an unprepared picture in the form that adapters expect. Raises `PictureError`."""
    return EncodedPicture(data, read_size(data).media_type, picture.width, picture.height)


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
