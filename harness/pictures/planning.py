"""From a policy and a page's size to the pictures of a step, decided before anything is decoded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters.contract import ImageRule
from adapters.conversation import Picture
from harness.pictures import marks
from harness.pictures.header import PictureError, Screenshot
from harness.pictures.policy import PicturePolicy
from harness.pictures.recipe import Crop, Draft, Recipe, libraries

if TYPE_CHECKING:
    from harness.page import Box


# What the resize must still shrink after a draft decode. From 1.4 on, the difference to a full
# decode (44.7 dB and better on a real page) stays below what encoding at quality 90 loses anyway.
_DRAFT_RESERVE = 1.4


def plan(
    policy: PicturePolicy,
    screenshot: Screenshot,
    boxes: Sequence[Box | None] = (),
    rule: ImageRule | None = None,
    target: Box | None = None,
    letters: Sequence[tuple[str, Box]] = (),
) -> tuple[Picture, ...]:
    """The pictures that `policy` shows of a screenshot, top to bottom, sizes final.

    `boxes` are those of the candidates listed in this question, in page pixels; only `candidates`
    looks at them. `rule` is the model's: it is applied last, so that the model sees the picture
    that was sent, not one that the provider shrank further. `target` is looked at by oracle
    policies only. `letters` are drawn on the elements with these boxes, on every picture that shows
    them. Raises `PictureError` when the rule leaves nothing of a picture.
    """
    return tuple(
        _picture(policy, screenshot, crop, rule, letters)
        for crop in _crops(policy, screenshot.width, screenshot.height, boxes, target)
    )


def _crops(
    policy: PicturePolicy,
    width: int,
    height: int,
    boxes: Sequence[Box | None],
    target: Box | None,
) -> tuple[Crop, ...]:
    match policy.name:
        case "none":
            return ()
        case "full":
            return (whole(width, height),)
        case "viewport":
            return (viewport(policy, width, height),)
        case "tiles":
            return tiles(policy, width, height)
        case "candidates":
            return (around_candidates(policy, width, height, boxes),)
        case "oracle-target":
            return (around_target(policy, width, height, target),)


def _picture(
    policy: PicturePolicy,
    screenshot: Screenshot,
    crop: Crop,
    rule: ImageRule | None,
    letters: Sequence[tuple[str, Box]],
) -> Picture:
    left, top, right, bottom = crop
    natural = (right - left, bottom - top)
    size = _final_size(policy, natural, rule)
    if min(size) < 1:
        raise PictureError(
            f"screenshot {screenshot.digest[:12]}: {natural[0]}x{natural[1]} pixels are too narrow "
            "for the model's limits"
        )
    pillow, libjpeg = libraries()
    recipe = Recipe(
        policy=policy.name,
        box=crop,
        size=size,
        filter="none" if size == natural else "lanczos",
        draft=draft_scale(crop, size) if screenshot.format == "jpeg" else 1,
        encoder=policy.encoder,
        quality=policy.quality if policy.encoder == "jpeg" else 0,
        max_bytes=(rule.max_bytes or 0) if rule else 0,
        pillow=pillow,
        libjpeg=libjpeg,
        marks=marks.place(letters, crop, size) if letters else (),
    )
    return Picture(screenshot.digest, recipe.text, *size)


def _final_size(
    policy: PicturePolicy, size: tuple[int, int], rule: ImageRule | None
) -> tuple[int, int]:
    if policy.name == "full":
        size = within_pixels(*size, policy.pixels)
    size = within_side(*size, policy.max_side)
    if rule is None:
        return size
    if rule.max_side is not None:
        size = within_side(*size, rule.max_side)
    return rule.fit(*size)


def whole(width: int, height: int) -> Crop:
    """The page as it is."""
    return (0, 0, width, height)


def viewport(policy: PicturePolicy, width: int, height: int) -> Crop:
    """The window at the top left of the page; all of a page that is smaller."""
    return (0, 0, min(width, policy.viewport_width), min(height, policy.viewport_height))


def tiles(policy: PicturePolicy, width: int, height: int) -> tuple[Crop, ...]:
    """Windows of equal height from the top to the bottom that cover the page.

    Neighbours share `tile_overlap` rows; the last one ends at the bottom of the page, hence shares
    more, because a sliver at the end would break the aspect limits of some models.
    """
    overlap = policy.tile_overlap
    # Every tile after the first brings `tall - overlap` new rows.
    least = math.ceil((height + (policy.max_tiles - 1) * overlap) / policy.max_tiles)
    tall = max(policy.tile_height, least)
    if height <= tall:
        return (whole(width, height),)
    step = tall - overlap
    count = math.ceil((height - overlap) / step)
    tops = [*(i * step for i in range(count - 1)), height - tall]
    return tuple((0, top, width, top + tall) for top in tops)


def around_candidates(
    policy: PicturePolicy, width: int, height: int, boxes: Sequence[Box | None]
) -> Crop:
    """SeeAct's crop: full width, from the highest candidate to the lowest and a margin beyond both.

    Candidates without a visible box do not count: rows of the data set hold negative and empty
    ones. Where none is left, or all lie outside of the picture, the page is not cropped.
    """
    seen = [box for box in boxes if box is not None and _visible(box)]
    if not seen:
        return whole(width, height)
    # Rounded to the nearest row, ties to even: so do the crops that SeeAct published.
    top = max(0, round(min(box.y for box in seen) - policy.margin))
    bottom = min(height, round(max(box.y + box.height for box in seen) + policy.margin))
    return (0, top, width, bottom) if top < bottom else whole(width, height)


def around_target(policy: PicturePolicy, width: int, height: int, target: Box | None) -> Crop:
    """A window of the viewport's height with the target in its middle; the top without a target."""
    tall = min(height, policy.viewport_height)
    if target is None or not _visible(target):
        return (0, 0, width, tall)
    top = round(target.y + target.height / 2 - tall / 2)
    top = max(0, min(top, height - tall))
    return (0, top, width, top + tall)


