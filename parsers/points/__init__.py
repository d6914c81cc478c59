"""Answers by coordinates: read, written, and converted to pixels.

Models that were trained to point have their own answer formats (`FORMS`, one table in `reading`).
Coordinates are converted to pixels by the convention that the model's adapter or the user declares,
never guessed from their size.
"""

from __future__ import annotations

from parsers.points.reading import (
    FIRST,
    FORMS,
    POINT_FORMS,
    USUAL,
    Form,
    PointAnswer,
    PointForm,
    read_point,
    write_place,
    write_point,
)
from parsers.points.spelling import (
    CONVENTIONS,
    DECLINES,
    Convention,
    Decline,
    from_pixels,
    to_pixels,
)

__all__ = [
    "CONVENTIONS",
    "DECLINES",
    "FIRST",
    "FORMS",
    "POINT_FORMS",
    "USUAL",
    "Convention",
    "Decline",
    "Form",
    "PointAnswer",
    "PointForm",
    "from_pixels",
    "read_point",
    "to_pixels",
    "write_place",
    "write_point",
]
