"""The recipe of a picture: a line of text that names everything its bytes depend on.

Together with the digest of the source it identifies a prepared picture: same digest and same
recipe, same bytes. It is part of what the response cache is keyed by, so that another budget,
quality or version of the image library is another question.
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
"""What a prepared picture is: bytes of its encoder, or the RGB values before it."""
Crop = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of the source; right and bottom are outside."""

CELLS, TAG_HEIGHT, TAG_PADDING = (18, 14), 20, 2
"""A mark's tag in pixels of the picture: the width of a letter's cell (alone, and one of two), its
height, and the space at either side. Letters are 12 pixels tall; the widest, W, is 18 wide. The
drawing (`imaging`) goes by the same numbers."""


class Mark(NamedTuple):
    """A letter drawn on a picture: its element's box in page pixels, and the top left corner of its
    tag in pixels of the picture."""

    letter: str
    box: Crop
    tag: tuple[int, int]


_MARK = r"[A-Z]{1,2}:\d+,\d+,\d+,\d+:\d+,\d+"
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
    """How a picture is made from a screenshot.

    The source is decoded at 1/`draft` of its size (JPEG only; the decoder then skips the detail
    that the resize would throw away), laid on white where transparent, cropped to `box`, resized to
    `size` (width, height) with `filter`, and encoded. JPEG is written at `quality` with halved
    colour resolution (4:2:0); when it exceeds `max_bytes` (0: no limit) the quality goes down by
    tens until it fits. PNG has a quality of 0. `marks` are drawn last, at the final size: a box of
    two pixels around the element and its letter, white on black. `v1` in the text stands for these
    fixed parts.
    """

    policy: str
    box: Crop
    size: tuple[int, int]
    filter: Filter
    draft: Draft
    encoder: Encoder
    quality: int
    max_bytes: int
    pillow: str
    libjpeg: str
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
        """The canonical spelling; `Recipe.parse` reads it back."""
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
        """Read a canonical text. Raises ValueError for anything else, however close."""
        found = _PATTERN.fullmatch(text)
        if found is None:
            raise ValueError(f"not the recipe of a picture: {text!r}")
        left, top, right, bottom = map(int, found["box"].split(","))
        width, height = map(int, found["size"].split("x"))
        recipe = cls(
            policy=found["policy"],
            box=(left, top, right, bottom),
            size=(width, height),
            filter=cast(Filter, found["filter"]),
            draft=cast(Draft, int(found["draft"])),
            encoder=cast(Encoder, found["encoder"]),
            quality=int(found["quality"]),
            max_bytes=int(found["max_bytes"]),
            pillow=found["pillow"],
            libjpeg=found["libjpeg"],
            marks=tuple(_mark(text) for text in (found["marks"] or "").split("/") if text),
        )
        if recipe.text != text:  # leading zeros, say: one recipe has one spelling
            raise ValueError(f"not the canonical recipe of a picture: {text!r}")
        return recipe

    def to_page(self, x: float, y: float) -> tuple[float, float]:
        """A point of the picture in page pixels (screenshots show one page pixel per pixel)."""
        left, top, right, bottom = self.box
        return (
            left + x * (right - left) / self.size[0],
            top + y * (bottom - top) / self.size[1],
        )

    def to_picture(self, x: float, y: float) -> tuple[float, float]:
        """A point of the page in pixels of the picture; outside of it where it was cropped away."""
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
    """Versions of Pillow and of the JPEG library it uses (`13.0.0`, `turbo-3.2.0`)."""
    import PIL
    from PIL import features

    turbo = features.version_feature("libjpeg_turbo")
    return PIL.__version__, f"turbo-{turbo}" if turbo else str(features.version_codec("jpg"))