def _visible(box: Box) -> bool:
    return box.is_visible and all(map(math.isfinite, (box.y, box.y + box.height)))


def within_pixels(width: int, height: int, pixels: int) -> tuple[int, int]:
    """The size shrunk, aspect kept, to at most `pixels`; unchanged when it fits.

    >>> within_pixels(1280, 7412, 1280 * 2560)
    (752, 4355)
    """
    if width * height <= pixels:
        return width, height
    scale = math.sqrt(pixels / (width * height))
    # Rounding down keeps the product within the budget; a line of one pixel is cut at its length.
    small, large = sorted((max(1, int(width * scale)), max(1, int(height * scale))))
    large = min(large, max(1, pixels // small))
    return (small, large) if width <= height else (large, small)


def within_side(width: int, height: int, side: int) -> tuple[int, int]:
    """The size shrunk, aspect kept, until no side is above `side`; unchanged when it fits.

    >>> within_side(1280, 20000, 8000)
    (512, 8000)
    """
    longest = max(width, height)
    if longest <= side:
        return width, height
    return max(1, round(width * side / longest)), max(1, round(height * side / longest))


def draft_scale(crop: Crop, size: tuple[int, int]) -> Draft:
    """At which fraction (1/n) a JPEG may be decoded without a visible loss in the picture.

    A JPEG decoder can leave out the finest detail of every 8 x 8 block and give the picture at a
    half, a quarter or an eighth, in less time and memory, and the resize has less to read. The
    scale is part of the recipe, because the pixels differ a little from those of a full decode.

    >>> draft_scale((0, 0, 1280, 7412), (354, 2048)), draft_scale((0, 0, 1280, 7412), (752, 4355))
    (2, 1)
    """
    left, top, right, bottom = crop
    ratio = min((right - left) / size[0], (bottom - top) / size[1])
    for scale in (8, 4, 2):
        if ratio >= scale * _DRAFT_RESERVE:
            return scale
    return 1
