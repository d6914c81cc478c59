"""The recipe of a picture: a line of text with everything that determines its bytes.

Together with the digest of the screenshot it identifies a prepared picture: same digest and recipe,
same bytes. It is part of the key of the response cache: another budget, quality or version of the
image library is another question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, cast, get_args

Filter = Literal["none", "lanczos"]
Encoder = Literal["jpeg", "png"]
Draft = Literal[1, 2, 4, 8]
Form = Literal["encoded", "pixels"]
"""A prepared picture is either encoded or the RGB values before encoding."""
Crop = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of the screenshot; right and bottom are exclusive."""

CELLS, TAG_HEIGHT, TAG_PADDING = (18, 14), 20, 2
"""A mark's tag in pixels of the picture: width of a letter's cell (for one and for more letters),
height, and space at either side. Letters are 12 pixels tall; the widest, W, is 18 wide. `imaging`
has the same numbers."""


class Mark(NamedTuple):
    """A letter drawn on a picture for an element."""

    letter: str
    box: Crop
    """The element's box in page pixels."""
    tag: tuple[int, int]
    """Top left corner of the letter's tag in pixels of the picture."""


_MARK = r"(?:[A-Z]{1,2}|[A-Za-z]{0,20}[0-9]{1,20}):\d+,\d+,\d+,\d+:\d+,\d+"
_PATTERN = re.compile(
    r"v1;policy=(?P<policy>[a-z][a-z-]*)"
    r";box=(?P<box>\d+,\d+,\d+,\d+)"
    r";size=(?P<size>\d+x\d+)"
    r";filter=(?P<filter>[a-z]+)"
    r";draft=(?P<draft>\d)"
    r";encoder=(?P<encoder>[a-z]+)"
    r";quality=(?P<quality>\d+)"
    r";max_bytes=(?P<max_bytes>\d+)"
    r";pillow=(?P<pillow>[0-9A-Za-z.+-]+)"
    r";libjpeg=(?P<libjpeg>[0-9A-Za-z.+-]+)"
    rf"(?:;marks=(?P<marks>{_MARK}(?:/{_MARK})*))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The steps from a screenshot to a picture.

    In this order: decode, put transparent parts on white, crop, resize, draw marks, encode. `v1` in
    the text means the fixed part: JPEG has halved colour resolution (4:2:0), and a mark is a
    box two pixels wide around the element with its letter in white on black.
    """

    policy: str
    """Name of the picture policy."""
    box: Crop
    """The shown part of the screenshot."""
    size: tuple[int, int]
    """Width and height of the picture."""
    filter: Filter
    """Filter of the resize."""
    draft: Draft
    """A JPEG is decoded at 1/draft of its size, without detail that the resize would discard."""
    encoder: Encoder
    quality: int
    """Quality of JPEG; 0 for PNG."""
    max_bytes: int
    """The quality is lowered by tens until the picture fits; 0: no limit."""
    pillow: str
    """Version of Pillow."""
    libjpeg: str
    """Name and version of the JPEG library."""
    marks: tuple[Mark, ...] = ()

    def __post_init__(self) -> None:
        left, top, right, bottom = self.box
        if not (0 <= left < right and 0 <= top < bottom):
            raise ValueError(f"an empty crop: {self.box}")
        if min(self.size) < 1:
            raise ValueError(f"an empty picture: {self.size}")
        if self.filter not in get_args(Filter) or self.encoder not in get_args(Encoder):
            raise ValueError(f"unknown filter or encoder: {self.filter}, {self.encoder}")
        if self.draft not in get_args(Draft):
            raise ValueError(f"a draft scale is 1, 2, 4 or 8, not {self.draft}")
        if not (self.quality == 0 if self.encoder == "png" else 1 <= self.quality <= 95):
            raise ValueError(f"no quality for {self.encoder}: {self.quality}")
        for mark in self.marks:
            if not (mark.box[0] < mark.box[2] and mark.box[1] < mark.box[3]):
                raise ValueError(f"mark {mark.letter} has an empty box: {mark.box}")

    @property
    def text(self) -> str:
        """The text of the recipe, in its only spelling; `Recipe.parse` reads it."""
        marks = "/".join(
            f"{m.letter}:{','.join(map(str, m.box))}:{','.join(map(str, m.tag))}"
            for m in self.marks
        )
        return (
            f"v1;policy={self.policy};box={','.join(map(str, self.box))}"
            f";size={self.size[0]}x{self.size[1]};filter={self.filter};draft={self.draft}"
            f";encoder={self.encoder};quality={self.quality};max_bytes={self.max_bytes}"
            f";pillow={self.pillow};libjpeg={self.libjpeg}" + (f";marks={marks}" if marks else "")
        )

    @classmethod
    def parse(cls, text: str) -> Recipe:
        """Read the text of a recipe. Raises ValueError for anything but its exact spelling."""
        match = _PATTERN.fullmatch(text)
        if match is None:
            raise ValueError(f"not the recipe of a picture: {text!r}")
        left, top, right, bottom = map(int, match["box"].split(","))
        width, height = map(int, match["size"].split("x"))
        recipe = cls(
            policy=match["policy"],
            box=(left, top, right, bottom),
            size=(width, height),
            filter=cast(Filter, match["filter"]),
            draft=cast(Draft, int(match["draft"])),
            encoder=cast(Encoder, match["encoder"]),
            quality=int(match["quality"]),
            max_bytes=int(match["max_bytes"]),
            pillow=match["pillow"],
            libjpeg=match["libjpeg"],
            marks=tuple(_mark(text) for text in (match["marks"] or "").split("/") if text),
        )
        if recipe.text != text:  # leading zeros, for example
            raise ValueError(f"not the canonical recipe of a picture: {text!r}")
        return recipe

    def to_page(self, x: float, y: float) -> tuple[float, float]:
        """Convert a point of the picture to page pixels, which are pixels of the screenshot."""
        left, top, right, bottom = self.box
        return (
            left + x * (right - left) / self.size[0],
            top + y * (bottom - top) / self.size[1],
        )

    def to_picture(self, x: float, y: float) -> tuple[float, float]:
        """Convert a point of the page to pixels of the picture, outside of it if cropped away."""
        left, top, right, bottom = self.box
        return (
            (x - left) * self.size[0] / (right - left),
            (y - top) * self.size[1] / (bottom - top),
        )


def _mark(text: str) -> Mark:
    letter, box, tag = text.split(":")
    left, top, right, bottom = map(int, box.split(","))
    x, y = map(int, tag.split(","))
    return Mark(letter, (left, top, right, bottom), (x, y))


@lru_cache(maxsize=1)
def libraries() -> tuple[str, str]:
    """Return the versions of Pillow and its JPEG library, such as `13.0.0` and `turbo-3.2.0`."""
    import PIL
    from PIL import features

    turbo = features.version_feature("libjpeg_turbo")
    return PIL.__version__, f"turbo-{turbo}" if turbo else str(features.version_codec("jpg"))
