"""Decode, crop, resize, mark and encode pictures.

The processes of `PictureStore` load this file by its path, and it imports nothing but Pillow: a
process then starts in a tenth of a second without the libraries of the main process.
"""

from __future__ import annotations

import io
import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from PIL import Image, ImageDraw, ImageFont

if TYPE_CHECKING:
    from adapters.processes.child import Receive, Send
    from harness.pictures.recipe import Crop, Recipe

_LOWEST_QUALITY = 30
# The same numbers as in `recipe.py`, which such a process does not import.
_CELLS, _TAG_HEIGHT, _PADDING = (18, 14), 20, 2
_FONT_SIZE = 18  # capitals of the bundled font are then 12 pixels tall, W is 18 wide
_LINE = (220, 20, 60)
_PAGES = ("JPEG", "PNG", "WEBP")
_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_ON_ITS_SIDE = (_TURNS[5], _TURNS[6], _TURNS[7], _TURNS[8])


def pixels(source: bytes, recipe: Recipe) -> Image.Image:
    """Make the picture of a recipe as RGB pixels.

    Raises ValueError if the screenshot does not decode or is not the planned one.
    """
    scale = recipe.draft
    try:
        image = _opened(source)
        turn = _turn(image)
        width, height = image.size
        if scale > 1:
            image.draft(None, (max(1, width // scale), max(1, height // scale)))
        image.load()
        if turn is not None:
            image = image.transpose(turn)
            width, height = (height, width) if turn in _ON_ITS_SIDE else (width, height)
        drafted = image.size
    except Exception as error:  # decoders raise errors of any kind on broken data
        raise _undecodable(error) from error
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


def _draw(picture: Image.Image, recipe: Recipe) -> None:
    """Draw all boxes and then all tags: no line crosses a letter.

    A box is a red line two pixels wide with a white line around it for dark pages. All white lines
    are drawn before the red ones and cannot cut them.
    """
    pen = ImageDraw.Draw(picture)
    boxes = [_in_picture(box, recipe) for _, box, _ in recipe.marks]
    for away, colour in ((3, "white"), (2, _LINE), (1, _LINE)):
        for box in boxes:
            _draw_box(pen, box, away, colour, picture.size)
    font = ImageFont.load_default(_FONT_SIZE)
    for letters, _, (x, y) in recipe.marks:
        cell = _CELLS[min(len(letters), len(_CELLS)) - 1]
        right = x + cell * len(letters) + 2 * _PADDING
        # White around black is visible on dark and light pages.
        pen.rectangle((x, y, right - 1, y + _TAG_HEIGHT - 1), fill="black", outline="white")
        for number, letter in enumerate(letters):
            # Letter by letter on a fixed grid, independent of text layout libraries.
            middle = x + _PADDING + cell * number + cell / 2
            pen.text((middle, y + _TAG_HEIGHT - 4), letter, "white", font, anchor="ms")


def _in_picture(box: Crop, recipe: Recipe) -> Crop:
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
    """Draw a line one pixel wide, `away` pixels outside the box, but inside the picture."""
    edge = 3 - away
    left, top = max(edge, box[0] - away), max(edge, box[1] - away)
    right = min(size[0] - 1 - edge, box[2] - 1 + away)
    bottom = min(size[1] - 1 - edge, box[3] - 1 + away)
    if left <= right and top <= bottom:
        pen.rectangle((left, top, right, bottom), outline=colour)


def prepare(source: bytes, recipe: Recipe) -> tuple[bytes, str]:
    """Make the encoded picture of a recipe and its media type. Raises ValueError, see `pixels`."""
    picture = pixels(source, recipe)
    if recipe.encoder == "png":
        data = _encoded(picture, format="PNG", compress_level=6)
    else:
        data = _jpeg(picture, recipe.quality, recipe.max_bytes)
    if recipe.max_bytes and len(data) > recipe.max_bytes:
        raise ValueError(f"the picture takes {len(data)} bytes, more than {recipe.max_bytes}")
    return data, f"image/{recipe.encoder}"


def check(source: bytes) -> None:
    """Decode a picture, a JPEG at an eighth of its size. Raises ValueError if it fails."""
    try:
        image = _opened(source)
        image.draft(None, (max(1, image.width // 8), max(1, image.height // 8)))
        image.load()
    except Exception as error:  # as in `pixels`
        raise _undecodable(error) from error


def decoded(source: bytes) -> Image.Image:
    """Decode a picture to RGB pixels. Raises ValueError if it does not decode."""
    try:
        image = _opened(source, (*_PAGES, "GIF"))
        turn = _turn(image)
        image.load()
        return _on_white(image if turn is None else image.transpose(turn))
    except Exception as error:  # as in `pixels`
        raise _undecodable(error) from error


def _undecodable(error: Exception) -> ValueError:
    # Pillow names the object that it read from, by its address.
    reason = str(error).partition(" <_io.")[0] or type(error).__name__
    return ValueError(f"the picture does not decode: {reason}")


def _opened(source: bytes, formats: tuple[str, ...] = _PAGES) -> Image.Image:
    with warnings.catch_warnings():
        # Sizes were checked against our own limit when the header was read.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        return Image.open(io.BytesIO(source), formats=formats)


def _turn(image: Image.Image) -> Image.Transpose | None:
    """Return how a picture is turned before it is shown, as its Exif data say."""
    data = image.info.get("exif")
    if not isinstance(data, bytes):
        return None
    exif = Image.Exif()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Data that are cut off turn nothing.
        exif.load(data)
        return _TURNS.get(exif.get(_ORIENTATION, 1))


def _on_white(image: Image.Image) -> Image.Image:
    """Convert an image to RGB, with transparent parts on white as in a browser."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode.startswith(
        "I"
    ):  # 16-bit grey, which convert() alone would clip instead of scaling
        image = image.convert("I").point(lambda value: value / 257).convert("L")
    if image.has_transparency_data:
        layer = image if image.mode == "RGBA" else image.convert("RGBA")
        if layer.getchannel("A").getextrema() == (255, 255):
            # The same pixels in a quarter of the time and a third of the memory.
            return layer.convert("RGB")
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
    picture.info.clear()  # profile, comments and dates of the screenshot are not sent
    out = io.BytesIO()
    picture.save(out, **options)
    return out.getvalue()


def serve(receive: Receive, send: Send) -> None:
    """Make pictures in a process of `PictureStore`, one after the other.

    A message is an encoded source, the fields of a `Recipe`, and a form. The answer is the picture,
    its media type and ""; or b"", "" and the reason why it cannot be made.
    """
    while True:
        message = receive()
        answer: tuple[object, str, str]
        try:
            answer = (*_made(*message), "")
        except Exception as error:  # whatever it is, it must not end the process
            answer = b"", "", str(error) or type(error).__name__
        send(answer)
        # Free the picture before waiting for the next message.
        del message, answer


def _made(source: bytes, fields: dict[str, Any], form: str) -> tuple[bytes, str]:
    """Return a picture and its media type; RGB values row by row and "" for the form `pixels`."""
    # Built-in types only: the process need not import this package.
    recipe = cast("Recipe", SimpleNamespace(**fields))
    if form == "pixels":
        return pixels(source, recipe).tobytes(), ""
    data, media_type = prepare(source, recipe)
    return data, media_type
