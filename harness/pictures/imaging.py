"""What is done to the pixels of a picture, in a process of `Workers` or in this one.

Such a process loads this file by its path and imports nothing but Pillow, so that it is up in a
tenth of a second and takes no memory for libraries that only the main process needs.
"""

from __future__ import annotations

import io
import warnings
from pickle import PickleBuffer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, cast

from PIL import Image, ImageDraw, ImageFont

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.pictures.recipe import Crop

    Mark = tuple[str, Crop, tuple[int, int]]

_LOWEST_QUALITY = 30
# As in `recipe.py`, which this program cannot import.
_CELLS, _TAG_HEIGHT, _PADDING = (18, 14), 20, 2
_FONT_SIZE = 18  # capitals of the bundled font are then 12 pixels tall, W is 18 wide
_LINE = (220, 20, 60)
_PAGES = ("JPEG", "PNG", "WEBP")


class Instructions(Protocol):
    """The fields of a `Recipe` that the work looks at."""

    @property
    def box(self) -> Crop: ...
    @property
    def size(self) -> tuple[int, int]: ...
    @property
    def draft(self) -> int: ...
    @property
    def encoder(self) -> str: ...
    @property
    def quality(self) -> int: ...
    @property
    def max_bytes(self) -> int: ...
    @property
    def marks(self) -> Sequence[Mark]: ...


