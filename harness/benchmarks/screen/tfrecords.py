"""Read TFRecord files of `tf.Example` messages without TensorFlow.

A record is its length (8 bytes), the check sum of that, its bytes, and the check sum of those; sums
are masked CRC32C (tensorflow/core/lib/io/record_writer.h). Of the messages only the parts that
AndroidControl has are read: lists of bytes and of whole numbers.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from adapters.input_files import open_file
from harness.errors import DataError

LARGEST = 1 << 30
"""Most bytes of a record that is read."""
_POLYNOMIAL = 0x82F63B78
_HEAD = struct.Struct("<QI")

Features = Mapping[str, list[bytes] | list[int]]


def _table() -> list[int]:
    found = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (_POLYNOMIAL if number & 1 else 0)
        found.append(number)
    return found


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of some bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def masked(value: int) -> int:
    """Stored form of check sums."""
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _quick_sum() -> Callable[[bytes], int] | None:
    """The check sum of large data; None without `google-crc32c`, whose absence costs the check."""
    try:
        import google_crc32c
    except ImportError:
        return None
    value: Callable[[bytes], int] = google_crc32c.value
    return value


def records(path: Path) -> Iterator[bytes]:
    """Yield the records of a file, which may be compressed with gzip.

    Raises `DataError` for a damaged or truncated file. Lengths are checked, data only where
    `google-crc32c` is installed.
    """
    quick = _quick_sum()
    try:
        with open_file(path) as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            file = gzip.GzipFile(fileobj=raw) if packed else raw
            number = 0
            while head := file.read(12):
                number += 1
                if len(head) < 12:
                    raise EOFError
                length, check = _HEAD.unpack(head)
                if masked(crc32c(head[:8])) != check or length > LARGEST:
                    raise DataError(f"{path}, record {number}: damaged, or not a TFRecord file")
                data, end = file.read(length), file.read(4)
                if len(data) < length or len(end) < 4:
                    raise EOFError
                if quick is not None and masked(quick(data)) != struct.unpack("<I", end)[0]:
                    raise DataError(f"{path}, record {number}: its check sum differs")
                yield data
    except EOFError:
        raise DataError(f"{path} ends within record {number}: download it again") from None
    except (OSError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def example(data: bytes) -> Features:
    """Return the features of a `tf.Example`. Raises ValueError for bytes that are none."""
    found: dict[str, list[bytes] | list[int]] = {}
    for features in chunks(data, 1):
        for entry in chunks(features, 1):
            name = next(chunks(entry, 1), b"").decode("utf-8")
            for feature in chunks(entry, 2):
                texts = [text for listed in chunks(feature, 1) for text in chunks(listed, 1)]
                numbers = [n for listed in chunks(feature, 3) for n in numbers_of(listed, 1)]
                found[name] = texts or numbers
    return found


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a protocol-buffer message: numbers, and bytes of whatever has a length.

    Raises ValueError for bytes that are not a message.
    """
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        if kind == 0:
            value, position = _varint(data, position)
            yield key >> 3, value
            continue
        if kind == 2:
            length, position = _varint(data, position)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"unknown wire type {kind}")
        end = position + length
        if end > len(data):
            raise ValueError("a field is longer than its message")
        yield key >> 3, data[position:end]
        position = end


def chunks(data: bytes, number: int) -> Iterator[bytes]:
    """Yield the fields of a number that have a length."""
    for found, value in fields(data):
        if found == number and isinstance(value, bytes):
            yield value


def numbers_of(data: bytes, number: int) -> Iterator[int]:
    """Yield the whole numbers of a repeated field, packed or not; they are signed."""
    for found, value in fields(data):
        if found != number:
            continue
        if isinstance(value, int):
            yield signed(value)
            continue
        position = 0
        while position < len(value):
            one, position = _varint(value, position)
            yield signed(one)


def signed(value: int) -> int:
    """Return a number as it was before it was stored without a sign."""
    return value - (1 << 64) if value >> 63 else value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        if position >= len(data):
            raise ValueError("a number ends too soon")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & (1 << 64) - 1, position
    raise ValueError("a number is too long")
