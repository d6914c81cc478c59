"""Pictures of pages: the picture policy that a user chooses, and the recipe of each picture.

A policy names the part of the page that a model sees, and its size:

| name            | what is sent                                                             |
|-----------------|--------------------------------------------------------------------------|
| `full`          | the whole page, scaled down to a budget of pixels                        |
| `viewport`      | the window at the top of the page, without scrolling                     |
| `tiles`         | the page cut from top to bottom into overlapping windows                 |
| `candidates`    | SeeAct: full width, from above the highest candidate to below the lowest |
| `none`          | nothing                                                                  |
| `oracle-target` | a window around the right answer, for upper bounds only                  |

A recipe is a line of text with everything that determines the bytes of a picture. Together with the
digest of the screenshot it identifies a prepared picture: same digest and recipe, same bytes. It is
part of the key of the response cache: another budget, quality or version of the image library is
another question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal, NamedTuple, cast, get_args

from harness.errors import UserError

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


PolicyName = Literal["full", "viewport", "tiles", "candidates", "none", "oracle-target"]
NAMES: tuple[PolicyName, ...] = get_args(PolicyName)


@dataclass(frozen=True, slots=True)
class PicturePolicy:
    """One way to show a page. All lengths are in pixels of the screenshot."""

    name: PolicyName = "full"
    pixels: int = 1280 * 2560
    """Budget of `full`. With the default, a page of 1280 x 2560 is sent unscaled and one of 7,400
    rows at 0.59 of its size (16-pixel text is then 9 pixels tall); a picture costs under 4,000
    tokens for models that count 32-pixel patches, like OpenAI's of 2026."""
    viewport_width: int = 1280
    """Width of the window of `viewport`."""
    viewport_height: int = 720
    """Height of the window of `viewport` and `oracle-target`."""
    tile_height: int = 1280
    """Height of a tile."""
    tile_overlap: int = 128
    """Rows that a tile shares with the next one."""
    max_tiles: int = 100
    """If a page would need more tiles, they get taller; providers accept about 100 pictures."""
    margin: int = 1024
    """Margin that SeeAct adds above and below the candidates."""
    max_side: int = 8000
    """Longest side of any picture. Some providers reject longer ones; it applies to every model,
    because tables compare models under one policy."""
    encoder: Encoder = "jpeg"
    quality: int = 90
    """Quality of JPEG, 1 to 95."""

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise UserError(f"unknown picture policy '{self.name}' (one of: {', '.join(NAMES)})")
        if self.encoder not in get_args(Encoder):
            raise UserError(f"unknown picture encoder '{self.encoder}' (jpeg or png)")
        for setting, least in _LEAST.items():
            if getattr(self, setting) < least:
                raise UserError(f"picture policy: {setting} must be at least {least}")
        if self.tile_overlap >= self.tile_height:
            raise UserError("picture policy: tile_overlap must be smaller than tile_height")
        if self.quality > 95:
            raise UserError("picture policy: quality is 1 to 95")

    @property
    def oracle(self) -> bool:
        """True if the pictures depend on the right answer; results must say so."""
        return show_answers(self.name)

    @classmethod
    def parse(cls, text: str) -> PicturePolicy:
        """Read `NAME` or `NAME:setting=value,...` (`tiles:tile_height=1000,tile_overlap=200`).

        Raises `UserError` for an unknown name, an unknown setting or a bad value.
        """
        name, _, rest = text.partition(":")
        settings: dict[str, int | str] = {}
        for pair in filter(None, rest.split(",")):
            key, _, value = (part.strip() for part in pair.partition("="))
            if key not in _SETTINGS:
                raise UserError(
                    f"picture policy: no setting '{key}' (one of: {', '.join(_SETTINGS)})"
                )
            if key == "encoder":
                settings[key] = value
            elif value.isascii() and value.isdigit():
                settings[key] = int(value)
            else:
                raise UserError(f"picture policy: {key} must be a whole number, not '{value}'")
        return cls(cast(PolicyName, name.strip()), **settings)  # type: ignore[arg-type]

    def plain(self) -> dict[str, int | str]:
        """Return the name and all settings, for the manifest of a run."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def text(self) -> str:
        """The name and the settings that differ from their defaults; `parse` reads it back."""
        changed = [f"{f}={v}" for f in _SETTINGS if (v := getattr(self, f)) != _DEFAULTS[f]]
        return f"{self.name}:{','.join(changed)}" if changed else self.name


def show_answers(text: str) -> bool:
    """Return True if the policy written as `text` shows pictures that depend on the right answer.

    >>> show_answers("oracle-target:margin=200"), show_answers("full")
    (True, False)
    """
    return text.startswith("oracle-")


_DEFAULTS = {f.name: f.default for f in fields(PicturePolicy)}
_SETTINGS = tuple(name for name in _DEFAULTS if name != "name")
_LEAST = {
    "pixels": 1,
    "viewport_width": 1,
    "viewport_height": 1,
    "tile_height": 1,
    "tile_overlap": 0,
    "max_tiles": 1,
    "margin": 0,
    "max_side": 1,
    "quality": 1,
}


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
    r";size=(?P<size>[1-9]\d*x[1-9]\d*)"
    r";filter=(?P<filter>none|lanczos)"
    r";draft=(?P<draft>[1248])"
    r";encoder=(?P<encoder>jpeg|png)"
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
        if recipe.text != text or left >= right or top >= bottom:  # or leading zeros, for example
            raise ValueError(f"not the canonical recipe of a picture: {text!r}")
        return recipe

    def to_page(self, x: float, y: float) -> tuple[float, float]:
        """Convert a point of the picture to page pixels, which are pixels of the screenshot."""
        left, top, right, bottom = self.box
        return (left + x * (right - left) / self.size[0], top + y * (bottom - top) / self.size[1])

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
