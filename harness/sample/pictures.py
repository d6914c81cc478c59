"""Screenshots as JPEG files that lie small beside each other."""

from __future__ import annotations

from io import BytesIO

from PIL import Image

QUALITY = 62


def jpeg(png: bytes) -> bytes:
    """Encode a screenshot.

    A restart marker after each row of blocks, with fixed code tables, makes equal rows of two
    pictures equal bytes. Successive screenshots of a form differ in few rows, so the compression of
    the file that holds them stores the rest once.
    """
    out = BytesIO()
    with Image.open(BytesIO(png)) as image:
        image.convert("RGB").save(
            out, "JPEG", quality=QUALITY, subsampling="4:2:0", restart_marker_rows=1
        )
    return out.getvalue()
