"""The pictures that a model was sent: a run names them, and they are made again when asked for."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from adapters.conversation import Picture
from harness.errors import DataGone


class SentPicture(NamedTuple):
    """A recorded reference to a picture.

    name: a file name that no other picture has.
    part: left, top, right and bottom of the part of the screenshot that it shows, in pixels, right
        and bottom exclusive; None for one that the data set stores, whose part is unknown.
    plain: whether nothing is drawn on it.
    """

    name: str
    part: tuple[int, int, int, int] | None
    plain: bool


def sent_picture(picture: Picture) -> SentPicture | None:
    """Read a reference; None for one of a kind that is not known here."""
    from harness.pictures import Recipe
    from harness.pictures.source import AS_STORED

    key = f"{picture.digest} {picture.recipe}".encode()
    stem = hashlib.sha256(key).hexdigest()[:20]
    if picture.recipe == AS_STORED:
        return SentPicture(f"{stem}.jpg", None, plain=True)
    try:
        recipe = Recipe.parse(picture.recipe)
    except ValueError:
        return None
    suffix = "png" if recipe.encoder == "png" else "jpg"
    return SentPicture(f"{stem}.{suffix}", recipe.box, plain=not recipe.marks)


def made_again(picture: Picture, screenshot: bytes) -> bytes:
    """Make a picture from the screenshot that it was made from, which a data set may hold as sent.

    The bytes equal those that were sent if the image libraries are those that its recipe names.

    Raises:
        DataGone: it was made from another screenshot, or cannot be made.
    """
    from harness.pictures import Recipe, imaging
    from harness.pictures.source import AS_STORED

    if hashlib.sha256(screenshot).hexdigest() != picture.digest:
        raise DataGone("the picture was made from another screenshot")
    if picture.recipe == AS_STORED:
        return screenshot
    try:
        return imaging.prepare(screenshot, Recipe.parse(picture.recipe))[0]
    except ValueError as error:
        raise DataGone(f"the picture that was sent cannot be made again: {error}") from error
