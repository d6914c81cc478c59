"""Sizes from headers, compared with what the image library says."""

from __future__ import annotations

import contextlib
import hashlib
import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from harness.pictures import MAX_PIXELS, PictureError, read_size
from tests.harness.pictures.examples import real_page

WAYS = [
    ("JPEG", "RGB", {}),
    ("JPEG", "L", {"progressive": True}),
    ("JPEG", "CMYK", {"comment": b"a" * 300}),
    ("JPEG", "RGB", {"exif": b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00"}),
    ("PNG", "RGBA", {}),
    ("PNG", "P", {}),
    ("WEBP", "RGB", {}),
    ("WEBP", "RGBA", {}),
    ("WEBP", "RGB", {"lossless": True}),
]


@pytest.mark.parametrize(("kind", "mode", "options"), WAYS)
@given(width=st.integers(1, 300), height=st.integers(1, 300))
@settings(max_examples=10, deadline=None)
def test_the_size_is_the_one_that_the_library_sees(
    kind: str, mode: str, options: dict[str, object], width: int, height: int
) -> None:
    out = io.BytesIO()
    Image.new(mode, (width, height)).save(out, kind, **options)
    data = out.getvalue()
    seen = read_size(data)
    assert (seen.width, seen.height, seen.format) == (width, height, kind.lower())
    assert seen.digest == hashlib.sha256(data).hexdigest()


def test_the_real_page() -> None:
    seen = read_size(real_page())
    assert (seen.width, seen.height) == (1280, 7412)
    assert seen.digest.startswith("028b0ae2")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"<html>not found</html>", "not a JPEG, PNG or WebP"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"\xff\xd8\xff\xd9", "without a frame"),
        (b"\xff\xd8\xff", "ends within"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "ends within"),
        (b"\xff\xd8\xff\xe0\x00\x02hello", "broken header"),
        (b"\x89PNG\r\n\x1a\n", "without a header"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "ends within"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 0, 9), "0x9"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 10**5, 10**5), "too large"),
        (b"RIFF\0\0\0\0WEBPVP8X\0", "ends within"),
        (b"RIFF\0\0\0\0WEBPALPH", "without a picture"),
    ],
)
def test_what_is_no_picture_is_a_clear_error(data: bytes, reason: str) -> None:
    with pytest.raises(PictureError, match=reason) as caught:
        read_size(data, "step 7")
    assert str(caught.value).startswith("step 7: ") and "\n" not in str(caught.value)


def test_the_limit_itself_is_accepted() -> None:
    data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1000, MAX_PIXELS // 1000)
    assert read_size(data).height == 128_000


@given(st.binary(max_size=200), st.sampled_from([b"", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBP"]))
def test_no_bytes_whatsoever_raise_anything_else(tail: bytes, head: bytes) -> None:
    with contextlib.suppress(PictureError):
        read_size(head + tail)