def pixels(source: bytes, recipe: Instructions) -> Image.Image:
    """The picture of a recipe as RGB pixels, before it is encoded.

    Raises ValueError when the source does not decode or is not what the recipe was made for.
    """
    scale = recipe.draft
    try:
        image = _opened(source)
        width, height = image.size
        if scale > 1:
            image.draft(None, (max(1, width // scale), max(1, height // scale)))
        drafted = image.size
        image.load()
    except Exception as error:  # decoders raise whatever the broken bytes lead them to
        reason = str(error) or type(error).__name__
        raise ValueError(f"the picture does not decode: {reason}") from error
    if recipe.box[2] > width or recipe.box[3] > height:
        raise ValueError(f"the recipe crops to {recipe.box}, but the page is {width}x{height}")
    if drafted != (-(-width // scale), -(-height // scale)):
        raise ValueError(f"the page cannot be decoded at 1/{scale} of its size")
    left, top, right, bottom = recipe.box
    if scale == 1 and (right - left, bottom - top) == recipe.size:
        picture = _on_white(image.crop(recipe.box))
    else:
        box = (left / scale, top / scale, right / scale, bottom / scale)
        picture = _on_white(image).resize(recipe.size, Image.Resampling.LANCZOS, box=box)
    if recipe.marks:
        _draw(picture, recipe)
    return picture


def _draw(picture: Image.Image, recipe: Instructions) -> None:
    """Boxes first, then the tags, so that no line crosses a letter.

    A box is a red line of two pixels with a white one around it for dark pages. All white lines
    come before the red ones, which they must not cut.
    """
    pen = ImageDraw.Draw(picture)
    boxes = [_in_picture(box, recipe) for _, box, _ in recipe.marks]
    for away, colour in ((3, "white"), (2, _LINE), (1, _LINE)):
        for box in boxes:
            _draw_box(pen, box, away, colour, picture.size)
    font = ImageFont.load_default(_FONT_SIZE)
    for letters, _, (x, y) in recipe.marks:
        cell = _CELLS[len(letters) - 1]
        right = x + cell * len(letters) + 2 * _PADDING
        # White around black: seen on dark pages as on light ones.
        pen.rectangle((x, y, right - 1, y + _TAG_HEIGHT - 1), fill="black", outline="white")
        for number, letter in enumerate(letters):
            # Letter by letter on a fixed grid: nothing depends on a text layout library.
            middle = x + _PADDING + cell * number + cell / 2
            pen.text((middle, y + _TAG_HEIGHT - 4), letter, "white", font, anchor="ms")


def _in_picture(box: Crop, recipe: Instructions) -> Crop:
    left, top, right, bottom = recipe.box
    across, down = recipe.size[0] / (right - left), recipe.size[1] / (bottom - top)
    return (
        round((box[0] - left) * across),
        round((box[1] - top) * down),
        round((box[2] - left) * across),
        round((box[3] - top) * down),
    )


def _draw_box(
    pen: ImageDraw.ImageDraw,
    box: Crop,
    away: int,
    colour: str | tuple[int, int, int],
    size: tuple[int, int],
) -> None:
    """A line of one pixel, `away` pixels outside of the box; at the picture's edge when beyond."""
    edge = 3 - away
    left, top = max(edge, box[0] - away), max(edge, box[1] - away)
    right = min(size[0] - 1 - edge, box[2] - 1 + away)
    bottom = min(size[1] - 1 - edge, box[3] - 1 + away)
    if left <= right and top <= bottom:
        pen.rectangle((left, top, right, bottom), outline=colour)


def prepare(source: bytes, recipe: Instructions) -> tuple[bytes, str]:
    """The encoded picture of a recipe and its media type. Raises ValueError as `pixels` does."""
    picture = pixels(source, recipe)
    if recipe.encoder == "png":
        data = _encoded(picture, format="PNG", compress_level=6)
    else:
        data = _jpeg(picture, recipe.quality, recipe.max_bytes)
    if recipe.max_bytes and len(data) > recipe.max_bytes:
        raise ValueError(f"the picture takes {len(data)} bytes, more than {recipe.max_bytes}")
    return data, f"image/{recipe.encoder}"


def decoded(source: bytes) -> Image.Image:
    """A picture as it is, as RGB pixels. Raises ValueError when it does not decode."""
    try:
        image = _opened(source, (*_PAGES, "GIF"))
        image.load()
        return _on_white(image)
    except Exception as error:  # as in `pixels`
        reason = str(error) or type(error).__name__
        raise ValueError(f"the picture does not decode: {reason}") from error


def _opened(source: bytes, formats: tuple[str, ...] = _PAGES) -> Image.Image:
    with warnings.catch_warnings():
        # Sizes were checked against our own limit when the header was read.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        return Image.open(io.BytesIO(source), formats=formats)


def _on_white(image: Image.Image) -> Image.Image:
    """The image as RGB, transparent parts on white as a browser shows them."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode.startswith("I"):  # 16 bits of grey; convert() alone would clip, not scale
        image = image.convert("I").point(lambda value: value / 257).convert("L")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        page = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(page, layer).convert("RGB")
    return image.convert("RGB")


def _jpeg(picture: Image.Image, quality: int, max_bytes: int) -> bytes:
    while True:
        data = _encoded(picture, format="JPEG", quality=quality, subsampling="4:2:0")
        if not max_bytes or len(data) <= max_bytes or quality - 10 < _LOWEST_QUALITY:
            return data
        quality -= 10


def _encoded(picture: Image.Image, **options: Any) -> bytes:
    picture.info.clear()  # no profile, comment or date of the source in what is sent
    out = io.BytesIO()
    picture.save(out, **options)
    return out.getvalue()


def serve(receive: Callable[[], Any], send: Callable[[object], None]) -> None:
    """Prepare what is received, in a process of `Workers`.

    A message is the source, the fields of a `Recipe` and the form wanted. The answer is the encoded
    picture and its media type, or RGB values row after row and "" where the form is `pixels`; or
    what is wrong, as a text.
    """
    while True:
        source, fields, form = receive()
        recipe = cast("Instructions", SimpleNamespace(**fields))
        answer: tuple[PickleBuffer, str] | str
        try:
            if form == "pixels":
                data, media_type = pixels(source, recipe).tobytes(), ""
            else:
                data, media_type = prepare(source, recipe)
            answer = PickleBuffer(data), media_type
        except Exception as error:  # one bad picture must not end the process
            answer = str(error) or type(error).__name__
        send(answer)
